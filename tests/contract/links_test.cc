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

class LinksContract : public ContractTest {
  protected:
    netns::Links& room() { return outside_->host().links; }

    ChildSpec spec() {
        return {.parent = outside_->parent(),
                .index = kLinkIndex,
                .name = "rdma0",
                .mac = *netns::parse_mac("02:00:5e:10:00:01"),
                .mtu = 1400};
    }

    base::Result<> create(const ChildSpec& wanted) {
        return room().create_child(outside_->host_ns(), outside_->container_ns(), wanted);
    }

    // The error of a macvlan that must not come to be.
    Error refusal(const ChildSpec& wanted) { return error_of(create(wanted)); }

    // The addresses that somebody gave: without the kernel's own link-local ones.
    std::vector<std::string> given_addresses(uint32_t index) {
        std::vector<std::string> given;
        const auto all = room().addresses(outside_->container_ns(), index);
        for (const auto& address : all.value()) {
            if (!netns::is_link_local(address))
                given.push_back(netns::to_string(address));
        }
        return given;
    }
};

INSTANTIATE_TEST_SUITE_P(,
                         LinksContract,
                         Values(fake(Kernel::V6_12), fake(Kernel::V7_2), kernel()),
                         OutsideNames());

TEST_P(LinksContract, ALinkHasNoReceiveRulesThatNobodyGaveIt) {
    ASSERT_TRUE(create(spec()));
    EXPECT_EQ(room().receive_rules(outside_->container_ns(), "rdma0").value(), 0U);
    const Error none = error_of(room().receive_rules(outside_->container_ns(), "nosuch0"));
    EXPECT_EQ(none.code, Code::Unavailable);
    EXPECT_EQ(none.sys, ENODEV);
}

TEST_P(LinksContract, FindsLinksByIndexAndName) {
    const auto lo = room().find(outside_->container_ns(), 1);
    ASSERT_TRUE(lo && *lo);
    EXPECT_EQ((*lo)->name, "lo");
    EXPECT_TRUE((*lo)->loopback);
    EXPECT_FALSE((*lo)->ethernet);
    EXPECT_EQ((*lo)->kind, "");
    EXPECT_EQ((*lo)->parent, 0U);
    const auto named = room().find_by_name(outside_->container_ns(), "lo");
    ASSERT_TRUE(named && *named);
    EXPECT_EQ(**named, **lo);
}

TEST_P(LinksContract, WhatIsNotThereIsNothing) {
    const Netns ns = outside_->container_ns();
    for (const uint32_t index : {0U, 4711U, 0x7fffffffU, 0xffffffffU})
        EXPECT_FALSE(room().find(ns, index).value()) << index;
    for (const std::string name : {"", "rdma0", "a name longer than any link's", "x/y"})
        EXPECT_FALSE(room().find_by_name(ns, name).value()) << name;
}

TEST_P(LinksContract, ANameIsFreeOrStillTakenAtTheDeadline) {
    const Netns ns = outside_->container_ns();
    EXPECT_TRUE(room().wait_until_free(ns, "rdma0", base::Deadline::now()).value());
    const auto brief = base::Deadline::in(std::chrono::milliseconds(20));
    EXPECT_FALSE(room().wait_until_free(ns, "lo", brief).value());
}

TEST_P(LinksContract, OneRequestMakesAMacvlanWithAllItIsGiven) {
    const auto done = create(spec());
    ASSERT_TRUE(done) << done.error().message();
    const auto found = room().find(outside_->container_ns(), kLinkIndex);
    ASSERT_TRUE(found && *found);
    Link expected;
    expected.index = kLinkIndex;
    expected.name = "rdma0";
    expected.kind = "macvlan";
    expected.mac = spec().mac;
    expected.mtu = 1400;
    expected.up = true;
    expected.parent = outside_->parent();
    EXPECT_EQ(**found, expected);
    EXPECT_EQ(room().list(outside_->container_ns()).value().size(), 2U);
    EXPECT_FALSE(room().find(outside_->host_ns(), kLinkIndex).value());
}

TEST_P(LinksContract, StrictArpIsOfTheLinkAlone) {
    const Netns ns = outside_->container_ns();
    ASSERT_TRUE(create(spec()));
    for (int twice = 0; twice < 2; ++twice) {
        const auto done = room().set_strict_arp(ns, kLinkIndex);
        ASSERT_TRUE(done) << done.error().message();
        EXPECT_TRUE(room().find(ns, kLinkIndex).value()->strict_arp);
    }
    EXPECT_FALSE(room().find(ns, 1).value()->strict_arp);
    const Error missing = error_of(room().set_strict_arp(ns, 4711));
    EXPECT_EQ(missing.code, Code::Unavailable);
    EXPECT_EQ(missing.sys, ENODEV);
}

