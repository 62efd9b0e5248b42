// SPDX-License-Identifier: Apache-2.0
#include "netns/pci_tree.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "netns/kernel/sysfs.h"
#include "netns/values/pci_address.h"

namespace netns {

namespace {
constexpr char kFunctions[] = "bus/pci/devices/";

// Returns the number of a file such as "0x030200\n"; 0 if there is none.
Result<uint32_t> hex_in(const SysTree& folder, const std::string& file) {
    const auto text = TRY(folder.read(file)).value_or("");
    uint32_t number = 0;
    if (text.starts_with("0x"))
        (void)std::from_chars(text.data() + 2, text.data() + text.size(), number, 16);
    return number;
}

Result<int> node_in(const SysTree& folder) {
    const auto text = TRY(folder.read("numa_node")).value_or("");
    int node = -1;
    (void)std::from_chars(text.data(), text.data() + text.size(), node);
    return node < 0 ? -1 : node;
}

uint32_t little_endian(std::string_view bytes, size_t at, size_t count) {
    uint32_t number = 0;
    for (size_t i = count; i-- > 0;)
        number = number << 8U | static_cast<unsigned char>(bytes[at + i]);
    return number;
}

// Returns the place that the path of a function's folder has:
// "../../../devices/pci0000:17/0000:17:01.0/0000:18:00.0". Its NUMA node is unknown.
PciPlace parse_place(std::string_view path) {
    PciPlace place;
    while (!path.empty()) {
        const size_t slash = std::min(path.find('/'), path.size());
        const std::string_view part = path.substr(0, slash);
        path.remove_prefix(std::min(slash + 1, path.size()));
        if (part.starts_with("pci") && part.find(':') != std::string_view::npos) {
            place.root = part;
            place.bridges.clear();
        } else if (is_pci_address(part)) {
            place.bridges.emplace_back(part);
        }
    }
    if (!place.bridges.empty())
        place.bridges.pop_back();  // the function itself
    return place;
}

// Returns the ACS control in a configuration space; nothing if it has none. Extended capabilities
// begin at 0x100. Each has its id in 16 bits, a version in 4, and the next one's offset in 12.
std::optional<uint16_t> parse_acs(std::string_view config) {
    constexpr uint32_t kAcs = 0x000d;
    constexpr size_t kFirst = 0x100;
    constexpr size_t kSize = 8;
    size_t at = kFirst;
    // As many as there can be: a space that leads in a circle ends, too.
    for (size_t i = 0; i < (config.size() / kSize); ++i) {
        if (at < kFirst || at + kSize > config.size())
            break;
        const uint32_t head = little_endian(config, at, 4);
        if ((head & 0xffffU) == kAcs)
            return static_cast<uint16_t>(little_endian(config, at + 6, 2));
        at = head >> 20U & 0xffcU;
    }
    return std::nullopt;
}

Result<std::optional<PciPlace>> place_of(const SysTree& tree,
                                         const std::string& address,
                                         const SysTree& folder) {
    const auto path = TRY(tree.target(kFunctions + address));
    if (!path)
        return std::optional<PciPlace>{};
    PciPlace place = parse_place(*path);
    place.numa_node = TRY(node_in(folder));
    return std::optional{std::move(place)};
}

// Returns the card; nothing if the function is none.
Result<std::optional<PciCard>> card_of(const SysTree& tree, const std::string& address) {
    constexpr uint32_t kDisplay = 0x03;
    constexpr uint32_t kAccelerator = 0x12;
    const auto folder = TRY(tree.enter(kFunctions + address));
    if (!folder)
        return std::optional<PciCard>{};  // it has just left
    PciCard card;
    card.address = address;
    card.pci_class = TRY(hex_in(*folder, "class"));
    card.rdma_names = TRY(folder->list("infiniband"));
    const uint32_t base = card.pci_class >> 16U;
    if (base != kDisplay && base != kAccelerator && card.rdma_names.empty())
        return std::optional<PciCard>{};
    auto place = TRY(place_of(tree, address, *folder));
    if (!place)
        return std::optional<PciCard>{};
    card.place = *std::move(place);
    card.vendor = static_cast<uint16_t>(TRY(hex_in(*folder, "vendor")));
    card.device = static_cast<uint16_t>(TRY(hex_in(*folder, "device")));
    card.driver = TRY(folder->link("driver")).value_or("");
    card.pf = TRY(folder->link("physfn")).value_or("");
    card.iommu = TRY(folder->read("iommu_group/type")).value_or("");
    return std::optional{std::move(card)};
}

class KernelPciTree : public PciTree {
  public:
    explicit KernelPciTree(std::string sys) : sys_(std::move(sys)) {}

    Result<std::vector<PciCard>> cards() override {
        const SysTree tree = TRY(SysTree::at(sys_));
        std::vector<PciCard> cards;
        for (const std::string& address : TRY(tree.list("bus/pci/devices"))) {
            if (!is_pci_address(address))
                continue;
            if (auto card = TRY(card_of(tree, address)))
                cards.push_back(*std::move(card));
        }
        std::ranges::sort(cards, is_before, &PciCard::address);
        return cards;
    }

    Result<std::optional<PciPlace>> place(const std::string& address) override {
        if (!is_pci_address(address))
            return std::optional<PciPlace>{};
        const SysTree tree = TRY(SysTree::at(sys_));
        const auto folder = TRY(tree.enter(kFunctions + address));
        if (!folder)
            return std::optional<PciPlace>{};
        return place_of(tree, address, *folder);
    }

    Result<std::optional<uint16_t>> acs(const std::string& bridge) override {
        if (!is_pci_address(bridge))
            return std::optional<uint16_t>{};
        const SysTree tree = TRY(SysTree::at(sys_));
        return parse_acs(TRY(tree.read(kFunctions + bridge + "/config")).value_or(""));
    }

  private:
    std::string sys_;
};
}  // namespace

std::unique_ptr<PciTree> make_kernel_pci_tree(std::string sys) {
    return std::make_unique<KernelPciTree>(std::move(sys));
}

}  // namespace netns
