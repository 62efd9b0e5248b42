// SPDX-License-Identifier: Apache-2.0
#include "hook/modes/near.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include <fmt/format.h>

#include "hook/modes/mode.h"
#include "hook/modes/vf_choice.h"
#include "hook/request/policy.h"
#include "netns/base/log.h"
#include "netns/rdma.h"
#include "netns/values/pci_address.h"

namespace hook {

using netns::PciCard;
using netns::PciPlace;

namespace {
constexpr uint32_t kAccelerators = 0x12;
// Base class and subclass: VGA, 3D, other display controller (AMD Instinct).
constexpr uint32_t kDisplays[] = {0x0300, 0x0302, 0x0380};
constexpr uint16_t kVendors[] = {0x1002, 0x10de, 0x8086};

bool is_gpu(const PciCard& card) {
    const bool makes_gpus = std::ranges::find(kVendors, card.vendor) != std::end(kVendors);
    const bool displays = std::ranges::find(kDisplays, card.pci_class >> 8U) != std::end(kDisplays);
    return card.pf.empty() && ((makes_gpus && displays) || card.pci_class >> 16U == kAccelerators);
}

// Returns the places at the smallest distance, in their order.
std::vector<size_t> as_near(const PciPlace& from, const std::vector<PciPlace>& places) {
    std::vector<size_t> found;
    Distance least = Distance::Sys;
    for (size_t i = 0; i < places.size(); ++i) {
        const Distance far = distance(from, places[i]);
        if (far < least)
            found.clear();
        least = std::min(least, far);
        if (far == least)
            found.push_back(i);
    }
    return found;
}

Result<size_t> find_gpu(const std::vector<PciCard>& gpus, std::string_view name) {
    size_t number = gpus.size();
    const char* end = name.data() + name.size();
    const auto [rest, failed] = std::from_chars(name.data(), end, number);
    const bool is_number = failed == std::errc{} && rest == end;
    if (!is_number && !netns::is_pci_address(name))
        return make_error(Code::BadInput, fmt::format("'{}' names no GPU", printable(name)))
            .advise("give its number, or its PCI address; rdmactl doctor gpu lists them");
    if (!is_number)
        number =
            static_cast<size_t>(std::ranges::find(gpus, name, &PciCard::address) - gpus.begin());
    if (number >= gpus.size())
        return make_error(Code::Unavailable,
                          fmt::format("there is no GPU {} among the {} of this host",
                                      printable(name),
                                      gpus.size()))
            .advise("see: rdmactl doctor gpu");
    return number;
}
}  // namespace

std::string_view name_of(Distance distance) {
    constexpr std::string_view kNames[] = {"PIX", "PXB", "PHB", "NODE", "SYS"};
    return kNames[static_cast<size_t>(distance)];
}

// Below the last bridge that both have is, of a switch, one downstream port on each side.
Distance distance(const PciPlace& a, const PciPlace& b) {
    if (a.root != b.root)
        return a.numa_node == b.numa_node ? Distance::Node : Distance::Sys;
    const auto [part, other] = std::ranges::mismatch(a.bridges, b.bridges);
    if (part == a.bridges.begin())
        return Distance::Phb;
    return a.bridges.end() - part <= 1 && b.bridges.end() - other <= 1 ? Distance::Pix
                                                                       : Distance::Pxb;
}

std::vector<PciCard> gpus_of(const std::vector<PciCard>& cards) {
    std::vector<PciCard> gpus;
    std::ranges::copy_if(cards, std::back_inserter(gpus), is_gpu);
    return gpus;
}

size_t nearest(const std::vector<PciCard>& gpus, size_t gpu, const std::vector<PciPlace>& places) {
    const auto near = as_near(gpus[gpu].place, places);
    const auto before = std::ranges::count_if(
        gpus.begin(), gpus.begin() + static_cast<std::ptrdiff_t>(gpu), [&](const PciCard& other) {
            return as_near(other.place, places) == near;
        });
    return near[static_cast<size_t>(before) % near.size()];
}

Result<std::string> nearest_function(netns::PciTree& tree,
                                     const std::vector<PciCard>& cards,
                                     std::string_view gpu,
                                     const std::vector<std::string>& functions) {
    const auto gpus = gpus_of(cards);
    const size_t number = TRY(find_gpu(gpus, gpu));
    std::vector<PciPlace> places;
    std::vector<std::string> there;
    for (const std::string& function : functions) {
        const auto card = std::ranges::find(cards, function, &PciCard::address);
        auto place = card != cards.end() ? std::optional{card->place} : TRY(tree.place(function));
        if (place) {
            places.push_back(*std::move(place));
            there.push_back(function);
        }
    }
    if (there.empty())
        return make_error(Code::Unavailable,
                          fmt::format("no adapter is there to be near GPU {}", printable(gpu)))
            .advise("name the device; see: rdmactl doctor gpu");
    return there[nearest(gpus, number, places)];
}

// ---- near:GPU
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
                fmt::format("{} is nearest to GPU {}", to_string(device), printable(gpu)));
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
