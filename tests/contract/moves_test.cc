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

class MovesContract : public ContractTest {
  protected:
    void prepare() override {
        from_ = outside_->container_ns();
        to_ = outside_->host().namespaces.make().value();
        make(*from_, kMoved, "rdma0", mac_);
    }

    netns::Links& room() { return outside_->host().links; }

    void make(const Netns& ns, uint32_t index, const std::string& name, const netns::Mac& mac) {
        const auto made = make_macvlan(*outside_, ns, index, name, mac);
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
    std::optional<Netns> from_, to_;
};

INSTANTIATE_TEST_SUITE_P(, MovesContract, Values(fake(Kernel::V7_3), kernel()), OutsideNames());

TEST_P(MovesContract, AMovedLinkIsDownAndBare) {
    const auto address = *netns::parse_cidr("10.9.0.1/24");
    ASSERT_TRUE(room().add_address(*from_, kMoved, address));
    ASSERT_TRUE(room().set_strict_arp(*from_, kMoved));
    netns::Link expected = *at(*from_, kMoved);
    EXPECT_TRUE(expected.up);
    const auto done = move({});
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_FALSE(at(*from_, kMoved));
    const auto moved = at(*to_, kMoved);
    ASSERT_TRUE(moved);
    expected.up = false;
    expected.strict_arp = false;
    EXPECT_EQ(*moved, expected);
    EXPECT_TRUE(addresses(*to_, kMoved).empty());
}

TEST_P(MovesContract, ALinkIsRaisedByItself) {
    const auto soon = base::Deadline::in(std::chrono::seconds(5));
    ASSERT_TRUE(move({}));
    ASSERT_TRUE(room().raise(*to_, kMoved, soon));
    EXPECT_TRUE(at(*to_, kMoved)->up);
    EXPECT_TRUE(room().raise(*to_, kMoved, soon)) << "it is up already";
    const Error gone = error_of(room().raise(*from_, kMoved, soon));
    EXPECT_EQ(gone.code, Code::Unavailable) << gone.message();
    EXPECT_EQ(gone.sys, ENODEV);
}

TEST_P(MovesContract, OneRequestMovesAndChanges) {
    LinkChange change;
    change.name = "rdma7";
    change.alias = "was rdma0";
    change.mac = *netns::parse_mac("02:00:5e:10:00:07");
    change.mtu = 1300;
    change.up = true;
    change.index = kNewIndex;
    const auto done = move(change);
    ASSERT_TRUE(done) << done.error().message();
    const auto moved = at(*to_, kNewIndex);
    ASSERT_TRUE(moved);
    EXPECT_EQ(moved->name, "rdma7");
    EXPECT_EQ(moved->alias, "was rdma0");
    EXPECT_EQ(moved->mac, *change.mac);
    EXPECT_EQ(moved->mtu, 1300U);
    EXPECT_TRUE(moved->up);
    EXPECT_FALSE(at(*to_, kMoved));
    const auto all = addresses(*to_, kNewIndex);
    EXPECT_NE(std::find(all.begin(), all.end(), link_local_address(*change.mac)), all.end());
}

TEST_P(MovesContract, ATakenNameStopsItHalfWay) {
    make_other("taken");
    LinkChange change;
    change.name = "taken";
    change.mtu = 1300;
    change.alias = "late";
    const auto error = refused_move(change);
    EXPECT_EQ(error.code, Code::Busy) << error.message();
    EXPECT_EQ(error.sys, EEXIST);
    EXPECT_FALSE(at(*from_, kMoved));
    const auto moved = at(*to_, kMoved);
    ASSERT_TRUE(moved);
    EXPECT_EQ(moved->name, "rdma0");
    EXPECT_EQ(moved->mtu, 1300U);
    EXPECT_EQ(moved->alias, "");
}

TEST_P(MovesContract, ItsPresentNameMayBeTakenThere) {
    make_other("rdma0");
    const auto error = refused_move({});
    EXPECT_EQ(error.code, Code::Busy) << error.message();
    EXPECT_EQ(error.sys, EEXIST);
    EXPECT_TRUE(at(*from_, kMoved));
    const auto done = move({.name = "rdma1"});
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(at(*to_, kMoved)->name, "rdma1");
}

TEST_P(MovesContract, AltnamesAreNames) {
    make_other("taken");
    outside_->add_altname(*to_, kOther, "rdma0");
    EXPECT_EQ(refused_move({}).sys, EEXIST);
    EXPECT_EQ(room().find_by_name(*to_, "rdma0").value()->index, kOther);
    outside_->add_altname(*from_, kMoved, "other");
    EXPECT_EQ(at(*from_, kMoved)->altnames, std::vector<std::string>{"other"});
    outside_->add_altname(*to_, kOther, "other");
    EXPECT_EQ(refused_move({.name = "rdma1"}).sys, EEXIST);
    EXPECT_TRUE(at(*from_, kMoved));
}

TEST_P(MovesContract, ItsOwnAltnameIsNotInTheWay) {
    outside_->add_altname(*from_, kMoved, "mine");
    outside_->add_altname(*from_, kMoved, "mine2");
    ASSERT_TRUE(room().change(*from_, kMoved, {.name = "mine"}));
    EXPECT_EQ(at(*from_, kMoved)->name, "mine");
    EXPECT_EQ(at(*from_, kMoved)->altnames, std::vector<std::string>{"mine2"});
    ASSERT_TRUE(move({.name = "mine2"}));
    EXPECT_EQ(at(*to_, kMoved)->name, "mine2");
}

TEST_P(MovesContract, AnAltnameIsTakenOffOnce) {
    outside_->add_altname(*from_, kMoved, "mine");
    outside_->add_altname(*from_, kMoved, "mine2");
    for (int i = 0; i < 2; ++i) {
        const auto done = room().remove_altname(*from_, kMoved, "mine");
        ASSERT_TRUE(done) << done.error().message();
        EXPECT_EQ(at(*from_, kMoved)->altnames, std::vector<std::string>{"mine2"});
    }
    const auto nowhere = room().remove_altname(*from_, 4711, "mine");
    EXPECT_TRUE(nowhere) << nowhere.error().message();
}

TEST_P(MovesContract, ATakenIndexIsBusy) {
    make_other("taken");
    const auto error = refused_move({.index = kOther});
    EXPECT_EQ(error.code, Code::Busy) << error.message();
    EXPECT_EQ(error.sys, EBUSY);
    EXPECT_TRUE(at(*from_, kMoved));
}

TEST_P(MovesContract, WithoutAWishATakenIndexIsChanged) {
    make(*to_, kMoved, "taken", *netns::parse_mac("02:00:5e:10:00:02"));
    ASSERT_TRUE(move({}));
    const auto moved = room().find_by_name(*to_, "rdma0").value();
    ASSERT_TRUE(moved);
    EXPECT_NE(moved->index, kMoved);
    EXPECT_EQ(at(*to_, kMoved)->name, "taken");
}

TEST_P(MovesContract, SomeLinksCannotLeave) {
    const Error lo = error_of(room().move(*from_, *to_, 1, {.name = "lo2"}));
    EXPECT_EQ(lo.code, Code::Refused) << lo.message();
    EXPECT_EQ(lo.sys, EINVAL);
    const Error missing = error_of(room().move(*from_, *to_, 4711, {}));
    EXPECT_EQ(missing.code, Code::Unavailable) << missing.message();
    EXPECT_EQ(missing.sys, ENODEV);
    const Error absent = error_of(room().change(*from_, 4711, {.mtu = 1300}));
    EXPECT_EQ(absent.sys, ENODEV);
}

TEST_P(MovesContract, ALinkMovesBackAsItWas) {
    const netns::Link before = *at(*from_, kMoved);
    ASSERT_TRUE(move({.name = "rdma7", .mtu = 1300, .index = kNewIndex}));
    LinkChange back;
    back.name = before.name;
    back.mtu = before.mtu;
    back.up = true;
    back.index = before.index;
    ASSERT_TRUE(room().move(*to_, *from_, kNewIndex, back));
    EXPECT_EQ(*at(*from_, kMoved), before);
}

TEST_P(MovesContract, ChangesInPlace) {
    LinkChange change;
    change.name = "rdma7";
    change.alias = "text";
    change.mac = *netns::parse_mac("02:00:5e:10:00:07");
    change.mtu = 1300;
    ASSERT_TRUE(room().change(*from_, kMoved, change));
    auto link = *at(*from_, kMoved);
    EXPECT_EQ(link.name, "rdma7");
    EXPECT_EQ(link.alias, "text");
    EXPECT_EQ(link.mac, *change.mac);
    EXPECT_EQ(link.mtu, 1300U);
    EXPECT_TRUE(link.up);
    ASSERT_TRUE(room().change(*from_, kMoved, {.name = "rdma7", .alias = ""}));
    EXPECT_EQ(at(*from_, kMoved)->alias, "");
}

TEST_P(MovesContract, DownTakesTheV6AddressesOnly) {
    const auto v4 = *netns::parse_cidr("10.9.0.1/24");
    const auto v6 = *netns::parse_cidr("fd00::1/64");
    ASSERT_TRUE(room().add_address(*from_, kMoved, v4));
    ASSERT_TRUE(room().add_address(*from_, kMoved, v6));
    for (int twice = 0; twice < 2; ++twice) {
        ASSERT_TRUE(room().change(*from_, kMoved, {.up = false}));
        EXPECT_FALSE(at(*from_, kMoved)->up);
        EXPECT_EQ(addresses(*from_, kMoved), std::vector<Address>{v4});
    }
    ASSERT_TRUE(room().change(*from_, kMoved, {.up = true}));
    EXPECT_TRUE(at(*from_, kMoved)->up);
}

TEST_P(MovesContract, WhatALinkCannotHave) {
    make(*from_, kOther, "taken", *netns::parse_mac("02:00:5e:10:00:02"));
    const auto taken = refused_change({.name = "taken"});
    EXPECT_EQ(taken.code, Code::Busy) << taken.message();
    EXPECT_EQ(taken.sys, EEXIST);
    for (const char* name : {"", ".", "..", "a/b", "a b", "a:b", "rdma%d"}) {
        const auto error = refused_change({.name = name});
        EXPECT_EQ(error.code, Code::BadInput) << name << ": " << error.message();
        EXPECT_EQ(error.sys, EINVAL) << name;
    }
    EXPECT_EQ(refused_change({.name = "sixteen_letters_"}).code, Code::BadInput);
    for (const char* mac : {"03:00:00:00:00:01", "00:00:00:00:00:00"}) {
        const auto error = refused_change({.mac = *netns::parse_mac(mac)});
        EXPECT_EQ(error.code, Code::BadInput) << mac << ": " << error.message();
        EXPECT_EQ(error.sys, EADDRNOTAVAIL) << mac;
    }
    for (const uint32_t mtu : {67U, 1501U, 70000U}) {
        const auto error = refused_change({.mtu = mtu});
        EXPECT_EQ(error.code, Code::BadInput) << mtu << ": " << error.message();
        EXPECT_EQ(error.sys, EINVAL) << mtu;
    }
    EXPECT_EQ(refused_change({.alias = std::string(256, 'x')}).code, Code::BadInput);
    EXPECT_TRUE(room().change(*from_, kMoved, {.alias = std::string(255, 'x')}));
    EXPECT_EQ(refused_move({.index = 0}).code, Code::BadInput);
}

TEST_P(MovesContract, VirtualLinksAreOfNoDevice) {
    EXPECT_EQ(at(*from_, kMoved)->device, "");
    for (const char* device : {"", "0000:01:10.0", "rdma0"})
        EXPECT_FALSE(room().find_by_device(*from_, device).value()) << device;
}

}  // namespace
}  // namespace test
