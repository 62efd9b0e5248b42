// SPDX-License-Identifier: Apache-2.0
// The contract of netns/devlink.h and netns/tc_offload.h: the World's e-switch, and that of a
// guest's netdevsim (tests/lab/scenarios/contract-eswitch.sh).
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "tests/contract/outside.h"

namespace test {
namespace {

using netns::DevlinkPort;
using netns::Eswitch;
using netns::EswitchMode;
using netns::PortFlavour;
using netns::TcFeature;
using netns::TcRules;

constexpr char kHandle[] = "netdevsim/netdevsim7";
constexpr char kHandleDevice[] = "netdevsim7";
constexpr char kMissingHandle[] = "netdevsim/netdevsim77";
constexpr uint32_t kMissingLink = 99999;
constexpr uint32_t kLo = 1;
constexpr uint32_t kPings = 3;

class Eswitches {
  public:
    virtual ~Eswitches() = default;

    virtual Outside& outside() = 0;
    // Gives the link a rule of each kind, and packets that come from the other representor.
    // Returns the counts that follow.
    virtual TcRules rule(uint32_t link, uint32_t other) = 0;
};

class FakeEswitches : public Eswitches {
  public:
    FakeEswitches() {
        netns::Link uplink;
        uplink.name = "eni7np1";
        uplink.mac = *netns::parse_mac("02:00:5e:10:00:01");
        uplink.mtu = 1500;
        uplink.device = kHandleDevice;
        World& world = outside_.world();
        world.pci[kHandle].driver = "netdevsim";
        world.add_eswitch(kHandle, world.add_link(world.host, uplink), 2);
    }

    Outside& outside() override { return outside_; }

    // Those of four rules: a matchall that polices, and flower rules of which one is skip_hw, one
    // has matched packets, and one is skip_sw.
    TcRules rule(uint32_t link, uint32_t /*other*/) override {
        const TcRules rules{
            .rules = 3, .in_hw = 2, .skip_sw = 1, .packets = kPings, .hw_packets = 0};
        outside_.world().find_link(outside_.world().host, link)->tc_rules = rules;
        return rules;
    }

  private:
    FakeOutside outside_{Kernel::V7_3};
};

class KernelEswitches : public Eswitches {
  public:
    KernelEswitches() {
        write("new_device", "7 1");
        write("devices/netdevsim7/sriov_numvfs", "2");
    }

    KernelEswitches(const KernelEswitches&) = delete;
    KernelEswitches& operator=(const KernelEswitches&) = delete;
    KernelEswitches(KernelEswitches&&) = delete;
    KernelEswitches& operator=(KernelEswitches&&) = delete;

    ~KernelEswitches() override { write("del_device", "7"); }

    static std::string missing() {
        if (std::getenv("CONTRACT_ON_HOST") == nullptr || !std::filesystem::exists(kBus))
            return "a machine of the tests' own with netdevsim is wanted: "
                   "tests/lab/scenarios/contract-eswitch.sh";
        return KernelOutside::missing();
    }

    Outside& outside() override { return outside_; }

    // The packets come by a wire of netdevsim's.
    TcRules rule(uint32_t link, uint32_t other) override {
        const std::string at = name_of(link);
        const std::string from = name_of(other);
        const std::string add = "tc filter add dev " + at + " ingress protocol ip prio ";
        const std::string flower = " flower dst_mac 02:00:5e:10:00:0";
        EXPECT_TRUE(run("tc qdisc add dev " + at + " ingress"));
        EXPECT_TRUE(
            run(add + "1 matchall action police rate 1gbit burst 1m conform-exceed drop/continue"));
        EXPECT_TRUE(run(add + "2" + flower + "2 skip_hw action drop"));
        EXPECT_TRUE(run(add + "3" + flower + "3 action drop"));
        // Before 7.2 netdevsim takes none into its hardware.
        const bool takes = run(add + "4" + flower + "4 skip_sw action drop");
        EXPECT_TRUE(run("exec 9</proc/self/ns/net; echo 9:" + std::to_string(link) +
                        " 9:" + std::to_string(other) + " >" + std::string(kBus) + "/link_device"));
        EXPECT_TRUE(run("ip link set " + at + " up; ip link set " + from + " up"));
        EXPECT_TRUE(run("ip addr add 198.51.100.1/24 dev " + from +
                        " && ip neigh add 198.51.100.2 lladdr 02:00:5e:10:00:03 dev " + from));
        EXPECT_FALSE(
            run("ping -c " + std::to_string(kPings) + " -i 0.2 -W 1 198.51.100.2 >/dev/null"));
        const uint32_t in_hw = takes ? 1 : 0;
        return {.rules = 2 + in_hw,
                .in_hw = 2 * in_hw,
                .skip_sw = in_hw,
                .packets = kPings,
                .hw_packets = 0};
    }

  private:
    static constexpr char kBus[] = "/sys/bus/netdevsim";

