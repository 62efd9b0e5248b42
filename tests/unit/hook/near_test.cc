// SPDX-License-Identifier: Apache-2.0
// GPUs and adapters: how far apart they are, and which is for which.
#include "hook/modes/near.h"

#include <gmock/gmock.h>

#include "tests/fakes/eight_gpus.h"
#include "tests/fakes/fake_host.h"

namespace hook {
namespace {
using base::Code;
using netns::PciCard;
using netns::PciPlace;
using testing::ElementsAre;
using testing::HasSubstr;

class Near : public testing::Test {
  protected:
    Near() { fake_.world.cards = test::eight_gpus(); }

    // The PCI function of a device.
    std::string function_of(const std::string& rdma) const {
        for (const PciCard& card : fake_.world.cards) {
            if (card.rdma_names == std::vector{rdma})
                return card.address;
        }
        return "";
    }

    // The devices that GPUs 0 to 7 choose among these.
    std::vector<std::string> chosen(const std::vector<std::string>& devices) {
        std::vector<std::string> functions;
        for (const std::string& device : devices)
            functions.push_back(function_of(device));
        std::vector<std::string> names;
        for (int gpu = 0; gpu < 8; ++gpu) {
            const auto found =
                nearest_function(fake_.pci, fake_.world.cards, std::to_string(gpu), functions);
            EXPECT_TRUE(found) << found.error().message();
            for (size_t i = 0; found && i < devices.size(); ++i) {
                if (functions[i] == *found)
                    names.push_back(devices[i]);
            }
        }
        return names;
    }

