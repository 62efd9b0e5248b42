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

template <class Outside>
class ChildrenContract : public ContractTest<Outside> {
  protected:
    netns::Links& room() { return outside_.host().links; }

    // The `number`th child, with name, MAC and index of its own.
    ChildSpec spec(const ChildType& type, uint8_t number = 0) {
        netns::Mac mac = *netns::parse_mac("02:00:5e:10:00:01");
        mac.bytes[4] = number;
        return {.parent = outside_.parent(),
                .index = kChild + number,
                .name = "rdma" + std::to_string(number),
                .mac = mac,
                .mtu = 1400,
                .type = type};
    }

    base::Result<> create(const ChildSpec& wanted) {
        return room().create_child(outside_.host_ns(), outside_.container_ns(), wanted);
    }

    netns::Link child(uint8_t number = 0) {
        const auto found = room().find(outside_.container_ns(), kChild + number);
        EXPECT_TRUE(found && *found);
        return found ? found.value().value_or(netns::Link{}) : netns::Link{};
    }

    // Returns whether the kernel of this machine has the kind at all.
    bool has(const ChildType& type) {
        const auto done = create(spec(type));
        return done || done.error().code != Code::Unsupported;
    }

    Outside outside_;
};

using ChildrenOutsides =
    testing::Types<FakeOutside<Kernel::V6_12>, FakeOutside<Kernel::V7_2>, KernelOutside>;
TYPED_TEST_SUITE(ChildrenContract, ChildrenOutsides, OutsideNames);

TYPED_TEST(ChildrenContract, AMacvlanOfEachMode) {
    uint8_t number = 0;
    for (const auto mode : {MacvlanMode::Bridge, MacvlanMode::Private, MacvlanMode::Vepa}) {
        const ChildSpec wanted = this->spec({ChildKind::Macvlan, mode, 0}, number);
        const auto done = this->create(wanted);
        ASSERT_TRUE(done) << done.error().message();
        EXPECT_EQ(this->child(number).kind, "macvlan");
        EXPECT_EQ(this->child(number).mac, wanted.mac);
        ++number;
    }
}

TYPED_TEST(ChildrenContract, AVlanHasItsOwnMac) {
    const ChildType vlan{ChildKind::Vlan, MacvlanMode::Bridge, 7};
    if (!this->has(vlan))
        GTEST_SKIP() << "this kernel has no 8021q";
    const netns::Link made = this->child();
    EXPECT_EQ(made.kind, "vlan");
    EXPECT_EQ(made.mac, this->spec(vlan).mac);
    EXPECT_EQ(made.mtu, 1400U);
    EXPECT_EQ(made.parent, this->outside_.parent());
    EXPECT_TRUE(made.up);
    EXPECT_TRUE(this->room().remove(this->outside_.container_ns(), kChild));
    EXPECT_FALSE(this->room().find(this->outside_.container_ns(), kChild).value());
}

TYPED_TEST(ChildrenContract, AVlanOfAParentHasOneOwner) {
    const ChildType vlan{ChildKind::Vlan, MacvlanMode::Bridge, 7};
    if (!this->has(vlan))
        GTEST_SKIP() << "this kernel has no 8021q";
    const Error again = error_of(this->create(this->spec(vlan, 1)));
    EXPECT_EQ(again.code, Code::Busy) << again.message();
    EXPECT_EQ(again.sys, EEXIST);
    EXPECT_TRUE(this->create(this->spec({ChildKind::Vlan, MacvlanMode::Bridge, 8}, 1)));
    EXPECT_TRUE(this->create(this->spec({}, 2))) << "a macvlan goes beside it";
}

TYPED_TEST(ChildrenContract, AnIpvlanHasItsParentsMac) {
    const ChildType ipvlan{ChildKind::Ipvlan, MacvlanMode::Bridge, 0};
    if (!this->has(ipvlan))
        GTEST_SKIP() << "this kernel has no ipvlan";
    const auto parent = this->room().find(this->outside_.host_ns(), this->outside_.parent());
    ASSERT_TRUE(parent && *parent);
    EXPECT_EQ(this->child().kind, "ipvlan");
    EXPECT_EQ(this->child().mac, (*parent)->mac);
    EXPECT_TRUE(this->child().up);
    EXPECT_TRUE(this->create(this->spec(ipvlan, 1))) << "a second one goes beside it";
}

TYPED_TEST(ChildrenContract, MacvlanAndIpvlanDoNotGoTogether) {
    const ChildType ipvlan{ChildKind::Ipvlan, MacvlanMode::Bridge, 0};
    if (!this->has(ipvlan))
        GTEST_SKIP() << "this kernel has no ipvlan";
    const Error refused = error_of(this->create(this->spec({}, 1)));
    EXPECT_EQ(refused.code, Code::Refused) << refused.message();
    EXPECT_EQ(refused.sys, EBUSY);
}

TYPED_TEST(ChildrenContract, WhatHasNoPorts) {
    for (const uint32_t master : {0U, 4711U, this->outside_.parent()}) {
        const auto ports = this->room().ports_of(this->outside_.host_ns(), master);
        ASSERT_TRUE(ports) << ports.error().message();
        EXPECT_TRUE(ports->empty()) << master;
    }
}

TYPED_TEST(ChildrenContract, PortsAreListed) {
    const uint32_t master = this->outside_.enslave_parent();
    const auto ports = this->room().ports_of(this->outside_.host_ns(), master);
    ASSERT_TRUE(ports) << ports.error().message();
    EXPECT_EQ(*ports, std::vector<uint32_t>{this->outside_.parent()});
}

}  // namespace
}  // namespace test