    static void write(const std::string& file, const std::string& text) {
        std::ofstream out(std::string(kBus) + "/" + file);
        out << text << std::flush;
        EXPECT_TRUE(out) << file;
    }

    static bool run(const std::string& command) { return std::system(command.c_str()) == 0; }

    // As udev has named it.
    std::string name_of(uint32_t link) {
        EXPECT_TRUE(run("udevadm settle"));
        return outside_.host().links.find(outside_.host_ns(), link).value()->name;
    }

    KernelOutside outside_;
};

class EswitchContract : public OutsideTest<Eswitches> {
  protected:
    netns::Devlink& devlink() { return outside_->outside().host().devlink; }

    netns::TcOffload& tc() { return outside_->outside().host().tc; }

    Netns host_ns() { return outside_->outside().host_ns(); }

    std::optional<Eswitch> eswitch() { return devlink().eswitch(host_ns(), kHandle).value(); }

    std::vector<DevlinkPort> ports() { return devlink().ports(host_ns(), kHandle).value(); }

    void switch_to(EswitchMode mode) {
        const auto done = devlink().set_mode(host_ns(), kHandle, mode);
        ASSERT_TRUE(done) << done.error().message();
    }

    // The representor of VF `number`, an index.
    uint32_t representor(uint32_t number) {
        const std::string name = "pf0vf" + std::to_string(number);
        for (const auto& port : ports()) {
            if (port.name == name)
                return port.netdev;
        }
        return 0;
    }

    std::optional<netns::Link> link(uint32_t index) {
        return outside_->outside().host().links.find(host_ns(), index).value();
    }
};

INSTANTIATE_TEST_SUITE_P(
    ,
    EswitchContract,
    Values(OutsideFactory<Eswitches>{"Fake", [] { return std::make_unique<FakeEswitches>(); }},
           OutsideFactory<Eswitches>{"KernelNetdevsim",
                                     [] { return std::make_unique<KernelEswitches>(); },
                                     KernelEswitches::missing}),
    OutsideNames());

TEST_P(EswitchContract, BeginsInLegacy) {
    EXPECT_EQ(eswitch(), Eswitch{});
    const auto all = ports();
    ASSERT_EQ(all.size(), 1U) << "no VF's";
    EXPECT_EQ(all[0].flavour, PortFlavour::Physical);
    EXPECT_EQ(all[0].name.front(), 'p');
    const auto uplink = link(all[0].netdev);
    ASSERT_TRUE(uplink);
    EXPECT_EQ(uplink->device, kHandleDevice);
}

TEST_P(EswitchContract, RepresentorsComeAndGoWithTheMode) {
    const auto before = ports();
    for (int twice = 0; twice < 2; ++twice)
        switch_to(EswitchMode::Switchdev);  // the second is no error
    const Eswitch switchdev{.mode = EswitchMode::Switchdev, .inline_mode = {}};
    EXPECT_EQ(eswitch(), switchdev);
    const auto all = ports();
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0], before[0]) << "the uplink stays";
    for (uint32_t number = 0; number < 2; ++number) {
        const DevlinkPort& port = all[1 + number];
        EXPECT_EQ(port.flavour, PortFlavour::PciVf);
        EXPECT_EQ(port.name, "pf0vf" + std::to_string(number));
        EXPECT_GT(port.index, all[number].index);
        const auto netdev = link(port.netdev);
        ASSERT_TRUE(netdev);
        EXPECT_EQ(netdev->device, kHandleDevice);
        EXPECT_EQ(netdev->mtu, 1500U);
        EXPECT_FALSE(netdev->up);
        EXPECT_FALSE(netdev->mac.is_zero());
    }
    EXPECT_NE(link(all[1].netdev)->mac, link(all[2].netdev)->mac);
    for (int twice = 0; twice < 2; ++twice)
        switch_to(EswitchMode::Legacy);
    EXPECT_EQ(eswitch(), Eswitch{});
    EXPECT_EQ(ports(), before);
    EXPECT_FALSE(link(all[1].netdev));
    EXPECT_FALSE(link(all[2].netdev));
}

// For devices whose ports devlink does not have, as it has netdevsim's.
TEST_P(EswitchContract, NetdevsNameTheirPorts) {
    netns::Sriov& sriov = outside_->outside().host().sriov;
    const auto expect_uplink = [&] {
        const auto netdevs = sriov.find(kHandle).value().value().netdevs;
        ASSERT_EQ(netdevs.size(), 1U);
        EXPECT_EQ(netdevs[0].index, ports()[0].netdev);
        EXPECT_EQ(netdevs[0].port_name.front(), 'p');
    };
    expect_uplink();
    EXPECT_TRUE(sriov.representors(kHandle).value().empty());
    switch_to(EswitchMode::Switchdev);
    expect_uplink();
    std::map<std::string, uint32_t> named;
    for (const auto& netdev : sriov.representors(kHandle).value())
        named[netdev.port_name] = netdev.index;
    EXPECT_EQ(
        named,
        (std::map<std::string, uint32_t>{{"pf0vf0", representor(0)}, {"pf0vf1", representor(1)}}));
    EXPECT_TRUE(sriov.representors(kMissingHandle).value().empty());
}

