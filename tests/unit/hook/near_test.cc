// SPDX-License-Identifier: Apache-2.0
// GPUs and adapters: how far apart they are, which is for which, and rdma.device=near:GPU in
// containers' lives.
#include "hook/modes/near.h"

#include <gmock/gmock.h>

#include "hook/modes/mode.h"
#include "tests/fakes/adapters.h"
#include "tests/fakes/eight_gpus.h"
#include "tests/fakes/fake_host.h"
#include "tests/unit/hook/containers.h"

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

// ---- in containers' lives, on a host with eight GPUs ---------------------------------------------
namespace test {
namespace {

using base::Code;
using testing::HasSubstr;
using testing::Not;

using Annotations = std::map<std::string, std::string>;

// The adapters of eight_gpus() in the order of their names: mlx5_0 with netdev rail0, and so on.
constexpr const char* kAdapters[] = {"0000:14:00.0",
                                     "0000:15:00.0",
                                     "0000:45:00.0",
                                     "0000:46:00.0",
                                     "0000:89:00.0",
                                     "0000:8a:00.0",
                                     "0000:c3:00.0",
                                     "0000:04:00.0"};

World eight_rails() {
    World world = World::standard(KernelTraits::v7_3());
    for (size_t i = 0; i < std::size(kAdapters); ++i)
        world.add_sriov("rail" + std::to_string(i), kAdapters[i], 0, Nic::Mlx5);
    world.cards = eight_gpus();
    return world;
}

Annotations near(const std::string& mode, const std::string& device, const Annotations& more = {}) {
    Annotations all{{"rdma.mode", mode}, {"rdma.device", device}};
    if (mode != "host")
        all.emplace("rdma.ip", "10.9.0.1/24");
    all.insert(more.begin(), more.end());
    return all;
}

class NearDevice : public Containers {
  protected:
    NearDevice() : Containers(eight_rails()) {}

    // What the one journal says.
    [[nodiscard]] std::string recorded() const {
        for (const std::string& path : state_.leftovers()) {
            if (path.starts_with("journals/"))
                return base::RealFiles{}.read(state_.path() + "/" + path, 1U << 20U).value();
        }
        return "";
    }

    // Returns the RDMA devices that a container is given, as its NCCL_IB_HCA names them.
    std::string given(const Annotations& annotations) {
        Life one = container("c" + std::to_string(made_), annotations);
        const auto started = one.start();
        EXPECT_TRUE(started) << started.error().message();
        EXPECT_THAT(recorded(), Not(HasSubstr("near")));
        EXPECT_TRUE(one.poststop());
        expect_nothing_kept();
        return started ? one.environment("NCCL_IB_HCA") : "";
    }

    base::Error refused(const Annotations& annotations) {
        Life one = container("c" + std::to_string(made_), annotations);
        return refusal(one);
    }

