// SPDX-License-Identifier: Apache-2.0
// Networks over another: tenants with equal addresses on one host, and bridges whose tunnels carry
// less than a container's interface sends.
#include <gmock/gmock.h>

#include "tests/unit/hook/asap2_world.h"
#include "tests/unit/hook/containers.h"

namespace test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Tenants : public Containers {
  protected:
    Tenants() : Containers(switchdev_world(Nic::Mlx5)) {}

    // A container at 10.9.0.1.
    Life at(const std::string& id, std::map<std::string, std::string> keys) {
        keys.merge(std::map<std::string, std::string>{{"rdma.ip", "10.9.0.1/24"}});
        return container(id, std::move(keys));
    }

    Life in_vlan(const std::string& id, const std::string& mode, const std::string& vlan) {
        std::map<std::string, std::string> keys{{"rdma.mode", mode}, {"rdma.device", "enp1s0"}};
        if (!vlan.empty())
            keys["rdma.vlan"] = vlan;
        if (mode == "asap2")
            keys["rdma.bridge"] = "br0";
        return at(id, std::move(keys));
    }

    Code code_of_refusal(Life& life) {
        fake_.settle();
        return refusal(life).code;
    }

    // Whoever has 10.9.0.1 with these words keeps it from everybody else with them, until the end.
    void expect_apart(const std::string& mode, const std::string& one, const std::string& other) {
        Life red = in_vlan("red", mode, one);
        Life blue = in_vlan("blue", mode, other);
        ASSERT_TRUE(red.start());
        Life second = in_vlan("second", mode, one);
        EXPECT_EQ(code_of_refusal(second), Code::Busy);
        const auto started = blue.start();
        ASSERT_TRUE(started) << started.error().message();
        ASSERT_TRUE(red.poststop());
        Life third = in_vlan("third", mode, other);
        EXPECT_EQ(code_of_refusal(third), Code::Busy) << "the end of one is not the other's";
        ASSERT_TRUE(blue.poststop());
        expect_nothing_kept();
    }
};

TEST_F(Tenants, OfVlansOfABridgeHaveAddressesOfTheirOwn) {
    expect_apart("asap2", "7", "8");
    expect_apart("asap2", "", "8");
}

TEST_F(Tenants, OfBridgesHaveAddressesOfTheirOwn) {
    netns::Link link;
    link.name = "br1";
    fake_.world.add_link(fake_.world.host, link);
    fake_.world.ovs.bridges["br1"] = fake_.world.ovs.bridges.at("br0");
    fake_.world.ovs.bridges["br1"].name = "br1";
    Life red = in_vlan("red", "asap2", "");
    Life blue = in_vlan("blue", "asap2", "");
    blue.annotations["rdma.bridge"] = "br1";
    ASSERT_TRUE(red.start());
    EXPECT_TRUE(blue.start());
}

// Untagged packets of a trunk are in no VLAN. rdma-hook does not know what it sends in its VLANs.
TEST_F(Tenants, ATrunkIsInNoVlan) {
    Life red = in_vlan("red", "asap2", "");
    Life blue = in_vlan("blue", "asap2", "");
    blue.annotations["rdma.trunk"] = "7,8";
    ASSERT_TRUE(red.start());
    EXPECT_EQ(refusal(blue).code, Code::Busy);
}

class VfTenants : public Tenants {
  protected:
    VfTenants() {
        fake_.world = World::standard(KernelTraits::v7_3());
        fake_.world.add_sriov("enp1s0", "0000:01:00.0", 4);
    }
};

TEST_F(VfTenants, OfVlansOfAPfHaveAddressesOfTheirOwn) {
    expect_apart("vf", "7", "8");
    expect_apart("vf", "", "8");
}

TEST_F(VfTenants, AVlanThatTheAdministratorSetCounts) {
    for (const uint32_t number : {0U, 1U})
        fake_.world.pci.at(fake_.world.vf_address("0000:01:00.0", number)).settings.vlan = {
            .id = static_cast<uint16_t>(7 + number)};
    Life red = in_vlan("red", "vf", "");
    Life blue = in_vlan("blue", "vf", "");
    red.annotations["rdma.device"] = "enp1s0#0";
    blue.annotations["rdma.device"] = "enp1s0#1";
    Life second = in_vlan("second", "vf", "7");
    second.annotations["rdma.device"] = "enp1s0#2";
    ASSERT_TRUE(red.start());
    EXPECT_TRUE(blue.start());
    EXPECT_EQ(refusal(second).code, Code::Busy);
}

// A range is this host's, and its networks may be one network.
TEST_F(Tenants, ARangeIsGivenOutOnce) {
    hook::Pool pool;
    pool.name = "tenants";
    pool.mode = "asap2";
    pool.bridge = "br0";
    pool.ranges = {{*netns::parse_cidr("10.9.0.1/24"), *netns::parse_cidr("10.9.0.9/24")}};
    state_.config().pools = {pool};
    Life red = in_vlan("red", "asap2", "7");
    Life blue = in_vlan("blue", "asap2", "8");
    for (Life* life : {&red, &blue}) {
        life->annotations["rdma.pool"] = "tenants";
        life->annotations["rdma.ip"] = "auto";
        const auto started = life->start();
        ASSERT_TRUE(started) << started.error().message();
    }
    const auto has_address = [&](const Life& life, const char* address) {
        const FakeNetns& ns = fake_.world.namespaces.at(fake_.world.engine_paths.at(life.network));
        return std::ranges::any_of(ns.links, [&](const auto& entry) {
            return std::ranges::find(entry.second.addresses, *netns::parse_cidr(address)) !=
                   entry.second.addresses.end();
        });
    };
    EXPECT_TRUE(has_address(red, "10.9.0.1/24"));
    EXPECT_TRUE(has_address(blue, "10.9.0.2/24"));
}