TEST_P(LinksContract, ALinkThatComesUpHasItsLinkLocalAddress) {
    ASSERT_TRUE(create(spec()));
    const auto all = room().addresses(outside_->container_ns(), kLinkIndex);
    ASSERT_TRUE(all);
    EXPECT_NE(std::find(all->begin(), all->end(), link_local_address(spec().mac)), all->end());
}

TEST_P(LinksContract, ATakenNameIsBusy) {
    ChildSpec wanted = spec();
    wanted.name = "lo";
    const auto error = refusal(wanted);
    EXPECT_EQ(error.code, Code::Busy) << error.message();
    EXPECT_EQ(error.sys, EEXIST);
}

TEST_P(LinksContract, ATakenIndexIsBusy) {
    ASSERT_TRUE(create(spec()));
    ChildSpec wanted = spec();
    wanted.name = "rdma1";
    wanted.mac = *netns::parse_mac("02:00:5e:10:00:02");
    const auto error = refusal(wanted);
    EXPECT_EQ(error.code, Code::Busy) << error.message();
    EXPECT_EQ(error.sys, outside_->traits().lookup_in_target ? EEXIST : EBUSY);
}

TEST_P(LinksContract, ATakenMacIsBusy) {
    ASSERT_TRUE(create(spec()));
    ChildSpec wanted = spec();
    wanted.name = "rdma1";
    wanted.index = kLinkIndex + 1;
    const auto error = refusal(wanted);
    EXPECT_EQ(error.code, Code::Busy) << error.message();
    EXPECT_EQ(error.sys, EADDRINUSE);
    EXPECT_FALSE(room().find(outside_->container_ns(), kLinkIndex + 1).value());
}

TEST_P(LinksContract, NamesOfTheHostAreFree) {
    ChildSpec wanted = spec();
    const auto parent = room().find(outside_->host_ns(), outside_->parent());
    ASSERT_TRUE(parent && *parent);
    wanted.name = (*parent)->name;
    const auto done = create(wanted);
    EXPECT_TRUE(done) << done.error().message();
}

TEST_P(LinksContract, IndexesOfTheHostAreFreeSince6_15) {
    ChildSpec wanted = spec();
    wanted.index = outside_->parent();
    if (outside_->traits().lookup_in_target) {
        EXPECT_TRUE(create(wanted));
        return;
    }
    const auto error = refusal(wanted);
    EXPECT_EQ(error.code, Code::Busy) << error.message();
    EXPECT_EQ(error.sys, EEXIST);
}

TEST_P(LinksContract, AMulticastMacIsBadInput) {
    ChildSpec wanted = spec();
    wanted.mac = *netns::parse_mac("03:00:5e:10:00:01");
    const auto error = refusal(wanted);
    EXPECT_EQ(error.code, Code::BadInput) << error.message();
    EXPECT_EQ(error.sys, EADDRNOTAVAIL);
}

TEST_P(LinksContract, AnMtuAboveTheParentsIsBadInput) {
    ChildSpec wanted = spec();
    wanted.mtu = 1501;
    const auto error = refusal(wanted);
    EXPECT_EQ(error.code, Code::BadInput) << error.message();
    EXPECT_EQ(error.sys, EINVAL);
    EXPECT_FALSE(room().find(outside_->container_ns(), kLinkIndex).value());
}

TEST_P(LinksContract, AnMtuThatNoLinkHasIsBadInput) {
    for (const uint32_t mtu : {0U, 67U, 65536U, 0xffffffffU}) {
        ChildSpec wanted = spec();
        wanted.mtu = mtu;
        const auto error = refusal(wanted);
        EXPECT_EQ(error.code, Code::BadInput) << mtu << ": " << error.message();
        EXPECT_EQ(error.sys, EINVAL) << mtu;
    }
}

TEST_P(LinksContract, AMissingParentIsUnavailable) {
    ChildSpec wanted = spec();
    wanted.parent = 4711;
    const auto error = refusal(wanted);
    EXPECT_EQ(error.code, Code::Unavailable) << error.message();
    EXPECT_EQ(error.sys, ENODEV);
}

TEST_P(LinksContract, LoopbackCarriesNone) {
    ChildSpec wanted = spec();
    wanted.parent = 1;
    const auto error = refusal(wanted);
    EXPECT_EQ(error.code, Code::Refused) << error.message();
    EXPECT_EQ(error.sys, EINVAL);
}

TEST_P(LinksContract, ABridgesPortCarriesNone) {
    (void)outside_->enslave_parent();
    const auto error = refusal(spec());
    EXPECT_EQ(error.code, Code::Refused) << error.message();
    EXPECT_EQ(error.sys, EBUSY);
}

