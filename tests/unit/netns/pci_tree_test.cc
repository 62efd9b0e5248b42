// SPDX-License-Identifier: Apache-2.0
// GPUs and adapters among the bridges of PCI, in trees of sysfs.
#include "netns/pci_tree.h"

#include <filesystem>
#include <fstream>
#include <memory>

#include <gtest/gtest.h>

#include "tests/fakes/eight_gpus.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/netns/listed_tree.h"

namespace netns {
namespace {

class PciPlaces : public testing::Test {
  protected:
    PciTree& tree() { return *tree_; }

    void plant(const std::string& line) { test::plant_line(root_.path(), line); }

    // The place of a function whose folder has this path below devices/.
    PciPlace place_of(const std::string& path) {
        plant("devices/" + path + "/class = 0x030200");
        const std::string address = path.substr(path.rfind('/') + 1);
        plant("bus/pci/devices/" + address + " -> ../../../devices/" + path);
        const auto place = tree().place(address);
        EXPECT_TRUE(place && *place) << path;
        return place && *place ? **place : PciPlace{};
    }

    // The ACS control of a bridge with this configuration space.
    std::optional<uint16_t> acs_in(const std::string& space) {
        (void)std::filesystem::remove_all(root_.path() + "/bus");
        (void)place_of("pci0000:00/0000:00:01.0");
        std::ofstream(root_ / "devices/pci0000:00/0000:00:01.0/config") << space;
        return tree().acs("0000:00:01.0").value();
    }

    test::TempDir root_;
    std::unique_ptr<PciTree> tree_ = make_kernel_pci_tree(root_.path());
};

TEST_F(PciPlaces, EightGpus) {
    test::plant_listing(root_.path(), "eight-gpus");
    const auto cards = tree().cards();
    ASSERT_TRUE(cards) << cards.error().message();
    const auto wanted = test::eight_gpus();
    ASSERT_EQ(cards->size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i)
        EXPECT_EQ((*cards)[i], wanted[i]) << wanted[i].address << " " << (*cards)[i].address;
    EXPECT_EQ(tree().place("0000:45:00.1").value(), wanted[9].place);
    EXPECT_FALSE(tree().place("0000:99:00.0").value());
    EXPECT_FALSE(tree().place("../../../devices").value());
}

TEST_F(PciPlaces, AHostWithoutPci) {
    EXPECT_TRUE(tree().cards().value().empty());
    EXPECT_FALSE(tree().acs("0000:00:01.0").value());
}

// What the kernel does not say, and what it may say one day.
TEST_F(PciPlaces, FilesThatAreMissingOrOdd) {
    const std::string gpu = "devices/pci0000:00/0000:01:00.0/";
    for (const std::string& line : {"bus/pci/devices/0000:01:00.0 -> ../../../" + gpu,
                                    gpu + "class = 0x030200",
                                    gpu + "vendor = ten",
                                    gpu + "numa_node = -1",
                                    std::string("bus/pci/devices/oddity/class = 0x030200")})
        plant(line);
    const auto cards = tree().cards();
    ASSERT_TRUE(cards) << cards.error().message();
    ASSERT_EQ(cards->size(), 1U);
    EXPECT_EQ((*cards)[0].vendor, 0);
    EXPECT_EQ((*cards)[0].place, (PciPlace{.root = "pci0000:00", .bridges = {}, .numa_node = -1}));
    EXPECT_EQ((*cards)[0].driver + (*cards)[0].iommu + (*cards)[0].pf, "");
}

TEST_F(PciPlaces, ABridgeOfADriverHasAHostBridgeOfItsOwn) {
    const PciPlace place =
        place_of("pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:01.0/10000:e1:00.0");
    EXPECT_EQ(place.root, "pci10000:e0");
    EXPECT_EQ(place.bridges, std::vector<std::string>{"10000:e0:01.0"});
    EXPECT_EQ(place_of("platform/40000000.pcie/pci0000:00/0000:00:01.0").root, "pci0000:00");
}

// A configuration space with these extended capabilities: id and offset of each.
std::string space_with(const std::vector<std::pair<uint16_t, size_t>>& capabilities) {
    std::string space(4096, '\0');
    for (size_t i = 0; i < capabilities.size(); ++i) {
        const auto [id, at] = capabilities[i];
        const size_t next = i + 1 < capabilities.size() ? capabilities[i + 1].second : 0;
        const uint32_t head = id | 1U << 16U | static_cast<uint32_t>(next << 20U);
        for (size_t byte = 0; byte < 4; ++byte)
            space[at + byte] = static_cast<char>(head >> 8U * byte);
    }
    return space;
}

TEST_F(PciPlaces, AcsIsAmongExtendedCapabilities) {
    std::string space = space_with({{0x0001, 0x100}, {0x000d, 0x148}, {0x0019, 0x1e0}});
    space[0x148 + 6] = 0x1d;
    EXPECT_EQ(acs_in(space), 0x1d);
    EXPECT_EQ(acs_in(space_with({{0x0001, 0x100}, {0x0019, 0x1e0}})), std::nullopt);
}

TEST_F(PciPlaces, OddConfigurationSpacesEnd) {
    std::string circle = space_with({{0x0001, 0x100}, {0x0002, 0x200}});
    circle[0x203] = 0x10;  // the next one is at 0x100
    EXPECT_EQ(acs_in(circle), std::nullopt);
    EXPECT_EQ(acs_in(space_with({{0x000d, 0x100}}).substr(0, 64)), std::nullopt) << "not root";
    EXPECT_EQ(acs_in(space_with({{0x0001, 0x100}, {0x000d, 0xffc}})), std::nullopt)
        << "it ends behind the space";
    EXPECT_EQ(acs_in(std::string(4096, '\xff')), std::nullopt) << "the device is gone";
    EXPECT_EQ(acs_in(""), std::nullopt);
}

TEST_F(PciPlaces, AcsOfNoBridge) {
    EXPECT_FALSE(tree().acs("0000:00:01.0").value());
    EXPECT_FALSE(tree().acs("../devices/0000:00:01.0").value());
}

}  // namespace
}  // namespace netns
