// SPDX-License-Identifier: Apache-2.0
// E-switches of the World as no test double has them: a PCI function's, as mlx5.
#include <cerrno>

#include <gtest/gtest.h>

#include "tests/fakes/fake_host.h"

namespace test {
namespace {

using netns::DevlinkPort;
using netns::EswitchMode;
using netns::InlineMode;
using netns::PortFlavour;

constexpr char kCard[] = "0000:3b:00.0";
constexpr char kCardHandle[] = "pci/0000:3b:00.0";

World world_with_card() {
    World world = World::standard();
    world.add_sriov("enp59s0", kCard, 2, Nic::Mlx5);
    world.add_eswitch(kCardHandle, world.netdev_of(kCard)->second, 0);
    return world;
}

class FakedEswitch : public testing::Test {
  protected:
    Netns host_ns() { return fake_.world.handle(fake_.world.host); }

    Result<> switch_to(EswitchMode mode) {
        return fake_.devlink.set_mode(host_ns(), kCardHandle, mode);
    }

    std::vector<DevlinkPort> ports() { return fake_.devlink.ports(host_ns(), kCardHandle).value(); }

    FakeHost fake_{world_with_card()};
    const World start_ = fake_.world;
};

TEST_F(FakedEswitch, PortsAreThoseOfThePfsVfs) {
    EXPECT_EQ(ports().size(), 1U);
    ASSERT_TRUE(switch_to(EswitchMode::Switchdev));
    ASSERT_EQ(ports().size(), 3U);
    const DevlinkPort port = ports()[2];
    EXPECT_EQ(port.name, "pf0vf1");
    EXPECT_EQ(port.flavour, PortFlavour::PciVf);
    EXPECT_EQ(port.index, 2U);
    EXPECT_EQ(port.netdev, fake_.world.representor(kCardHandle, "pf0vf1"));
    const FakeLink& link = *fake_.world.find_link(fake_.world.host, port.netdev);
    EXPECT_EQ(link.link.device, kCard);
    EXPECT_EQ(link.link.mtu, 1500U);
    EXPECT_FALSE(link.link.up);
    EXPECT_TRUE(link.link.name.starts_with("eth"));
    EXPECT_EQ(link.tc_feature, (netns::TcFeature{.on = true, .fixed = false}));
    EXPECT_NE(difference(start_, fake_.world), "");
    ASSERT_TRUE(switch_to(EswitchMode::Legacy));
    EXPECT_EQ(fake_.world, start_) << difference(start_, fake_.world);
}

TEST_F(FakedEswitch, RepresentorsAreNoNetdevsOfTheFunction) {
    const auto before = fake_.sriov.find(kCard).value();
    const auto netdev = fake_.world.netdev_of(kCard);
    ASSERT_TRUE(switch_to(EswitchMode::Switchdev));
    EXPECT_EQ(fake_.sriov.find(kCard).value(), before);
    EXPECT_EQ(fake_.world.netdev_of(kCard), netdev);
    EXPECT_NE(fake_.world.representor(kCardHandle, "pf0vf0"), 0U);
    EXPECT_EQ(fake_.world.representor(kCardHandle, "p0"), 0U);
    EXPECT_EQ(fake_.world.representor("pci/0000:3b:00.1", "pf0vf0"), 0U);
}

TEST_F(FakedEswitch, VfsComeAndGoWithTheirPorts) {
    ASSERT_TRUE(switch_to(EswitchMode::Switchdev));
    const World two = fake_.world;
    fake_.world.set_num_vfs(kCard, 0);
    EXPECT_EQ(ports().size(), 1U);
    EXPECT_EQ(fake_.world.representor(kCardHandle, "pf0vf0"), 0U);
    fake_.world.set_num_vfs(kCard, 3);
    EXPECT_EQ(ports().size(), 4U);
    EXPECT_NE(fake_.world.representor(kCardHandle, "pf0vf2"), 0U);
}

TEST_F(FakedEswitch, ABusyOneRefusesAnotherMode) {
    fake_.world.eswitches[kCardHandle].busy = true;
    const auto busy = switch_to(EswitchMode::Switchdev);
    ASSERT_FALSE(busy);
    EXPECT_EQ(busy.error().code, Code::Busy);
    EXPECT_EQ(busy.error().sys, EBUSY);
    EXPECT_TRUE(switch_to(EswitchMode::Legacy)) << "it is so already";
}

TEST_F(FakedEswitch, AnInlineModeIsKept) {
    fake_.world.eswitches[kCardHandle].eswitch.inline_mode = InlineMode::None;
    ASSERT_TRUE(fake_.devlink.set_inline_mode(host_ns(), kCardHandle, InlineMode::Transport));
    EXPECT_EQ(fake_.devlink.eswitch(host_ns(), kCardHandle).value()->inline_mode,
              InlineMode::Transport);
}

TEST_F(FakedEswitch, ChangesPassTheGate) {
    fake_.gate.fail_from(0, EIO);
    EXPECT_FALSE(switch_to(EswitchMode::Switchdev));
    EXPECT_FALSE(fake_.devlink.set_inline_mode(host_ns(), kCardHandle, InlineMode::None));
    EXPECT_FALSE(fake_.tc.set_feature(host_ns(), start_.netdev_of(kCard)->second, true));
    EXPECT_EQ(fake_.gate.mutating_calls(), 3);
    EXPECT_EQ(fake_.world, start_) << difference(start_, fake_.world);
}

}  // namespace
}  // namespace test
