// SPDX-License-Identifier: Apache-2.0
// The contract of netns/link.h.
#include <algorithm>
#include <cerrno>

#include <gtest/gtest.h>

#include "tests/contract/outside.h"

namespace test {
namespace {

using netns::ChildSpec;
using netns::Link;

// High enough to be free in every namespace: kernels before 6.15 look in the host's too.
constexpr uint32_t kLinkIndex = 0x40000001;

template <class Outside>
class LinksContract : public ContractTest<Outside> {
  protected:
    netns::Links& room() { return outside_.host().links; }

    ChildSpec spec() {
        return {.parent = outside_.parent(),
                .index = kLinkIndex,
                .name = "rdma0",
                .mac = *netns::parse_mac("02:00:5e:10:00:01"),
                .mtu = 1400};
    }

    base::Result<> create(const ChildSpec& wanted) {
        return room().create_child(outside_.host_ns(), outside_.container_ns(), wanted);
    }

    // The error of a macvlan that must not come to be.
    Error refusal(const ChildSpec& wanted) { return error_of(create(wanted)); }

    // The addresses that somebody gave: without the kernel's own link-local ones.
    std::vector<std::string> given_addresses(uint32_t index) {
        std::vector<std::string> given;
        const auto all = room().addresses(outside_.container_ns(), index);
        for (const auto& address : all.value()) {
            if (!netns::is_link_local(address))
                given.push_back(netns::to_string(address));
        }
        return given;
    }