    void give_vfs(const char* pf) {
        constexpr uint32_t kVfs = 2;
        fake_.world.set_num_vfs(pf, kVfs);
        for (uint32_t number = 0; number < kVfs; ++number)
            fake_.world.register_netdev(fake_.world.vf_address(pf, number));
        for (auto& [index, device] : fake_.world.rdma)
            device.deaf.value = false;
    }
};

TEST_F(NearDevice, ModeHostGivesTheNearestAdapter) {
    EXPECT_EQ(given(near("host", "near:0")), "=mlx5_0");
    EXPECT_EQ(given(near("host", "near:1")), "=mlx5_1") << "equally near: the GPUs take turns";
    EXPECT_EQ(given(near("host", "near:2")), "=mlx5_2") << "the VF beside it is no choice";
    EXPECT_EQ(given(near("host", "near:0000:86:00.0")), "=mlx5_5");
}

TEST_F(NearDevice, SeveralGpusMayHaveOneAdapter) {
    EXPECT_EQ(given(near("host", "near:0,near:4,mlx5_7")), "=mlx5_0,mlx5_4,mlx5_7");
    EXPECT_EQ(given(near("host", "near:6,near:7")), "=mlx5_6");
}

TEST_F(NearDevice, ModeSharedHasItAsItsParent) {
    EXPECT_EQ(given(near("shared", "near:2")), "=mlx5_2");
    Life one = container("one", near("shared", "near:3"));
    ASSERT_TRUE(one.start());
    EXPECT_THAT(recorded(), HasSubstr(R"("parent":"mlx5_3")"));
    EXPECT_TRUE(one.poststop());
}

TEST_F(NearDevice, ModeSharedPassesOverAnAdapterWhoseRoceIsOff) {
    for (auto& [index, device] : fake_.world.rdma) {
        if (device.device.name == "mlx5_2")
            device.gid_slots = 0;
    }
    EXPECT_EQ(given(near("shared", "near:2")), "=mlx5_3");
}

TEST_F(NearDevice, ModeVfTakesTheNearestPfThatHasVfs) {
    EXPECT_THAT(refused(near("vf", "near:4")).message(), HasSubstr("has no VFs; run: rdmactl vf"));
    give_vfs(kAdapters[0]);
    give_vfs(kAdapters[5]);
    Life one = container("one", near("vf", "near:4"));
    const auto started = one.start();
    ASSERT_TRUE(started) << started.error().message();
    EXPECT_THAT(recorded(), HasSubstr(R"("device":"mlx5_5")"));
    EXPECT_TRUE(one.poststop());
    expect_nothing_kept();
}

// Their spelling is the list's, by which policy and pool compare.
TEST_F(NearDevice, ThePoolsListComesFirstAndThePolicysNext) {
    auto& config = state_.config();
    auto& policy = config.policy.emplace();
    policy.modes = {"host", "shared"};
    EXPECT_THAT(refused(near("host", "near:0")).message(),
                HasSubstr("policy.devices does not allow rdma.device='mlx5_0'"));
    policy.devices = {*hook::parse_device_spec("rail6"), *hook::parse_device_spec("rail3")};
    EXPECT_EQ(given(near("host", "near:0")), "=mlx5_3");
    EXPECT_EQ(given(near("host", "near:4")), "=mlx5_6");
    policy.devices = {*hook::parse_device_spec("all")};
    EXPECT_EQ(given(near("host", "near:4")), "=mlx5_4");
    policy.parents = std::vector<std::string>{"rail2", "mlx5_5"};
    policy.addresses = {*netns::parse_cidr("10.9.0.0/16")};
    EXPECT_EQ(given(near("shared", "near:7")), "=mlx5_5");

    state_.add_pool("some", "host");
    config.pools[0].devices = {*hook::parse_device_spec("0000:46:00.0"),
                               *hook::parse_device_spec("absent0")};
    EXPECT_EQ(given(near("host", "near:7", {{"rdma.pool", "some"}})), "=mlx5_3");
    policy.devices = {*hook::parse_device_spec("mlx5_3")};
    EXPECT_THAT(refused(near("host", "near:7", {{"rdma.pool", "some"}})).message(),
                HasSubstr("policy.devices does not allow rdma.device='0000:46:00.0'"))
        << "names are compared as they are spelled";
}

TEST_F(NearDevice, Refusals) {
    const struct {
        Annotations annotations;
        Code code;
        const char* says;
    } rows[] = {
        {near("host", "near:8"), Code::Unavailable, "rdma.device='near:8': there is no GPU 8"},
        {near("shared", "near:0000:99:00.0"), Code::Unavailable, "there is no GPU 0000:99:00.0"},
        {near("host", "near:0000:14:00.0"), Code::Unavailable, "see: rdmactl doctor gpu"},
        {near("asap2", "near:0", {{"rdma.bridge", "br0"}}),
         Code::BadInput,
         "mode asap2 does not choose by a GPU"},
        {near("shared", "mlx5_0"), Code::BadInput, "mode shared has its HCA by rdma.parent"},
        {near("shared", "near:0", {{"rdma.parent", "rail0"}}), Code::BadInput, "both name the HCA"},
        {near("vf", "near:0,near:1"), Code::BadInput, "mode vf gives one device"},
        {near("host", "near:0,near:0"), Code::BadInput, "'near:0' is there twice"},
        {near("host", "near:0,all"), Code::BadInput, "'all' leaves no other to name"},
    };

    for (const auto& [annotations, code, says] : rows) {
        const base::Error error = refused(annotations);
        EXPECT_EQ(error.code, code) << error.message();
        EXPECT_THAT(error.message(), HasSubstr(says));
    }
    for (const char* bad : {"near:",
                            "near:gpu0",
                            "near:all",
                            "near:01",
                            "near:1000",
                            "near:-1",
                            "near:0000:C1:00.0",
                            "near: 0",
                            "near",
                            "Near:0"})
        EXPECT_EQ(hook::gpu_of({.device = bad, .vfs = {}}), "") << bad;
    EXPECT_EQ(hook::gpu_of({.device = "near:0", .vfs = {{1, 1}}}), "");
    EXPECT_FALSE(hook::parse_device_spec("near:0")) << "only an annotation may name a GPU";
}

TEST_F(NearDevice, AHostWithoutAdaptersOrGpusSaysSo) {
    std::erase_if(fake_.world.cards, [](const auto& card) { return !card.rdma_names.empty(); });
    EXPECT_THAT(refused(near("host", "near:0")).message(), HasSubstr("no adapter is there"));
    fake_.world.cards.clear();
    EXPECT_THAT(refused(near("host", "near:0")).message(), HasSubstr("no GPU 0 among the 0"));
}

TEST_F(NearDevice, AModeThatChoosesByAGpuCanJudgeADevice) {
    for (const hook::ModeInfo& info : hook::all_mode_infos())
        EXPECT_EQ(info.by_gpu, hook::find_mode(info.name)->check_device != nullptr) << info.name;
}

}  // namespace
}  // namespace test