    test::FakeHost fake_{test::World::standard()};
};

TEST_F(Near, DistancesOfEightGpus) {
    const auto gpus = gpus_of(fake_.world.cards);
    ASSERT_EQ(gpus.size(), 8U);
    const auto row = [&](size_t gpu) {
        std::vector<std::string_view> all;
        for (int i = 0; i < 8; ++i) {
            const auto place = *fake_.pci.place(function_of("mlx5_" + std::to_string(i)));
            all.push_back(name_of(distance(gpus[gpu].place, *place)));
        }
        return all;
    };
    EXPECT_THAT(row(0), ElementsAre("PXB", "PXB", "NODE", "NODE", "SYS", "SYS", "SYS", "NODE"));
    EXPECT_THAT(row(2), ElementsAre("NODE", "NODE", "PIX", "PIX", "SYS", "SYS", "SYS", "NODE"));
    EXPECT_THAT(row(5), ElementsAre("SYS", "SYS", "SYS", "SYS", "PXB", "PXB", "NODE", "SYS"));
    EXPECT_THAT(row(7), ElementsAre("SYS", "SYS", "SYS", "SYS", "NODE", "NODE", "PHB", "SYS"));
    EXPECT_EQ(distance(gpus[0].place, gpus[1].place), Distance::Pix);
}

TEST_F(Near, DistancesAreTheSameBothWays) {
    for (const PciCard& a : fake_.world.cards) {
        for (const PciCard& b : fake_.world.cards)
            EXPECT_EQ(distance(a.place, b.place), distance(b.place, a.place));
        EXPECT_EQ(distance(a.place, a.place),
                  a.place.bridges.empty() ? Distance::Phb : Distance::Pix);
    }
}

// A virtual machine has all on one bus; a machine without NUMA says -1.
TEST_F(Near, PlacesThatSayLittle) {
    const PciPlace vm{.root = "pci0000:00", .bridges = {}, .numa_node = -1};
    EXPECT_EQ(distance(vm, vm), Distance::Phb);
    const PciPlace other{.root = "pci0000:80", .bridges = {"0000:80:01.0"}, .numa_node = -1};
    EXPECT_EQ(distance(vm, other), Distance::Node);
    PciPlace known = other;
    known.numa_node = 1;
    EXPECT_EQ(distance(vm, known), Distance::Sys);
}

TEST_F(Near, WhatIsAGpu) {
    const auto counts = [](uint16_t vendor, uint32_t pci_class, const std::string& pf = "") {
        PciCard card;
        card.vendor = vendor;
        card.pci_class = pci_class;
        card.pf = pf;
        return gpus_of({card}).size() == 1;
    };
    EXPECT_TRUE(counts(0x10de, 0x030200)) << "NVIDIA A100";
    EXPECT_TRUE(counts(0x10de, 0x030000)) << "with a display";
    EXPECT_TRUE(counts(0x1002, 0x038000)) << "AMD MI210";
    EXPECT_TRUE(counts(0x1002, 0x120000)) << "AMD MI300X";
    EXPECT_TRUE(counts(0x8086, 0x038000)) << "Intel Data Center GPU Max";
    EXPECT_TRUE(counts(0x1da3, 0x120000)) << "Gaudi";
    EXPECT_FALSE(counts(0x1a03, 0x030000)) << "a BMC's display";
    EXPECT_FALSE(counts(0x10de, 0x068000)) << "NVSwitch";
    EXPECT_FALSE(counts(0x15b3, 0x020700)) << "an adapter";
    EXPECT_FALSE(counts(0x10de, 0x030200, "0000:01:00.0")) << "a part of a GPU";
}

TEST_F(Near, EachGpuHasItsOwnAmongEquals) {
    EXPECT_THAT(
        chosen({"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_7"}),
        ElementsAre(
            "mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_6"));
    EXPECT_THAT(
        chosen({"mlx5_1", "mlx5_6"}),
        ElementsAre(
            "mlx5_1", "mlx5_1", "mlx5_1", "mlx5_1", "mlx5_6", "mlx5_6", "mlx5_6", "mlx5_6"));
    EXPECT_THAT(chosen({"mlx5_7"}), testing::Each("mlx5_7"));
    EXPECT_THAT(chosen({"mlx5_8", "mlx5_0"})[2], "mlx5_8") << "a VF is where its PF is";
}

TEST_F(Near, ANameOrAnAddress) {
    const std::vector<std::string> both = {function_of("mlx5_0"), function_of("mlx5_6")};
    EXPECT_EQ(*nearest_function(fake_.pci, fake_.world.cards, "0000:c1:00.0", both), both[1]);
    EXPECT_EQ(
        *nearest_function(fake_.pci, fake_.world.cards, "0", {"0000:99:00.0", both[1], both[0]}),
        both[0]);
    for (const char* bad : {"", "-1", "+1", "0x1", "1 ", "gpu0", "all", "0000:C1:00.0", "c1:00.0"})
        EXPECT_EQ(nearest_function(fake_.pci, fake_.world.cards, bad, both).error().code,
                  Code::BadInput)
            << bad;
    for (const char* absent :
         {"8", "99999999999999999999", "0000:04:00.0", "0000:03:00.0", "0000:99:00.0"}) {
        const auto found = nearest_function(fake_.pci, fake_.world.cards, absent, both);
        ASSERT_FALSE(found) << absent;
        EXPECT_THAT(found.error().message(), HasSubstr("rdmactl doctor gpu")) << absent;
    }
    EXPECT_EQ(nearest_function(fake_.pci, fake_.world.cards, "0", {}).error().code,
              Code::Unavailable);
    EXPECT_EQ(nearest_function(fake_.pci, fake_.world.cards, "0", {"0000:99:00.0"}).error().code,
              Code::Unavailable);
    fake_.world.cards.clear();
    EXPECT_THAT(nearest_function(fake_.pci, fake_.world.cards, "0", both).error().message(),
                HasSubstr("no GPU 0 among the 0"));
}

// A tree that cannot be read.
class NoTree final : public netns::PciTree {
  public:
    Result<std::vector<PciCard>> cards() override { return closed(); }

    Result<std::optional<PciPlace>> place(const std::string& /*address*/) override {
        return closed();
    }

    Result<std::optional<uint16_t>> acs(const std::string& /*bridge*/) override { return closed(); }

  private:
    static base::Error closed() { return base::make_error(Code::Unavailable, "closed"); }
};

TEST_F(Near, PlacesOfCardsAreReadOnce) {
    NoTree none;
    const std::vector<std::string> both = {function_of("mlx5_0"), function_of("mlx5_6")};
    EXPECT_EQ(*nearest_function(none, fake_.world.cards, "0", both), both[0]);
    const auto other = nearest_function(none, fake_.world.cards, "0", {both[0], "0000:99:00.0"});
    ASSERT_FALSE(other) << "it is none of the cards";
    EXPECT_EQ(other.error().message(), "closed");
}

}  // namespace
}  // namespace hook