TEST_P(EswitchContract, WhatIsNotThereIsNothing) {
    for (const char* device : {kMissingHandle, "pci/0000:77:00.0", "nobus/nodevice", "nobus", ""}) {
        EXPECT_FALSE(devlink().eswitch(host_ns(), device).value()) << device;
        EXPECT_TRUE(devlink().ports(host_ns(), device).value().empty()) << device;
        for (const EswitchMode mode : {EswitchMode::Legacy, EswitchMode::Switchdev}) {
            const auto done = devlink().set_mode(host_ns(), device, mode);
            ASSERT_FALSE(done) << device;
            EXPECT_EQ(done.error().code, Code::Unavailable) << done.error().message();
            EXPECT_EQ(done.error().sys, ENODEV) << device;
        }
        const auto inlined = devlink().set_inline_mode(host_ns(), device, netns::InlineMode::Link);
        ASSERT_FALSE(inlined) << device;
        EXPECT_EQ(inlined.error().code, Code::Unavailable) << inlined.error().message();
    }
}

TEST_P(EswitchContract, TheDeviceIsTheHosts) {
    const Netns ns = outside_->outside().container_ns();
    EXPECT_FALSE(devlink().eswitch(ns, kHandle).value());
    EXPECT_TRUE(devlink().ports(ns, kHandle).value().empty());
    const Error done = error_of(devlink().set_mode(ns, kHandle, EswitchMode::Switchdev));
    EXPECT_EQ(done.code, Code::Unavailable) << done.message();
}

TEST_P(EswitchContract, AnInlineModeThatTheDriverDoesNotHave) {
    const Error done =
        error_of(devlink().set_inline_mode(host_ns(), kHandle, netns::InlineMode::Transport));
    EXPECT_EQ(done.code, Code::Unsupported) << done.message();
    EXPECT_EQ(done.sys, EOPNOTSUPP);
}

TEST_P(EswitchContract, TcOffloadIsTurnedOnAndOff) {
    switch_to(EswitchMode::Switchdev);
    const uint32_t uplink = ports()[0].netdev;
    for (const uint32_t link : {uplink, representor(0)}) {
        for (const bool on : {true, true, false, false, true}) {
            const auto done = tc().set_feature(host_ns(), link, on);
            ASSERT_TRUE(done) << done.error().message();
            const TcFeature expected{.on = on, .fixed = false};
            EXPECT_EQ(tc().feature(host_ns(), link).value(), expected);
        }
    }
}

TEST_P(EswitchContract, TcOffloadThatIsFixed) {
    for (const Netns& ns : {host_ns(), outside_->outside().container_ns()}) {
        const TcFeature fixed{.on = false, .fixed = true};
        EXPECT_EQ(tc().feature(ns, kLo).value(), fixed);
        const Error done = error_of(tc().set_feature(ns, kLo, true));
        EXPECT_EQ(done.code, Code::Unsupported) << done.message();
        EXPECT_EQ(done.sys, EOPNOTSUPP);
        EXPECT_TRUE(tc().set_feature(ns, kLo, false)) << "it is so already";
        EXPECT_EQ(tc().feature(ns, kLo).value(), fixed);
    }
}

TEST_P(EswitchContract, TcOffloadOfNoLink) {
    const Error feature = error_of(tc().feature(host_ns(), kMissingLink));
    EXPECT_EQ(feature.code, Code::Unavailable) << feature.message();
    EXPECT_EQ(feature.sys, ENODEV);
    const Error done = error_of(tc().set_feature(host_ns(), kMissingLink, true));
    EXPECT_EQ(done.code, Code::Unavailable) << done.message();
    EXPECT_EQ(done.sys, ENODEV);
}

TEST_P(EswitchContract, RulesOfAnIngress) {
    switch_to(EswitchMode::Switchdev);
    const uint32_t link = representor(0);
    for (const uint32_t without : {link, kLo, kMissingLink})
        EXPECT_EQ(tc().rules(host_ns(), without).value(), TcRules{}) << without;
    ASSERT_TRUE(tc().set_feature(host_ns(), link, true));
    const TcRules expected = outside_->rule(link, representor(1));
    const TcRules rules = tc().rules(host_ns(), link).value();
    EXPECT_EQ(rules.rules, expected.rules);
    EXPECT_EQ(rules.in_hw, expected.in_hw);
    EXPECT_EQ(rules.skip_sw, expected.skip_sw);
    EXPECT_EQ(rules.packets, expected.packets);
    EXPECT_EQ(rules.hw_packets, expected.hw_packets);
    EXPECT_EQ(tc().rules(host_ns(), representor(1)).value(), TcRules{});
}

}  // namespace
}  // namespace test
