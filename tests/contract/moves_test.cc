// SPDX-License-Identifier: Apache-2.0
// The contract of netns/link.h: links that move between namespaces, and that change.
#include <algorithm>
#include <cerrno>

#include <gtest/gtest.h>

#include "tests/contract/outside.h"

namespace test {
namespace {

using netns::LinkChange;

// High enough to be free in every namespace.
constexpr uint32_t kMoved = 0x40000011;
constexpr uint32_t kOther = 0x40000012;
constexpr uint32_t kNewIndex = 0x40000013;

template <class Outside>
class MovesContract : public testing::Test {
  protected:
    void SetUp() override {
        if (const std::string reason = Outside::missing(); !reason.empty())
            GTEST_SKIP() << reason;
        from_ = outside_.container_ns();
        to_ = outside_.host().namespaces.make().value();
        make(*from_, kMoved, "rdma0", mac_);
    }

    netns::Links& room() { return outside_.host().links; }

    void make(const Netns& ns, uint32_t index, const std::string& name, const netns::Mac& mac) {
        const auto made = make_macvlan(outside_, ns, index, name, mac);
        ASSERT_TRUE(made) << made.error().message();
    }

    // Something in the target that is in the way.
    void make_other(const std::string& name) {
        make(*to_, kOther, name, *netns::parse_mac("02:00:5e:10:00:02"));
    }

    base::Result<> move(const LinkChange& change) {
        return room().move(*from_, *to_, kMoved, change);
    }

    Error refused_move(const LinkChange& change) { return error_of(move(change)); }

    Error refused_change(const LinkChange& change) {
        return error_of(room().change(*from_, kMoved, change));
    }

    std::optional<netns::Link> at(const Netns& ns, uint32_t index) {
        return room().find(ns, index).value();
    }

    std::vector<Address> addresses(const Netns& ns, uint32_t index) {
        return room().addresses(ns, index).value();
    }