    Outside outside_;
};

using LinksOutsides =
    testing::Types<FakeOutside<Kernel::V6_12>, FakeOutside<Kernel::V7_2>, KernelOutside>;
TYPED_TEST_SUITE(LinksContract, LinksOutsides, OutsideNames);

TYPED_TEST(LinksContract, ALinkHasNoReceiveRulesThatNobodyGaveIt) {
    ASSERT_TRUE(this->create(this->spec()));
    EXPECT_EQ(this->room().receive_rules(this->outside_.container_ns(), "rdma0").value(), 0U);
    const Error none =
        error_of(this->room().receive_rules(this->outside_.container_ns(), "nosuch0"));
    EXPECT_EQ(none.code, Code::Unavailable);
    EXPECT_EQ(none.sys, ENODEV);
}

TYPED_TEST(LinksContract, FindsLinksByIndexAndName) {
    const auto lo = this->room().find(this->outside_.container_ns(), 1);
    ASSERT_TRUE(lo && *lo);
    EXPECT_EQ((*lo)->name, "lo");
    EXPECT_TRUE((*lo)->loopback);
    EXPECT_FALSE((*lo)->ethernet);
    EXPECT_EQ((*lo)->kind, "");
    EXPECT_EQ((*lo)->parent, 0U);
    const auto named = this->room().find_by_name(this->outside_.container_ns(), "lo");
    ASSERT_TRUE(named && *named);
    EXPECT_EQ(**named, **lo);
}

TYPED_TEST(LinksContract, WhatIsNotThereIsNothing) {
    const Netns ns = this->outside_.container_ns();
    for (const uint32_t index : {0U, 4711U, 0x7fffffffU, 0xffffffffU})
        EXPECT_FALSE(this->room().find(ns, index).value()) << index;
    for (const std::string name : {"", "rdma0", "a name longer than any link's", "x/y"})
        EXPECT_FALSE(this->room().find_by_name(ns, name).value()) << name;
}

TYPED_TEST(LinksContract, ANameIsFreeOrStillTakenAtTheDeadline) {
    const Netns ns = this->outside_.container_ns();
    EXPECT_TRUE(this->room().wait_until_free(ns, "rdma0", base::Deadline::now()).value());
    const auto brief = base::Deadline::in(std::chrono::milliseconds(20));
    EXPECT_FALSE(this->room().wait_until_free(ns, "lo", brief).value());
}

TYPED_TEST(LinksContract, OneRequestMakesAMacvlanWithAllItIsGiven) {
    const auto done = this->create(this->spec());
    ASSERT_TRUE(done) << done.error().message();
    const auto found = this->room().find(this->outside_.container_ns(), kLinkIndex);
    ASSERT_TRUE(found && *found);
    Link expected;
    expected.index = kLinkIndex;
    expected.name = "rdma0";
    expected.kind = "macvlan";
    expected.mac = this->spec().mac;
    expected.mtu = 1400;
    expected.up = true;
    expected.parent = this->outside_.parent();
    EXPECT_EQ(**found, expected);
    EXPECT_EQ(this->room().list(this->outside_.container_ns()).value().size(), 2U);
    EXPECT_FALSE(this->room().find(this->outside_.host_ns(), kLinkIndex).value());
}

TYPED_TEST(LinksContract, StrictArpIsOfTheLinkAlone) {
    const Netns ns = this->outside_.container_ns();
    ASSERT_TRUE(this->create(this->spec()));
    for (int twice = 0; twice < 2; ++twice) {
        const auto done = this->room().set_strict_arp(ns, kLinkIndex);
        ASSERT_TRUE(done) << done.error().message();
        EXPECT_TRUE(this->room().find(ns, kLinkIndex).value()->strict_arp);
    }
    EXPECT_FALSE(this->room().find(ns, 1).value()->strict_arp);
    const Error missing = error_of(this->room().set_strict_arp(ns, 4711));
    EXPECT_EQ(missing.code, Code::Unavailable);
    EXPECT_EQ(missing.sys, ENODEV);
}

TYPED_TEST(LinksContract, ALinkThatComesUpHasItsLinkLocalAddress) {
    ASSERT_TRUE(this->create(this->spec()));
    const auto all = this->room().addresses(this->outside_.container_ns(), kLinkIndex);
    ASSERT_TRUE(all);
    EXPECT_NE(std::find(all->begin(), all->end(), link_local_address(this->spec().mac)),
              all->end());
}

TYPED_TEST(LinksContract, ATakenNameIsBusy) {
    ChildSpec spec = this->spec();
    spec.name = "lo";
    const auto error = this->refusal(spec);
    EXPECT_EQ(error.code, Code::Busy) << error.message();
    EXPECT_EQ(error.sys, EEXIST);
}

TYPED_TEST(LinksContract, ATakenIndexIsBusy) {
    ASSERT_TRUE(this->create(this->spec()));
    ChildSpec spec = this->spec();
    spec.name = "rdma1";
    spec.mac = *netns::parse_mac("02:00:5e:10:00:02");
    const auto error = this->refusal(spec);
    EXPECT_EQ(error.code, Code::Busy) << error.message();
    EXPECT_EQ(error.sys, this->outside_.traits().lookup_in_target ? EEXIST : EBUSY);
}

TYPED_TEST(LinksContract, ATakenMacIsBusy) {
    ASSERT_TRUE(this->create(this->spec()));
    ChildSpec spec = this->spec();
    spec.name = "rdma1";
    spec.index = kLinkIndex + 1;
    const auto error = this->refusal(spec);
    EXPECT_EQ(error.code, Code::Busy) << error.message();
    EXPECT_EQ(error.sys, EADDRINUSE);
    EXPECT_FALSE(this->room().find(this->outside_.container_ns(), kLinkIndex + 1).value());
}

TYPED_TEST(LinksContract, NamesOfTheHostAreFree) {
    ChildSpec spec = this->spec();
    const auto parent = this->room().find(this->outside_.host_ns(), this->outside_.parent());
    ASSERT_TRUE(parent && *parent);
    spec.name = (*parent)->name;
    const auto done = this->create(spec);
    EXPECT_TRUE(done) << done.error().message();
}

TYPED_TEST(LinksContract, IndexesOfTheHostAreFreeSince6_15) {
    ChildSpec spec = this->spec();
    spec.index = this->outside_.parent();
    if (this->outside_.traits().lookup_in_target) {
        EXPECT_TRUE(this->create(spec));
        return;
    }
    const auto error = this->refusal(spec);
    EXPECT_EQ(error.code, Code::Busy) << error.message();
    EXPECT_EQ(error.sys, EEXIST);
}

TYPED_TEST(LinksContract, AMulticastMacIsBadInput) {
    ChildSpec spec = this->spec();
    spec.mac = *netns::parse_mac("03:00:5e:10:00:01");
    const auto error = this->refusal(spec);
    EXPECT_EQ(error.code, Code::BadInput) << error.message();
    EXPECT_EQ(error.sys, EADDRNOTAVAIL);
}

TYPED_TEST(LinksContract, AnMtuAboveTheParentsIsBadInput) {
    ChildSpec spec = this->spec();
    spec.mtu = 1501;
    const auto error = this->refusal(spec);
    EXPECT_EQ(error.code, Code::BadInput) << error.message();
    EXPECT_EQ(error.sys, EINVAL);
    EXPECT_FALSE(this->room().find(this->outside_.container_ns(), kLinkIndex).value());
}

TYPED_TEST(LinksContract, AnMtuThatNoLinkHasIsBadInput) {
    for (const uint32_t mtu : {0U, 67U, 65536U, 0xffffffffU}) {
        ChildSpec spec = this->spec();
        spec.mtu = mtu;
        const auto error = this->refusal(spec);
        EXPECT_EQ(error.code, Code::BadInput) << mtu << ": " << error.message();
        EXPECT_EQ(error.sys, EINVAL) << mtu;
    }
}

TYPED_TEST(LinksContract, AMissingParentIsUnavailable) {
    ChildSpec spec = this->spec();
    spec.parent = 4711;
    const auto error = this->refusal(spec);
    EXPECT_EQ(error.code, Code::Unavailable) << error.message();
    EXPECT_EQ(error.sys, ENODEV);
}

TYPED_TEST(LinksContract, LoopbackCarriesNone) {
    ChildSpec spec = this->spec();
    spec.parent = 1;
    const auto error = this->refusal(spec);
    EXPECT_EQ(error.code, Code::Refused) << error.message();
    EXPECT_EQ(error.sys, EINVAL);
}

TYPED_TEST(LinksContract, ABridgesPortCarriesNone) {
    (void)this->outside_.enslave_parent();
    const auto error = this->refusal(this->spec());
    EXPECT_EQ(error.code, Code::Refused) << error.message();
    EXPECT_EQ(error.sys, EBUSY);
}

TYPED_TEST(LinksContract, RemovingIsDoneAsOftenAsAsked) {
    ASSERT_TRUE(this->create(this->spec()));
    const Netns ns = this->outside_.container_ns();
    EXPECT_TRUE(this->room().remove(ns, kLinkIndex));
    EXPECT_FALSE(this->room().find(ns, kLinkIndex).value());
    EXPECT_TRUE(this->room().remove(ns, kLinkIndex));
    EXPECT_TRUE(this->create(this->spec())) << "the index and the name are free again";
}

TYPED_TEST(LinksContract, LoopbackCannotBeRemoved) {
    const Error refused = error_of(this->room().remove(this->outside_.container_ns(), 1));
    EXPECT_EQ(refused.code, Code::Unsupported);
    EXPECT_EQ(refused.sys, EOPNOTSUPP);
}

TYPED_TEST(LinksContract, AddressesComeAndGo) {
    ASSERT_TRUE(this->create(this->spec()));
    const Netns ns = this->outside_.container_ns();
    const auto v4 = *netns::parse_cidr("10.9.0.1/24");
    const auto v6 = *netns::parse_cidr("fd00::1/64");
    ASSERT_TRUE(this->room().add_address(ns, kLinkIndex, v6));
    ASSERT_TRUE(this->room().add_address(ns, kLinkIndex, v4));
    EXPECT_EQ(this->given_addresses(kLinkIndex),
              (std::vector<std::string>{"10.9.0.1/24", "fd00::1/64"}));
    for (const auto& address : {v4, v6}) {
        const Error again = error_of(this->room().add_address(ns, kLinkIndex, address));
        EXPECT_EQ(again.code, Code::Busy) << again.message();
        EXPECT_EQ(again.sys, EEXIST);
        EXPECT_TRUE(this->room().remove_address(ns, kLinkIndex, address));
        EXPECT_TRUE(this->room().remove_address(ns, kLinkIndex, address));
    }
    EXPECT_TRUE(this->given_addresses(kLinkIndex).empty());
}

TYPED_TEST(LinksContract, TheSameV6AddressWithAnotherPrefixIsThere) {
    ASSERT_TRUE(this->create(this->spec()));
    const Netns ns = this->outside_.container_ns();
    ASSERT_TRUE(this->room().add_address(ns, kLinkIndex, *netns::parse_cidr("fd00::1/64")));
    ASSERT_TRUE(this->room().add_address(ns, kLinkIndex, *netns::parse_cidr("10.9.0.1/24")));
    EXPECT_FALSE(this->room().add_address(ns, kLinkIndex, *netns::parse_cidr("fd00::1/80")));
    EXPECT_TRUE(this->room().add_address(ns, kLinkIndex, *netns::parse_cidr("10.9.0.1/16")));
}

TYPED_TEST(LinksContract, APrimaryV4AddressTakesItsSecondariesWithIt) {
    ASSERT_TRUE(this->create(this->spec()));
    const Netns ns = this->outside_.container_ns();
    for (const char* text : {"10.9.0.1/24", "10.9.0.2/24", "10.9.1.1/24"})
        ASSERT_TRUE(this->room().add_address(ns, kLinkIndex, *netns::parse_cidr(text)));
    ASSERT_TRUE(this->room().remove_address(ns, kLinkIndex, *netns::parse_cidr("10.9.0.1/24")));
    EXPECT_EQ(this->given_addresses(kLinkIndex), std::vector<std::string>{"10.9.1.1/24"});
}

TYPED_TEST(LinksContract, AddressesOfAMissingLink) {
    const Netns ns = this->outside_.container_ns();
    for (const char* text : {"10.9.0.1/24", "fd00::1/64"}) {
        const auto address = *netns::parse_cidr(text);
        const Error added = error_of(this->room().add_address(ns, 4711, address));
        EXPECT_EQ(added.code, Code::Unavailable) << added.message();
        EXPECT_EQ(added.sys, ENODEV);
        EXPECT_TRUE(this->room().remove_address(ns, 4711, address));
    }
    const Error listed = error_of(this->room().addresses(ns, 4711));
    EXPECT_EQ(listed.code, Code::Unavailable) << listed.message();
    EXPECT_EQ(listed.sys, ENODEV);
}

TYPED_TEST(LinksContract, ANamespaceWithoutRoutesHasNoDefaultRoute) {
    const auto none = this->room().default_route_link(this->outside_.container_ns());
    ASSERT_TRUE(none) << none.error().message();
    EXPECT_FALSE(*none);
}

TYPED_TEST(LinksContract, AMacvlanGoesWithItsNamespace) {
    {
        const Netns made = this->outside_.host().namespaces.make().value();
        ASSERT_TRUE(this->room().create_child(this->outside_.host_ns(), made, this->spec()));
    }
    this->outside_.settle();
    // A namespace dies in the background: its MAC becomes free some time after the last handle.
    const auto deadline = base::Deadline::in(std::chrono::seconds(20));
    base::Result<> done = this->create(this->spec());
    while (!done && done.error().sys == EADDRINUSE && !deadline.passed())
        done = this->create(this->spec());
    EXPECT_TRUE(done) << done.error().message();
}

}  // namespace
}  // namespace test
