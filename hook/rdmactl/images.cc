// SPDX-License-Identifier: Apache-2.0
#include "hook/rdmactl/images.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/container/image_verbs.h"
#include "hook/container/inspect.h"
#include "hook/steps/executor.h"
#include "hook/steps/journal.h"
#include "runtime-config/oci/bundle.h"

namespace hook::ctl {

using base::Finding;
using base::Status;

namespace {
Result<oci::Spec> spec_of(const Container& container) {
    const auto bundle = TRY(oci::Bundle::open(container.bundle));
    return oci::Spec::parse(TRY(bundle.read(oci::kSpecFile, oci::kMaxSpecBytes)));
}

Finding judge(const ImageVerbs& image,
              std::string_view provider,
              const std::string& device,
              const std::string& abi) {
    if (image.library.empty())
        return {.status = Status::Skipped,
                .why =
                    "the image has no libibverbs in the usual folders: its programs bring what "
                    "opens " +
                    device + ", or cannot"};
    if (auto lack = image_lacks(image, provider, device)) {
        Finding finding{.status = Status::Warning, .fix = std::move(lack->fix)};
        lack->fix.clear();
        finding.why = lack->message();
        return finding;
    }
    return {.status = Status::Ok,
            .why = fmt::format("the image's {} has a provider for {}: {} with private ABI {}; the "
                               "kernel's driver has ABI {}",
                               base::printable(image.library),
                               device,
                               provider,
                               fmt::join(image.abis, ", "),
                               abi)};
}

// Returns nothing if the attachment has ended meanwhile.
Result<std::optional<Finding>> look_at_device(const Context& context,
                                              const Container& container,
                                              const std::string& akey) {
    const auto journal = TRY(load_journal_head(context.store, akey));
    if (!journal)
        return std::optional<Finding>{};
    Site site = TRY(open_site(context.host, context.store, *journal));
    const auto [device, ns] = TRY(find_device(site, journal->endpoint));
    netns::RdmaDevices& rdma = context.host.rdma;
    const std::string driver = TRY(rdma.driver(ns, device));
    const std::string_view provider = provider_of(driver);
    if (provider.empty())
        return std::optional{
            Finding{.status = Status::Skipped,
                    .why = fmt::format("{} has the driver '{}', whose provider is not known",
                                       device.name,
                                       base::printable(driver))}};
    const auto image = hook::look_at_image(TRY(spec_of(container)), container.bundle, provider);
    if (!image)
        return std::optional{Finding{
            .status = Status::Skipped,
            .why = "a mount hides what the image has to open " + device.name + ", or its root"}};
    const auto node = TRY(rdma.uverbs_node(ns, device.index));
    const std::string abi = TRY(rdma.provider_abi(node)).value_or("unknown");
    return std::optional{judge(*image, provider, device.name, base::printable(abi))};
}
}  // namespace

base::Findings look_at_image(const Context& context, const Container& container) {
    base::Findings found;
    for (const std::string& akey : container.attachments) {
        auto finding = look_at_device(context, container, akey);
        if (!finding)
            found.push_back({.status = Status::Skipped,
                             .why = "the image was not looked at: " + finding.error().message()});
        else if (*finding)
            found.push_back(**std::move(finding));
    }
    return found;
}

}  // namespace hook::ctl