// A container's eth0, a veth whose other end is on bridge br-red of the host, with a VXLAN.
class OnABridge : public Containers {
  protected:
    OnABridge() {
        World& world = fake_.world;
        bridge_ = world.add_link(world.host, link("br-red", "bridge", 9000));
        tunnel_ = world.add_link(world.host, link("vx-red", "vxlan", 1450));
        world.find_link(world.host, tunnel_)->link.master = bridge_;
        one_.annotations = {{"rdma.mode", "softroce"}, {"rdma.parent", "container"}};
        const NetnsId ns = world.engine_paths.at(one_.network);
        eth0_ = world.add_link(ns, link("eth0", "veth", 9000));
        outer_ = world.add_link(world.host, link("veth0", "veth", 9000));
        world.find_link(ns, eth0_)->link.parent = outer_;
        host_link(outer_).parent = eth0_;
        host_link(outer_).master = bridge_;
    }

    static netns::Link link(const std::string& name, const std::string& kind, uint32_t mtu) {
        netns::Link link;
        link.name = name;
        link.kind = kind;
        link.mac = {{2, 0, 0, 0, 0, static_cast<uint8_t>(name.size() + name.back())}};
        link.mtu = mtu;
        link.up = true;
        return link;
    }

    netns::Link& host_link(uint32_t index) {
        return fake_.world.find_link(fake_.world.host, index)->link;
    }

    void set_mtu(uint32_t mtu) {
        fake_.world.find_link(fake_.world.engine_paths.at(one_.network), eth0_)->link.mtu = mtu;
    }

    bool starts() {
        const bool started = one_.start().has_value();
        EXPECT_TRUE(one_.poststop());
        fake_.settle();
        return started;
    }

    Life one_ = container("one", {});
    uint32_t bridge_ = 0, tunnel_ = 0, eth0_ = 0, outer_ = 0;
};

TEST_F(OnABridge, RoceThatATunnelCannotCarryIsRefused) {
    const base::Error error = refusal(one_);
    EXPECT_EQ(error.code, Code::Refused);
    EXPECT_THAT(error.message(),
                AllOf(HasSubstr("with MTU 9000 RoCE sends packets of 4096 bytes, and port vx-red "
                                "of bridge br-red, with MTU 1450, would drop them"),
                      HasSubstr("podman network create --opt mtu=1450"),
                      HasSubstr("ip link set vx-red mtu 9000")));
}

TEST_F(OnABridge, WhatFitsStarts) {
    for (const uint32_t mtu : {1450U, 1500U, 2127U}) {  // 1024 bytes and headers, all of them
        set_mtu(mtu);
        EXPECT_TRUE(starts()) << mtu;
    }
    set_mtu(2128);
    EXPECT_EQ(refusal(one_).code, Code::Refused) << "2048 bytes and headers";
    host_link(tunnel_).mtu = 2128;
    EXPECT_TRUE(starts());
}

TEST_F(OnABridge, OnlyWhatIsSurelyItsBridgeIsLookedAt) {
    host_link(outer_).parent = eth0_ + 100;  // another link that happens to have the index
    EXPECT_TRUE(starts());
    host_link(outer_).parent = eth0_;
    host_link(outer_).master = 0;
    EXPECT_TRUE(starts());
    host_link(outer_).master = bridge_;
    host_link(bridge_).kind = "openvswitch";
    EXPECT_TRUE(starts());
    host_link(bridge_).kind = "bridge";
    host_link(tunnel_).kind = "veth";  // another container's
    EXPECT_TRUE(starts());
}

// TCP keeps to what its ends agree upon.
TEST_F(OnABridge, SoftIwarpIsNotRoce) {
    one_.annotations["rdma.mode"] = "softiwarp";
    EXPECT_TRUE(starts());
}

TEST_F(OnABridge, AMacvlanOfTheBridgeIsHeldToTheSame) {
    one_.annotations["rdma.parent"] = "br-red";
    EXPECT_THAT(refusal(one_).message(), HasSubstr("set rdma.mtu=1450"));
    one_.annotations["rdma.mtu"] = "1450";
    EXPECT_TRUE(starts());
}

// A VXLAN itself as parent: the interface has its MTU.
TEST_F(OnABridge, AMacvlanOfTheTunnelHasItsMtu) {
    host_link(tunnel_).master = 0;
    one_.annotations["rdma.parent"] = "vx-red";
    ASSERT_TRUE(one_.start());
    const NetnsId ns = fake_.world.engine_paths.at(one_.network);
    const auto& links = fake_.world.namespaces.at(ns).links;
    const auto made = std::ranges::find_if(
        links, [](const auto& entry) { return entry.second.link.name == "rdma0"; });
    ASSERT_NE(made, links.end());
    EXPECT_EQ(made->second.link.mtu, 1450U);
}

}  // namespace
}  // namespace test
