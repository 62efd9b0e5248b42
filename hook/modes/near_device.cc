// SPDX-License-Identifier: Apache-2.0
#include "hook/modes/near_device.h"

#include <algorithm>

#include <fmt/format.h>

#include "hook/modes/mode.h"
#include "hook/modes/near.h"
#include "hook/modes/vf_choice.h"
#include "hook/request/policy.h"
#include "netns/base/log.h"
#include "netns/rdma.h"
#include "netns/values/pci_address.h"

namespace hook {

namespace {
bool is_near(const Attachment& attachment) {
    return std::ranges::any_of(attachment.devices,
                               [](const DeviceSpec& spec) { return !gpu_of(spec).empty(); });
}

bool goes_into_parent(const Attachment& attachment) {
    return takes(*find_mode_info(attachment.mode), "parent");
}

std::vector<DeviceSpec> specs_of(const std::vector<std::string>& names) {
    std::vector<DeviceSpec> specs;
    for (const std::string& name : names)
        specs.push_back({.device = name, .vfs = {}});
    return specs;
}

// Returns the devices that the pool lists, else those of the policy. Empty: neither lists any, or
// the list is of all.
std::vector<DeviceSpec> listed_for(const Attachment& attachment, const Config& config) {
    const Pool* pool = find_pool(config, attachment.mode, attachment.pool);
    std::vector<DeviceSpec> specs;
    if (goes_into_parent(attachment)) {
        if (pool != nullptr)
            specs = specs_of(pool->parents);
        if (specs.empty())
            specs = specs_of(
                find_said(config, pool, &Rules::parents).value_or(std::vector<std::string>{}));
    } else {
        if (pool != nullptr)
            specs = devices_of(*pool);
        if (specs.empty())
            specs = find_said(config, pool, &Rules::devices).value_or(std::vector<DeviceSpec>{});
    }
    return std::ranges::any_of(specs, names_all) ? std::vector<DeviceSpec>{} : specs;
}

// True if the device cannot be given; false if it is not known whether it can.
bool refuses(const Error& error) {
    return error.code == Code::Refused || error.code == Code::Unavailable ||
           error.code == Code::Unsupported;
}

// The choice for one attachment.
struct Choice {
    const Context& context;
    Site& site;
    const std::vector<netns::PciCard>& cards;
    std::vector<std::string> functions{};  // of `specs`, each once
    std::vector<DeviceSpec> specs{};

    void add(const std::string& function, const DeviceSpec& spec) {
        if (std::ranges::find(functions, function) != functions.end())
            return;
        // The order of addresses: who writes the list does not decide among equals.
        const auto behind = std::ranges::find_if(
            functions, [&](const auto& other) { return netns::is_before(function, other); });
        specs.insert(specs.begin() + (behind - functions.begin()), spec);
        functions.insert(behind, function);
    }

    // Adds the adapters of the host that the mode can give. If it can give none, the error is the
    // first one's.
    Result<> add_adapters(const Mode& mode) {
        std::optional<Error> why;
        for (const netns::PciCard& card : cards) {
            if (!card.pf.empty() || card.rdma_names.empty())
                continue;
            const auto device =
                TRY(site.host.rdma.find_by_name(site.host_ns, card.rdma_names.front()));
            if (!device)
                continue;
            auto given = mode.check_device(*device, context, site);
            if (given)
                add(card.address, {.device = device->name, .vfs = {}});
            else if (!refuses(given.error()))
                return given;
            else if (!why)
                why = std::move(given).error();
        }
        return functions.empty() && why ? Result<>{*std::move(why)} : Result<>{};
    }

    Result<> add_listed(const std::vector<DeviceSpec>& listed) {
        for (const DeviceSpec& spec : listed) {
            if (const auto function = TRY(function_named(spec.device, site)))
                add(*function, spec);
        }
        return {};
    }

    [[nodiscard]] Result<DeviceSpec> nearest_to(std::string_view gpu) const {
        const auto found = TRY(nearest_function(site.host.pci, cards, gpu, functions));
        return specs[static_cast<size_t>(std::ranges::find(functions, found) - functions.begin())];
    }
};

// Returns the attachment's devices with the nearest in the place of those that are near.
Result<std::vector<DeviceSpec>> resolve(const Attachment& attachment, const Choice& choice) {
    std::vector<DeviceSpec> devices;
    for (const DeviceSpec& spec : attachment.devices) {
        const std::string_view gpu = gpu_of(spec);
        const DeviceSpec device = gpu.empty() ? spec : TRY(choice.nearest_to(gpu));
        if (!gpu.empty())
            base::log::info(
                fmt::format("{} is nearest to GPU {}", to_string(device), base::printable(gpu)));
        if (std::ranges::find(devices, device) == devices.end())
            devices.push_back(device);
    }
    return devices;
}

Result<> choose(Attachment& attachment, Choice choice) {
    const auto listed = listed_for(attachment, choice.context.config);
    TRY(listed.empty() ? choice.add_adapters(*find_mode(attachment.mode))
                       : choice.add_listed(listed));
    attachment.devices = TRY(resolve(attachment, choice));
    if (!goes_into_parent(attachment))
        return {};
    attachment.parent = attachment.devices.front().device;
    attachment.devices.clear();
    return {};
}
}  // namespace

Result<Request> choose_near(const Context& context, Request request) {
    if (std::ranges::none_of(request.attachments, is_near))
        return request;
    Site site{
        .host = context.host, .host_ns = TRY(context.host.namespaces.current()), .container = {}};
    const auto cards = TRY(context.host.pci.cards());
    for (Attachment& attachment : request.attachments) {
        if (is_near(attachment))
            TRY(choose(attachment, {.context = context, .site = site, .cards = cards})
                    .context(fmt::format("{}='{}'",
                                         annotation_key(attachment.index, "device"),
                                         devices_text(attachment.devices))));
    }
    return request;
}

}  // namespace hook
