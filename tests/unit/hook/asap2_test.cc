// SPDX-License-Identifier: Apache-2.0
// Mode asap2 beyond what every mode is tested for: what the port is like, whose ports are touched,
// and what becomes of it when Open vSwitch does not answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hook/rdmactl/command.h"
#include "hook/steps/eswitch.h"
#include "tests/unit/hook/asap2_world.h"
#include "tests/unit/hook/containers.h"

namespace test {
namespace {

using netns::DevlinkPort;
using netns::PortFlavour;
using testing::HasSubstr;

class Asap2 : public testing::Test {
  protected:
    explicit Asap2(World world = switchdev_world(Nic::Mlx5))
        : fake_(std::move(world)), one_(fake_, state_, "one") {
        one_.annotations = {{"rdma.mode", "asap2"},
                            {"rdma.device", "enp1s0"},
                            {"rdma.bridge", "br0"},
                            {"rdma.ip", "10.9.0.1/24"}};
    }

    std::string representor(const char* port = "pf0vf0") {
        return fake_.world.find_link(fake_.world.host, fake_.world.representor(kEswitch, port))
            ->link.name;
    }

    const netns::OvsPort& port() { return fake_.world.ovs.ports.at(representor()); }

    std::string refusal() {
        const auto done = one_.precreate();
        EXPECT_FALSE(done);
        return done ? "" : done.error().message();
    }

    // The port of an earlier boot on VF 0's representor.
    void leave_port(const std::string& attachment) {
        netns::OvsPort& stale = fake_.world.ovs.ports[representor()];
        stale.name = representor();
        stale.bridge = "br0";
        stale.error = "could not open network device";
        stale.marks = {{"owner", "rdma-hook"},
                       {"rdma-hook-attachment", attachment},
                       {"rdma-hook-boot", "another"}};
    }

    hook::Collected collect_all() {
        auto collected = collect(fake_, state_);
        fake_.settle();
        return collected;
    }

