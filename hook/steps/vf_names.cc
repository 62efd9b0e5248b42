// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/vf_names.h"

#include <algorithm>

#include <fmt/format.h>

#include "hook/steps/deadlines.h"
#include "netns/base/log.h"
#include "netns/sriov.h"

namespace hook {

using base::Code;
using base::Deadline;
using netns::RdmaDevice;

namespace {
bool is_taken(const Result<>& done) {
    return !done && done.error().code == Code::Busy;
}

Result<> call_by_address(Site& site, const std::string& vf, const netns::Link& link) {
    netns::LinkChange change;
    change.name = interim_name(vf);
    if (link.up)
        change.up = false;
    return site.host.links.change(site.host_ns, link.index, change);
}
}  // namespace

std::string interim_name(const std::string& vf) {
    std::string address = netns::device_of(vf);
    std::erase_if(address, [](char c) { return c == ':' || c == '.'; });
    constexpr size_t kMost = 13;  // of an interface's 15
    return "vf" + address.substr(address.size() - std::min(address.size(), kMost));
}

Result<std::optional<RdmaDevice>> rdma_device_of(Site& site, const std::string& vf) {
    const auto names = [&]() -> Result<std::vector<std::string>> {
        const auto function = TRY(site.host.sriov.find(vf));
        return function ? function->rdma_names : std::vector<std::string>{};
    };
    constexpr int kLooks = 3;
    for (int look = 0; look < kLooks; ++look) {
        const auto before = TRY(names());
        if (before.empty())
            break;
        const auto device = TRY(site.host.rdma.find_by_name(site.host_ns, before.front()));
        // A name may have gone to another device between the two looks.
        if (device && TRY(names()) == before)
            return device;
    }
    return std::optional<RdmaDevice>{};
}

Result<> name_rdma_device(Site& site, const std::string& vf, const std::string& name) {
    netns::RdmaDevices& rdma = site.host.rdma;
    const auto device = TRY(rdma_device_of(site, vf));
    if (!device || device->name == name)
        return {};
    const auto rename = [&](const std::string& to) {
        return rdma.rename(site.host_ns, device->index, to)
            .context(fmt::format("rename RDMA device {} of VF {} to {}", device->name, vf, to));
    };
    auto done = rename(name);
    if (!is_taken(done))
        return done;
    const auto aside = rename(interim_name(vf));
    if (!aside && !is_taken(aside))
        return aside;
    if (TRY(rdma.wait_until_free(site.host_ns, name, Deadline::in(kNameTimeout))))
        done = rename(name);
    if (!is_taken(done))
        return done;
    base::log::warning(
        fmt::format("the RDMA device of VF {} is not called {}: another has that name", vf, name));
    return {};
}

Result<> free_netdev_name(Site& site,
                          const std::string& vf,
                          const netns::Link& link,
                          const std::string& name) {
    netns::Links& links = site.host.links;
    const auto rival = [&] { return links.find_by_name(site.host_ns, name); };
    auto other = link.name == name ? std::nullopt : TRY(rival());
    if (!other || other->index == link.index)
        return {};
    // Another function may wait for the name that this one has.
    if (!other->device.empty()) {
        if (link.name != interim_name(vf)) {
            auto aside = call_by_address(site, vf, link);
            if (!aside && !is_taken(aside))
                return aside;
        }
        if (TRY(links.wait_until_free(site.host_ns, name, Deadline::in(kNameTimeout))))
            return {};
        other = TRY(rival()).value_or(*other);
    }
    return base::make_error(Code::Busy,
                            fmt::format("VF {} cannot have its name {} back: netdev {} ({}) has it",
                                        vf,
                                        name,
                                        other->index,
                                        other->device.empty() ? other->kind : other->device))
        .advise("rename that one, then run: rdmactl gc");
}

}  // namespace hook