TEST_P(LinksContract, RemovingIsDoneAsOftenAsAsked) {
    ASSERT_TRUE(create(spec()));
    const Netns ns = outside_->container_ns();
    EXPECT_TRUE(room().remove(ns, kLinkIndex));
    EXPECT_FALSE(room().find(ns, kLinkIndex).value());
    EXPECT_TRUE(room().remove(ns, kLinkIndex));
    EXPECT_TRUE(create(spec())) << "the index and the name are free again";
}

TEST_P(LinksContract, LoopbackCannotBeRemoved) {
    const Error refused = error_of(room().remove(outside_->container_ns(), 1));
    EXPECT_EQ(refused.code, Code::Unsupported);
    EXPECT_EQ(refused.sys, EOPNOTSUPP);
}

TEST_P(LinksContract, AddressesComeAndGo) {
    ASSERT_TRUE(create(spec()));
    const Netns ns = outside_->container_ns();
    const auto v4 = *netns::parse_cidr("10.9.0.1/24");
    const auto v6 = *netns::parse_cidr("fd00::1/64");
    ASSERT_TRUE(room().add_address(ns, kLinkIndex, v6));
    ASSERT_TRUE(room().add_address(ns, kLinkIndex, v4));
    EXPECT_EQ(given_addresses(kLinkIndex), (std::vector<std::string>{"10.9.0.1/24", "fd00::1/64"}));
    for (const auto& address : {v4, v6}) {
        const Error again = error_of(room().add_address(ns, kLinkIndex, address));
        EXPECT_EQ(again.code, Code::Busy) << again.message();
        EXPECT_EQ(again.sys, EEXIST);
        EXPECT_TRUE(room().remove_address(ns, kLinkIndex, address));
        EXPECT_TRUE(room().remove_address(ns, kLinkIndex, address));
    }
    EXPECT_TRUE(given_addresses(kLinkIndex).empty());
}

TEST_P(LinksContract, TheSameV6AddressWithAnotherPrefixIsThere) {
    ASSERT_TRUE(create(spec()));
    const Netns ns = outside_->container_ns();
    ASSERT_TRUE(room().add_address(ns, kLinkIndex, *netns::parse_cidr("fd00::1/64")));
    ASSERT_TRUE(room().add_address(ns, kLinkIndex, *netns::parse_cidr("10.9.0.1/24")));
    EXPECT_FALSE(room().add_address(ns, kLinkIndex, *netns::parse_cidr("fd00::1/80")));
    EXPECT_TRUE(room().add_address(ns, kLinkIndex, *netns::parse_cidr("10.9.0.1/16")));
}

TEST_P(LinksContract, APrimaryV4AddressTakesItsSecondariesWithIt) {
    ASSERT_TRUE(create(spec()));
    const Netns ns = outside_->container_ns();
    for (const char* text : {"10.9.0.1/24", "10.9.0.2/24", "10.9.1.1/24"})
        ASSERT_TRUE(room().add_address(ns, kLinkIndex, *netns::parse_cidr(text)));
    ASSERT_TRUE(room().remove_address(ns, kLinkIndex, *netns::parse_cidr("10.9.0.1/24")));
    EXPECT_EQ(given_addresses(kLinkIndex), std::vector<std::string>{"10.9.1.1/24"});
}

TEST_P(LinksContract, AddressesOfAMissingLink) {
    const Netns ns = outside_->container_ns();
    for (const char* text : {"10.9.0.1/24", "fd00::1/64"}) {
        const auto address = *netns::parse_cidr(text);
        const Error added = error_of(room().add_address(ns, 4711, address));
        EXPECT_EQ(added.code, Code::Unavailable) << added.message();
        EXPECT_EQ(added.sys, ENODEV);
        EXPECT_TRUE(room().remove_address(ns, 4711, address));
    }
    const Error listed = error_of(room().addresses(ns, 4711));
    EXPECT_EQ(listed.code, Code::Unavailable) << listed.message();
    EXPECT_EQ(listed.sys, ENODEV);
}

TEST_P(LinksContract, ANamespaceWithoutRoutesHasNoDefaultRoute) {
    const auto none = room().default_route_link(outside_->container_ns());
    ASSERT_TRUE(none) << none.error().message();
    EXPECT_FALSE(*none);
}

TEST_P(LinksContract, AMacvlanGoesWithItsNamespace) {
    {
        const Netns made = outside_->host().namespaces.make().value();
        ASSERT_TRUE(room().create_child(outside_->host_ns(), made, spec()));
    }
    outside_->settle();
    // A namespace dies in the background: its MAC becomes free some time after the last handle.
    const auto deadline = base::Deadline::in(std::chrono::seconds(20));
    base::Result<> done = create(spec());
    while (!done && done.error().sys == EADDRINUSE && !deadline.passed())
        done = create(spec());
    EXPECT_TRUE(done) << done.error().message();
}

}  // namespace
}  // namespace test
