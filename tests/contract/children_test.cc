// SPDX-License-Identifier: Apache-2.0
// The contract of netns/link.h for the other children of a netdev than a macvlan in bridge mode.
#include <algorithm>
#include <cerrno>

#include <gtest/gtest.h>

#include "tests/contract/outside.h"

namespace test {
namespace {

using netns::ChildKind;
using netns::ChildSpec;
using netns::ChildType;
using netns::MacvlanMode;

constexpr uint32_t kChild = 0x40000001;

class ChildrenContract : public ContractTest {
  protected:
    netns::Links& room() { return outside_->host().links; }

    // The `number`th child, with name, MAC and index of its own.
    ChildSpec spec(const ChildType& type, uint8_t number = 0) {
        netns::Mac mac = *netns::parse_mac("02:00:5e:10:00:01");
        mac.bytes[4] = number;
        return {.parent = outside_->parent(),
                .index = kChild + number,
                .name = "rdma" + std::to_string(number),
                .mac = mac,
                .mtu = 1400,
                .type = type};
    }

    base::Result<> create(const ChildSpec& wanted) {
        return room().create_child(outside_->host_ns(), outside_->container_ns(), wanted);
    }

    netns::Link child(uint8_t number = 0) {
        const auto found = room().find(outside_->container_ns(), kChild + number);
        EXPECT_TRUE(found && *found);
        return found ? found.value().value_or(netns::Link{}) : netns::Link{};
    }

    // Returns whether the kernel of this machine has the kind at all.
    bool has(const ChildType& type) {
        const auto done = create(spec(type));
        return done || done.error().code != Code::Unsupported;
    }
};

INSTANTIATE_TEST_SUITE_P(,
                         ChildrenContract,
                         Values(fake(Kernel::V6_12), fake(Kernel::V7_2), kernel()),
                         OutsideNames());

TEST_P(ChildrenContract, AMacvlanOfEachMode) {
    uint8_t number = 0;
    for (const auto mode : {MacvlanMode::Bridge, MacvlanMode::Private, MacvlanMode::Vepa}) {
        const ChildSpec wanted = spec({ChildKind::Macvlan, mode, 0}, number);
        const auto done = create(wanted);
        ASSERT_TRUE(done) << done.error().message();
        EXPECT_EQ(child(number).kind, "macvlan");
        EXPECT_EQ(child(number).mac, wanted.mac);
        ++number;
    }
}

TEST_P(ChildrenContract, AVlanHasItsOwnMac) {
    const ChildType vlan{ChildKind::Vlan, MacvlanMode::Bridge, 7};
    if (!has(vlan))
        GTEST_SKIP() << "this kernel has no 8021q";
    const netns::Link made = child();
    EXPECT_EQ(made.kind, "vlan");
    EXPECT_EQ(made.mac, spec(vlan).mac);
    EXPECT_EQ(made.mtu, 1400U);
    EXPECT_EQ(made.parent, outside_->parent());
    EXPECT_TRUE(made.up);
    EXPECT_TRUE(room().remove(outside_->container_ns(), kChild));
    EXPECT_FALSE(room().find(outside_->container_ns(), kChild).value());
}

TEST_P(ChildrenContract, AVlanOfAParentHasOneOwner) {
    const ChildType vlan{ChildKind::Vlan, MacvlanMode::Bridge, 7};
    if (!has(vlan))
        GTEST_SKIP() << "this kernel has no 8021q";
    const Error again = error_of(create(spec(vlan, 1)));
    EXPECT_EQ(again.code, Code::Busy) << again.message();
    EXPECT_EQ(again.sys, EEXIST);
    EXPECT_TRUE(create(spec({ChildKind::Vlan, MacvlanMode::Bridge, 8}, 1)));
    EXPECT_TRUE(create(spec({}, 2))) << "a macvlan goes beside it";
}

TEST_P(ChildrenContract, AnIpvlanHasItsParentsMac) {
    const ChildType ipvlan{ChildKind::Ipvlan, MacvlanMode::Bridge, 0};
    if (!has(ipvlan))
        GTEST_SKIP() << "this kernel has no ipvlan";
    const auto parent = room().find(outside_->host_ns(), outside_->parent());
    ASSERT_TRUE(parent && *parent);
    EXPECT_EQ(child().kind, "ipvlan");
    EXPECT_EQ(child().mac, (*parent)->mac);
    EXPECT_TRUE(child().up);
    EXPECT_TRUE(create(spec(ipvlan, 1))) << "a second one goes beside it";
}

TEST_P(ChildrenContract, MacvlanAndIpvlanDoNotGoTogether) {
    const ChildType ipvlan{ChildKind::Ipvlan, MacvlanMode::Bridge, 0};
    if (!has(ipvlan))
        GTEST_SKIP() << "this kernel has no ipvlan";
    const Error refused = error_of(create(spec({}, 1)));
    EXPECT_EQ(refused.code, Code::Refused) << refused.message();
    EXPECT_EQ(refused.sys, EBUSY);
}

TEST_P(ChildrenContract, WhatHasNoPorts) {
    for (const uint32_t master : {0U, 4711U, outside_->parent()}) {
        const auto ports = room().ports_of(outside_->host_ns(), master);
        ASSERT_TRUE(ports) << ports.error().message();
        EXPECT_TRUE(ports->empty()) << master;
    }
}

TEST_P(ChildrenContract, PortsAreListed) {
    const uint32_t master = outside_->enslave_parent();
    const auto ports = room().ports_of(outside_->host_ns(), master);
    ASSERT_TRUE(ports) << ports.error().message();
    EXPECT_EQ(*ports, std::vector<uint32_t>{outside_->parent()});
}

}  // namespace
}  // namespace test
