// SPDX-License-Identifier: Apache-2.0
#include "hook/modes/near.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include <fmt/format.h>

#include "netns/values/pci_address.h"

namespace hook {

using base::Code;
using base::make_error;
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
        return make_error(Code::BadInput, fmt::format("'{}' names no GPU", base::printable(name)))
            .advise("give its number, or its PCI address; rdmactl doctor gpu lists them");
    if (!is_number)
        number =
            static_cast<size_t>(std::ranges::find(gpus, name, &PciCard::address) - gpus.begin());
    if (number >= gpus.size())
        return make_error(Code::Unavailable,
                          fmt::format("there is no GPU {} among the {} of this host",
                                      base::printable(name),
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
        return make_error(
                   Code::Unavailable,
                   fmt::format("no adapter is there to be near GPU {}", base::printable(gpu)))
            .advise("name the device; see: rdmactl doctor gpu");
    return there[nearest(gpus, number, places)];
}

}  // namespace hook