    const netns::Mac mac_ = *netns::parse_mac("02:00:5e:10:00:01");
    Outside outside_;
    std::optional<Netns> from_, to_;
};

using MovesOutsides = testing::Types<FakeOutside<Kernel::V7_3>, KernelOutside>;
TYPED_TEST_SUITE(MovesContract, MovesOutsides, OutsideNames);

TYPED_TEST(MovesContract, AMovedLinkIsDownAndBare) {
    const auto address = *netns::parse_cidr("10.9.0.1/24");
    ASSERT_TRUE(this->room().add_address(*this->from_, kMoved, address));
    ASSERT_TRUE(this->room().set_strict_arp(*this->from_, kMoved));
    netns::Link expected = *this->at(*this->from_, kMoved);
    EXPECT_TRUE(expected.up);
    const auto done = this->move({});
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_FALSE(this->at(*this->from_, kMoved));
    const auto moved = this->at(*this->to_, kMoved);
    ASSERT_TRUE(moved);
    expected.up = false;
    expected.strict_arp = false;
    EXPECT_EQ(*moved, expected);
    EXPECT_TRUE(this->addresses(*this->to_, kMoved).empty());
}

TYPED_TEST(MovesContract, ALinkIsRaisedByItself) {
    const auto soon = base::Deadline::in(std::chrono::seconds(5));
    ASSERT_TRUE(this->move({}));
    ASSERT_TRUE(this->room().raise(*this->to_, kMoved, soon));
    EXPECT_TRUE(this->at(*this->to_, kMoved)->up);
    EXPECT_TRUE(this->room().raise(*this->to_, kMoved, soon)) << "it is up already";
    const Error gone = error_of(this->room().raise(*this->from_, kMoved, soon));
    EXPECT_EQ(gone.code, Code::Unavailable) << gone.message();
    EXPECT_EQ(gone.sys, ENODEV);
}

TYPED_TEST(MovesContract, OneRequestMovesAndChanges) {
    LinkChange change;
    change.name = "rdma7";
    change.alias = "was rdma0";
    change.mac = *netns::parse_mac("02:00:5e:10:00:07");
    change.mtu = 1300;
    change.up = true;
    change.index = kNewIndex;
    const auto done = this->move(change);
    ASSERT_TRUE(done) << done.error().message();
    const auto moved = this->at(*this->to_, kNewIndex);
    ASSERT_TRUE(moved);
    EXPECT_EQ(moved->name, "rdma7");
    EXPECT_EQ(moved->alias, "was rdma0");
    EXPECT_EQ(moved->mac, *change.mac);
    EXPECT_EQ(moved->mtu, 1300U);
    EXPECT_TRUE(moved->up);
    EXPECT_FALSE(this->at(*this->to_, kMoved));
    const auto all = this->addresses(*this->to_, kNewIndex);
    EXPECT_NE(std::find(all.begin(), all.end(), link_local_address(*change.mac)), all.end());
}

TYPED_TEST(MovesContract, ATakenNameStopsItHalfWay) {
    this->make_other("taken");
    LinkChange change;
    change.name = "taken";
    change.mtu = 1300;
    change.alias = "late";
    const auto error = this->refused_move(change);
    EXPECT_EQ(error.code, Code::Busy) << error.message();
    EXPECT_EQ(error.sys, EEXIST);
    EXPECT_FALSE(this->at(*this->from_, kMoved));
    const auto moved = this->at(*this->to_, kMoved);
    ASSERT_TRUE(moved);
    EXPECT_EQ(moved->name, "rdma0");
    EXPECT_EQ(moved->mtu, 1300U);
    EXPECT_EQ(moved->alias, "");
}

TYPED_TEST(MovesContract, ItsPresentNameMayBeTakenThere) {
    this->make_other("rdma0");
    const auto error = this->refused_move({});
    EXPECT_EQ(error.code, Code::Busy) << error.message();
    EXPECT_EQ(error.sys, EEXIST);
    EXPECT_TRUE(this->at(*this->from_, kMoved));
    const auto done = this->move({.name = "rdma1"});
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(this->at(*this->to_, kMoved)->name, "rdma1");
}

TYPED_TEST(MovesContract, AltnamesAreNames) {
    this->make_other("taken");
    this->outside_.add_altname(*this->to_, kOther, "rdma0");
    EXPECT_EQ(this->refused_move({}).sys, EEXIST);
    EXPECT_EQ(this->room().find_by_name(*this->to_, "rdma0").value()->index, kOther);
    this->outside_.add_altname(*this->from_, kMoved, "other");
    EXPECT_EQ(this->at(*this->from_, kMoved)->altnames, std::vector<std::string>{"other"});
    this->outside_.add_altname(*this->to_, kOther, "other");
    EXPECT_EQ(this->refused_move({.name = "rdma1"}).sys, EEXIST);
    EXPECT_TRUE(this->at(*this->from_, kMoved));
}

TYPED_TEST(MovesContract, ItsOwnAltnameIsNotInTheWay) {
    this->outside_.add_altname(*this->from_, kMoved, "mine");
    this->outside_.add_altname(*this->from_, kMoved, "mine2");
    ASSERT_TRUE(this->room().change(*this->from_, kMoved, {.name = "mine"}));
    EXPECT_EQ(this->at(*this->from_, kMoved)->name, "mine");
    EXPECT_EQ(this->at(*this->from_, kMoved)->altnames, std::vector<std::string>{"mine2"});
    ASSERT_TRUE(this->move({.name = "mine2"}));
    EXPECT_EQ(this->at(*this->to_, kMoved)->name, "mine2");
}

TYPED_TEST(MovesContract, AnAltnameIsTakenOffOnce) {
    this->outside_.add_altname(*this->from_, kMoved, "mine");
    this->outside_.add_altname(*this->from_, kMoved, "mine2");
    for (int i = 0; i < 2; ++i) {
        const auto done = this->room().remove_altname(*this->from_, kMoved, "mine");
        ASSERT_TRUE(done) << done.error().message();
        EXPECT_EQ(this->at(*this->from_, kMoved)->altnames, std::vector<std::string>{"mine2"});
    }
    const auto nowhere = this->room().remove_altname(*this->from_, 4711, "mine");
    EXPECT_TRUE(nowhere) << nowhere.error().message();
}

TYPED_TEST(MovesContract, ATakenIndexIsBusy) {
    this->make_other("taken");
    const auto error = this->refused_move({.index = kOther});
    EXPECT_EQ(error.code, Code::Busy) << error.message();
    EXPECT_EQ(error.sys, EBUSY);
    EXPECT_TRUE(this->at(*this->from_, kMoved));
}

TYPED_TEST(MovesContract, WithoutAWishATakenIndexIsChanged) {
    this->make(*this->to_, kMoved, "taken", *netns::parse_mac("02:00:5e:10:00:02"));
    ASSERT_TRUE(this->move({}));
    const auto moved = this->room().find_by_name(*this->to_, "rdma0").value();
    ASSERT_TRUE(moved);
    EXPECT_NE(moved->index, kMoved);
    EXPECT_EQ(this->at(*this->to_, kMoved)->name, "taken");
}

TYPED_TEST(MovesContract, SomeLinksCannotLeave) {
    const Error lo = error_of(this->room().move(*this->from_, *this->to_, 1, {.name = "lo2"}));
    EXPECT_EQ(lo.code, Code::Refused) << lo.message();
    EXPECT_EQ(lo.sys, EINVAL);
    const Error missing = error_of(this->room().move(*this->from_, *this->to_, 4711, {}));
    EXPECT_EQ(missing.code, Code::Unavailable) << missing.message();
    EXPECT_EQ(missing.sys, ENODEV);
    const Error absent = error_of(this->room().change(*this->from_, 4711, {.mtu = 1300}));
    EXPECT_EQ(absent.sys, ENODEV);
}

TYPED_TEST(MovesContract, ALinkMovesBackAsItWas) {
    const netns::Link before = *this->at(*this->from_, kMoved);
    ASSERT_TRUE(this->move({.name = "rdma7", .mtu = 1300, .index = kNewIndex}));
    LinkChange back;
    back.name = before.name;
    back.mtu = before.mtu;
    back.up = true;
    back.index = before.index;
    ASSERT_TRUE(this->room().move(*this->to_, *this->from_, kNewIndex, back));
    EXPECT_EQ(*this->at(*this->from_, kMoved), before);
}

TYPED_TEST(MovesContract, ChangesInPlace) {
    LinkChange change;
    change.name = "rdma7";
    change.alias = "text";
    change.mac = *netns::parse_mac("02:00:5e:10:00:07");
    change.mtu = 1300;
    ASSERT_TRUE(this->room().change(*this->from_, kMoved, change));
    auto link = *this->at(*this->from_, kMoved);
    EXPECT_EQ(link.name, "rdma7");
    EXPECT_EQ(link.alias, "text");
    EXPECT_EQ(link.mac, *change.mac);
    EXPECT_EQ(link.mtu, 1300U);
    EXPECT_TRUE(link.up);
    ASSERT_TRUE(this->room().change(*this->from_, kMoved, {.name = "rdma7", .alias = ""}));
    EXPECT_EQ(this->at(*this->from_, kMoved)->alias, "");
}

TYPED_TEST(MovesContract, DownTakesTheV6AddressesOnly) {
    const auto v4 = *netns::parse_cidr("10.9.0.1/24");
    const auto v6 = *netns::parse_cidr("fd00::1/64");
    ASSERT_TRUE(this->room().add_address(*this->from_, kMoved, v4));
    ASSERT_TRUE(this->room().add_address(*this->from_, kMoved, v6));
    for (int twice = 0; twice < 2; ++twice) {
        ASSERT_TRUE(this->room().change(*this->from_, kMoved, {.up = false}));
        EXPECT_FALSE(this->at(*this->from_, kMoved)->up);
        EXPECT_EQ(this->addresses(*this->from_, kMoved), std::vector<Address>{v4});
    }
    ASSERT_TRUE(this->room().change(*this->from_, kMoved, {.up = true}));
    EXPECT_TRUE(this->at(*this->from_, kMoved)->up);
}

TYPED_TEST(MovesContract, WhatALinkCannotHave) {
    this->make(*this->from_, kOther, "taken", *netns::parse_mac("02:00:5e:10:00:02"));
    const auto taken = this->refused_change({.name = "taken"});
    EXPECT_EQ(taken.code, Code::Busy) << taken.message();
    EXPECT_EQ(taken.sys, EEXIST);
    for (const char* name : {"", ".", "..", "a/b", "a b", "a:b", "rdma%d"}) {
        const auto error = this->refused_change({.name = name});
        EXPECT_EQ(error.code, Code::BadInput) << name << ": " << error.message();
        EXPECT_EQ(error.sys, EINVAL) << name;
    }
    EXPECT_EQ(this->refused_change({.name = "sixteen_letters_"}).code, Code::BadInput);
    for (const char* mac : {"03:00:00:00:00:01", "00:00:00:00:00:00"}) {
        const auto error = this->refused_change({.mac = *netns::parse_mac(mac)});
        EXPECT_EQ(error.code, Code::BadInput) << mac << ": " << error.message();
        EXPECT_EQ(error.sys, EADDRNOTAVAIL) << mac;
    }
    for (const uint32_t mtu : {67U, 1501U, 70000U}) {
        const auto error = this->refused_change({.mtu = mtu});
        EXPECT_EQ(error.code, Code::BadInput) << mtu << ": " << error.message();
        EXPECT_EQ(error.sys, EINVAL) << mtu;
    }
    EXPECT_EQ(this->refused_change({.alias = std::string(256, 'x')}).code, Code::BadInput);
    EXPECT_TRUE(this->room().change(*this->from_, kMoved, {.alias = std::string(255, 'x')}));
    EXPECT_EQ(this->refused_move({.index = 0}).code, Code::BadInput);
}

TYPED_TEST(MovesContract, VirtualLinksAreOfNoDevice) {
    EXPECT_EQ(this->at(*this->from_, kMoved)->device, "");
    for (const char* device : {"", "0000:01:10.0", "rdma0"})
        EXPECT_FALSE(this->room().find_by_device(*this->from_, device).value()) << device;
}

}  // namespace
}  // namespace test
