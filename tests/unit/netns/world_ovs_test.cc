// SPDX-License-Identifier: Apache-2.0
// The World's Open vSwitch, as far as no contract can ask about it: the gate, the text, no socket.
#include <cerrno>

#include <gtest/gtest.h>

#include "tests/fakes/fake_host.h"

namespace test {
namespace {

class WorldOvs : public testing::Test {
  protected:
    WorldOvs() {
        fake_.world.ovs.installed = true;
        fake_.world.ovs.bridges["br0"].name = "br0";
        spec_.bridge = "br0";
        spec_.name = "eth0";
        spec_.tag = 7;
        spec_.marks = {{"owner", "us"}};
    }

    base::Result<> add() { return fake_.ovs.add_port(spec_, Deadline::in({})); }

    FakeHost fake_;
    netns::OvsPortSpec spec_;
};

TEST_F(WorldOvs, WhatIsLeftBehindShows) {
    const World start = fake_.world;
    ASSERT_TRUE(add());
    fake_.world.ovs.settings.other_config["hw-offload"] = "true";
    const std::string left = difference(start, fake_.world);
    for (const char* line : {"+ ovs port eth0 of br0 tag 7",
                             "+ ovs port eth0 external_ids owner=us",
                             "+ ovs other_config hw-offload=true"})
        EXPECT_NE(left.find(line), std::string::npos) << left;
    fake_.world.ovs.settings.other_config.clear();
    ASSERT_TRUE(fake_.ovs.remove_ports(spec_.marks, Deadline::in({})));
    EXPECT_EQ(fake_.world, start) << difference(start, fake_.world);
}

TEST_F(WorldOvs, TcAndEswitchesShow) {
    const World start = fake_.world;
    FakeLink& link = *fake_.world.find_link(fake_.world.host, World::kHostLink);
    link.port = "pf0vf1";
    link.tc_feature = {.on = true, .fixed = false};
    link.tc_rules.in_hw = 1;
    FakeEswitch& device = fake_.world.eswitches["pci/0000:01:00.0"];
    device.eswitch.mode = netns::EswitchMode::Switchdev;
    device.ports.push_back({.index = 3, .flavour = {}, .name = "pf0vf1", .netdev = 2});
    const std::string made = difference(start, fake_.world);
    for (const char* line : {"link 2 port pf0vf1",
                             "link 2 tc offload on\n",
                             "link 2 tc rules 0 in hardware 1",
                             "eswitch pci/0000:01:00.0 mode switchdev",
                             "eswitch pci/0000:01:00.0: port 3 pf0vf1"})
        EXPECT_NE(made.find(line), std::string::npos) << made;
}

TEST_F(WorldOvs, ChangesPassTheGate) {
    fake_.gate.fail_call(0, EIO);
    EXPECT_EQ(add().error().sys, EIO);
    EXPECT_TRUE(fake_.world.ovs.ports.empty());
    fake_.gate.restart();
    fake_.gate.lie_call(0, EIO);
    EXPECT_EQ(add().error().sys, EIO);
    EXPECT_TRUE(fake_.world.ovs.ports.contains("eth0"));
    EXPECT_EQ(fake_.gate.calls(), std::vector<std::string>{"add port eth0 to bridge br0"});
}

TEST_F(WorldOvs, WithoutSocketThereIsNothing) {
    fake_.world.ovs.installed = false;
    EXPECT_FALSE(fake_.ovs.present().value());
    EXPECT_EQ(add().error().code, Code::Unavailable);
    EXPECT_EQ(add().error().sys, ENOENT);
    EXPECT_EQ(fake_.ovs.settings(Deadline::in({})).error().sys, ENOENT);
}

}  // namespace
}  // namespace test