    FakeHost fake_;
    StateDir state_;
    Life one_;
};

TEST_F(Asap2, ThePortIsWhatTheAnnotationsSay) {
    one_.annotations.insert({{"rdma.vlan", "7"}, {"rdma.max_tx_rate", "250"}});
    ASSERT_TRUE(one_.precreate());
    EXPECT_EQ(port().bridge, "br0");
    EXPECT_EQ(port().tag, 7);
    EXPECT_EQ(port().policing_kbps, 250000U);
    EXPECT_EQ(port().marks.at("owner"), "rdma-hook");
    EXPECT_EQ(port().marks.at("rdma-hook-boot"), fake_.world.boot_id);
    const auto link =
        fake_.world.find_link(fake_.world.host, fake_.world.representor(kEswitch, "pf0vf0"));
    EXPECT_TRUE(link->link.up);
}

// Else it would be in everybody's VLAN: what a policy lists would be for those alone who ask.
TEST_F(Asap2, WithoutVlansThePortIsOfNone) {
    ASSERT_TRUE(one_.precreate());
    EXPECT_EQ(port().tag, netns::kUntagged);
    EXPECT_TRUE(port().trunks.empty());
}

TEST_F(Asap2, ATrunkHasNoTag) {
    one_.annotations.insert({"rdma.trunk", "9,7"});
    ASSERT_TRUE(one_.precreate());
    EXPECT_EQ(port().trunks, (std::vector<uint16_t>{7, 9}));
    EXPECT_FALSE(port().tag);
}

TEST_F(Asap2, TunnelsLeaveLessRoom) {
    fake_.world.ovs.bridges.at("br0").tunnels = true;
    one_.annotations["rdma.mtu"] = "1431";
    EXPECT_THAT(refusal(), HasSubstr("above the 1430 that the tunnels on bridge br0 leave"));
    one_.annotations.erase("rdma.mtu");
    ASSERT_TRUE(one_.precreate());
    const auto at = fake_.world.netdev_of("0000:01:00.1");
    EXPECT_EQ(fake_.world.find_link(at->first, at->second)->link.mtu, 1430U);
}

TEST_F(Asap2, TwoContainersHaveTwoPorts) {
    Life two{fake_, state_, "two"};
    two.annotations = one_.annotations;
    two.annotations["rdma.ip"] = "10.9.0.2/24";
    const NetnsId ns = fake_.world.add_netns();
    fake_.world.add_process(4712, ns);
    fake_.world.engine_paths["/run/netns/container2"] = ns;
    two.network = "/run/netns/container2";
    two.init = 4712;
    ASSERT_TRUE(one_.precreate());
    ASSERT_TRUE(two.precreate());
    EXPECT_EQ(fake_.world.ovs.ports.size(), 3U);  // and the uplink's
}

TEST_F(Asap2, AStalePortOfOursIsNoObstacle) {
    leave_port("4-f000-0123456789ab");
    ASSERT_TRUE(one_.precreate());
    EXPECT_EQ(port().error, "");
    EXPECT_EQ(port().marks.at("rdma-hook-boot"), fake_.world.boot_id);
}

TEST_F(Asap2, APortOfSomebodyElseIsNotTouched) {
    for (const netns::OvsMap& marks :
         {netns::OvsMap{}, {{"owner", "ovs-cni"}}, {{"owner", "rdma-hook"}}}) {
        leave_port("");
        fake_.world.ovs.ports.at(representor()).marks = marks;
        const World before = fake_.world;
        EXPECT_THAT(refusal(), HasSubstr("not rdma-hook's on bridge br0"));
        fake_.settle();
        EXPECT_EQ(fake_.world, before) << difference(before, fake_.world);
        EXPECT_EQ(collect_all().leftovers, std::vector<std::string>{});
        EXPECT_EQ(fake_.world, before);
    }
}

TEST_F(Asap2, GcSweepsPortsWithoutJournal) {
    const World before = fake_.world;
    leave_port("4-f000-0123456789ab");
    EXPECT_EQ(collect_all().leftovers.size(), 1U);
    EXPECT_EQ(fake_.world, before) << difference(before, fake_.world);
}

TEST_F(Asap2, GcLeavesLivingPorts) {
    ASSERT_TRUE(one_.precreate());
    ASSERT_TRUE(one_.create_runtime());
    EXPECT_EQ(collect_all().leftovers, std::vector<std::string>{});
    EXPECT_EQ(port().bridge, "br0");
}

// One file that cannot be read must not keep what belongs to nobody.
TEST_F(Asap2, GcSweepsPortsBesideAJournalOfAnotherFormat) {
    ASSERT_TRUE(one_.start());
    const netns::OvsPort mine = port();
    const std::string other = representor("pf0vf1");
    netns::OvsPort& stale = fake_.world.ovs.ports[other];
    stale = mine;
    stale.name = other;
    stale.marks["rdma-hook-attachment"] = "4-f000-0123456789ab";
    // The port that is looked at first is the one whose journal is foreign.
    ASSERT_LT(mine.name, other);
    const std::string path =
        state_.path() + "/journals/" + mine.marks.at("rdma-hook-attachment") + ".json";
    std::string text = fake_.files.read(path, 1U << 20U).value();
    const std::string format = R"("format":1)";
    ASSERT_NE(text.find(format), std::string::npos);
    std::string foreign = text;
    ASSERT_TRUE(fake_.files.write(
        path, foreign.replace(foreign.find(format), format.size(), "\"format\":2")));
    const auto collected = collect_all();
    EXPECT_EQ(collected.leftovers, std::vector<std::string>{"Open vSwitch port " + other});
    EXPECT_FALSE(collected.trouble.empty());
    EXPECT_EQ(port(), mine);
    ASSERT_TRUE(fake_.files.write(path, text));
    EXPECT_TRUE(one_.poststop());
}

// Keys of attachments come again: the kernel gives inodes of namespaces from the lowest.
TEST_F(Asap2, AnotherBootsPortOfTheSameKeyIsNotTheLivingOne) {
    ASSERT_TRUE(one_.start());
    const netns::OvsPort mine = port();
    const std::string other = representor("pf0vf1");
    netns::OvsPort stale = mine;
    stale.name = other;
    stale.marks["rdma-hook-boot"] = "another";
    fake_.world.ovs.ports[other] = stale;
    EXPECT_EQ(collect_all().leftovers.size(), 1U);
    EXPECT_EQ(port(), mine) << "gc";
    EXPECT_FALSE(fake_.world.ovs.ports.contains(other));

    fake_.world.ovs.ports[other] = stale;
    Life two{fake_, state_, "two"};
    two.annotations = one_.annotations;
    two.annotations["rdma.ip"] = "10.9.0.2/24";
    two.network = "/run/netns/container2";
    two.init = 4712;
    fake_.world.engine_paths[two.network] = fake_.world.add_netns();
    ASSERT_TRUE(two.start());
    EXPECT_EQ(port(), mine) << "the attach that needs the stale port's representor";
    EXPECT_EQ(fake_.world.ovs.ports.at(other).marks.at("rdma-hook-boot"), fake_.world.boot_id);
}

TEST_F(Asap2, MarksMayNameNoPath) {
    leave_port("../../etc/passwd");
    const World before = fake_.world;
    const auto collected = collect_all();
    EXPECT_EQ(collected.leftovers, std::vector<std::string>{});
    EXPECT_EQ(collected.trouble, std::vector<std::string>{});
    EXPECT_EQ(fake_.world, before);
}

TEST_F(Asap2, AnEndWithoutDatabaseIsFinishedByGc) {
    World before = fake_.world;
    before.processes.erase(one_.init);
    ASSERT_TRUE(one_.precreate());
    ASSERT_TRUE(one_.create_runtime());
    fake_.world.ovs.server = false;
    EXPECT_FALSE(one_.poststop());
    fake_.settle();
    EXPECT_TRUE(fake_.world.netdev_of("0000:01:00.1")->first == fake_.world.host)
        << "the VF is back";
    const auto trouble = collect_all().trouble;
    ASSERT_FALSE(trouble.empty());
    EXPECT_THAT(trouble.front(), HasSubstr("database"));
    fake_.world.ovs.server = true;
    EXPECT_EQ(collect_all().trouble, std::vector<std::string>{});
    EXPECT_EQ(fake_.world, before) << difference(before, fake_.world);
}

TEST_F(Asap2, WhatIsMissingIsSaid) {
    fake_.world.eswitches.at(kEswitch).busy = false;

    const struct {
        const char* what;
        std::function<void()> change;
        const char* words;
    } rows[] = {
        {"a bridge",
         [&] { fake_.world.ovs.bridges.clear(); },
         "no bridge 'br0'; make it: rdmactl asap2 enable"},
        {"the database", [&] { fake_.world.ovs.server = false; }, "database"},
        {"Open vSwitch", [&] { fake_.world.ovs.installed = false; }, "openvswitch"},
        {"switchdev",
         [&] { fake_.world.set_eswitch_mode(kEswitch, netns::EswitchMode::Legacy); },
         "mode legacy; run: rdmactl asap2 enable enp1s0"},
        {"an e-switch", [&] { fake_.world.eswitches.clear(); }, "no e-switch"},
        {"room for the MTU", [&] { one_.annotations["rdma.mtu"] = "9000"; }, "its uplink enp1s0"},
    };

    const World start = fake_.world;
    for (const auto& row : rows) {
        fake_.world = start;
        row.change();
        const World before = fake_.world;
        EXPECT_THAT(refusal(), HasSubstr(row.words)) << row.what;
        fake_.settle();
        EXPECT_EQ(fake_.world, before) << row.what << difference(before, fake_.world);
    }
}

TEST_F(Asap2, ASoftwarePathIsSaidOrRefused) {
    const uint32_t index = fake_.world.representor(kEswitch, "pf0vf0");
    fake_.world.find_link(fake_.world.host, index)->tc_feature = {.on = false, .fixed = true};
    ASSERT_TRUE(one_.precreate());
    Life two{fake_, state_, "two"};
    two.annotations = one_.annotations;
    two.annotations["rdma.offload"] = "required";
    two.annotations["rdma.device"] = "enp1s0#1";
    two.annotations["rdma.ifname"] = "rdma7";
    two.annotations["rdma.ip"] = "10.9.0.2/24";
    const uint32_t other = fake_.world.representor(kEswitch, "pf0vf1");
    fake_.world.find_link(fake_.world.host, other)->tc_feature = {.on = false, .fixed = true};
    const Error done = error_of(two.precreate());
    EXPECT_EQ(done.code, Code::Unsupported);
    EXPECT_THAT(done.message(), HasSubstr("off [fixed]"));
}

TEST(Representor, IsThePortOfTheVfOfThisPf) {
    const auto vf = [](const char* name) {
        return DevlinkPort{.index = 0, .flavour = PortFlavour::PciVf, .name = name, .netdev = 9};
    };
    // One e-switch of two PFs, and VFs of another host's controller.
    const std::vector<DevlinkPort> ports = {
        {.index = 0, .flavour = PortFlavour::Physical, .name = "p0", .netdev = 1},
        vf("c1pf0vf1"),
        vf("pf0vf11"),
        vf("pf0vf1"),
        vf("pf1vf1"),
        {.index = 5, .flavour = PortFlavour::PciSf, .name = "pf0sf1", .netdev = 3}};
    EXPECT_EQ(hook::find_vf_port(ports, "0000:03:00.0", 1)->name, "pf0vf1");
    EXPECT_EQ(hook::find_vf_port(ports, "0000:03:00.1", 1)->name, "pf1vf1");
    EXPECT_EQ(hook::find_vf_port(ports, "0000:03:00.0", 11)->name, "pf0vf11");
    EXPECT_EQ(hook::find_vf_port(ports, "0000:03:00.0", 2), nullptr);
}

class MappedAsap2 : public Asap2 {
  protected:
    MappedAsap2() : Asap2(mapped_world()) {
        add_mapped_pool(state_.config());
        one_.annotations = {{"rdma.mode", "asap2"}, {"rdma.ip", "10.9.0.1/24"}};
    }
};

TEST_F(MappedAsap2, AFunctionOfThePoolIsGivenOnce) {
    ASSERT_TRUE(one_.precreate());
    EXPECT_EQ(fake_.world.netdev_of("netdevsim/netdevsim11")->first,
              fake_.world.netns_of(World::kContainer));
    Life two{fake_, state_, "two"};
    two.annotations = {{"rdma.mode", "asap2"},
                       {"rdma.device", "netdevsim/netdevsim11"},
                       {"rdma.ifname", "rdma7"},
                       {"rdma.ip", "10.9.0.2/24"}};
    const Error done = error_of(two.precreate());
    EXPECT_THAT(done.message(), HasSubstr("no free function of pool sim: 1 attached"));
    EXPECT_EQ(done.fix, "see rdmactl list");
    two.annotations["rdma.device"] = "netdevsim/netdevsim12";
    EXPECT_TRUE(two.precreate());
}

TEST_F(MappedAsap2, OnlyThePoolsFunctionsAreGiven) {
    one_.annotations["rdma.device"] = "netdevsim/netdevsim1";
    EXPECT_THAT(refusal(), HasSubstr("not a device of pool sim"));
    state_.config().policy.emplace();
    state_.config().policy->modes = {"asap2"};
    one_.annotations.erase("rdma.device");
    EXPECT_THAT(refusal(), HasSubstr("policy.devices does not allow"));
    state_.config().policy->devices = {{.device = "netdevsim/netdevsim11", .vfs = {}},
                                       {.device = "netdevsim/netdevsim12", .vfs = {}}};
    EXPECT_THAT(refusal(), HasSubstr("policy.bridges does not allow rdma.bridge='br0'"));
}

}  // namespace
}  // namespace test
