// SPDX-License-Identifier: Apache-2.0
#include "perf/address/gid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/perf/fake_verbs.h"

namespace perf {
namespace {

using test::gid_row;
using testing::HasSubstr;

Address ip(const std::string& text) {
    return parse_address(text).value();
}

struct Table {
    std::vector<GidRow> rows;
    std::vector<LocalAddress> addresses;
    GidQuery query;

    [[nodiscard]] std::optional<size_t> choose() const {
        return choose_gid(rows, addresses, query).chosen;
    }

    [[nodiscard]] std::string reason(size_t row) const {
        return choose_gid(rows, addresses, query).verdicts.at(row).reason;
    }
};

// A container with rdma0 = 10.9.0.1 on a device that it shares with another container, 10.9.0.2.
Table shared_device() {
    Table t;
    t.rows = {gid_row(0, "::"),
              gid_row(1, "10.9.0.2", GidType::RoceV1, "rdma9"),
              gid_row(2, "10.9.0.2", GidType::RoceV2, "rdma9"),
              gid_row(3, "fe80::a", GidType::RoceV2, "rdma0"),
              gid_row(4, "10.9.0.1", GidType::RoceV1, "rdma0"),
              gid_row(5, "10.9.0.1", GidType::RoceV2, "rdma0")};
    t.addresses = {{"lo", ip("127.0.0.1")}, {"rdma0", ip("10.9.0.1")}, {"rdma0", ip("fe80::a")}};
    t.query.sources = {ip("10.9.0.1")};
    return t;
}

TEST(Gid, TheRoutesSourceAddressOverForeignAndZeroOnes) {
    const Table t = shared_device();
    EXPECT_EQ(t.choose(), 5U);
    EXPECT_THAT(t.reason(0), HasSubstr("zero"));
    EXPECT_THAT(t.reason(2), HasSubstr("foreign"));
    EXPECT_THAT(t.reason(4), HasSubstr("v1"));
    EXPECT_THAT(t.reason(5), HasSubstr("source address"));
}

TEST(Gid, OnlyZeroGidsGiveNone) {
    Table t;
    t.rows = {gid_row(0, "::"), gid_row(1, "::")};
    t.query.sources = {ip("10.9.0.1")};
    EXPECT_FALSE(t.choose());
}

TEST(Gid, OnlyForeignGidsGiveNone) {
    Table t = shared_device();
    t.rows.resize(3);
    EXPECT_FALSE(t.choose());
}

TEST(Gid, LinkLocalIsTheLastResort) {
    Table t = shared_device();
    t.rows.resize(4);
    EXPECT_EQ(t.choose(), 3U);
    EXPECT_THAT(t.reason(3), HasSubstr("last resort"));
}

// Peers are often named by the network of their management: an own address beats a link-local one,
// and neither is taken silently.
TEST(Gid, AnAddressOfAnotherNetworkComesBeforeLinkLocal) {
    Table t = shared_device();
    t.addresses.push_back({"eth0", ip("192.0.2.9")});
    t.query.sources = {ip("192.0.2.9")};
    EXPECT_EQ(t.choose(), 5U);
    EXPECT_THAT(t.reason(5), HasSubstr("starts at 192.0.2.9: another network"));
    const GidChoice choice = choose_gid(t.rows, t.addresses, t.query);
    EXPECT_THAT(choice.note, HasSubstr("GID 10.9.0.1 of rxe0 is a guess"));
    EXPECT_THAT(explain(t.rows, choice, t.query), HasSubstr("note: GID 10.9.0.1"));
    t.rows.resize(4);
    EXPECT_THAT(choose_gid(t.rows, t.addresses, t.query).note, HasSubstr("last resort"));
    EXPECT_EQ(choose_gid(shared_device().rows, t.addresses, shared_device().query).note, "");
}

// A client that has nothing else has told the server so.
TEST(Gid, LinkLocalForAPeerThatIs) {
    Table t = shared_device();
    t.addresses.push_back({"eth0", ip("192.0.2.9")});
    t.query.sources = {ip("192.0.2.9")};
    t.query.link_local_peer = true;
    EXPECT_EQ(t.choose(), 3U);
    EXPECT_THAT(choose_gid(t.rows, t.addresses, t.query).note, HasSubstr("as the peer's is"));
    t.query.sources = {ip("10.9.0.1")};
    EXPECT_EQ(t.choose(), 5U) << "the route leads there";
}

TEST(Gid, DeviceOptionAloneTakesItsAddress) {
    Table t = shared_device();
    t.addresses.push_back({"eth0", ip("192.0.2.9")});
    t.query.sources = {ip("192.0.2.9")};
    t.query.device = "rxe0";
    EXPECT_EQ(t.choose(), 5U);
    EXPECT_EQ(choose_gid(t.rows, t.addresses, t.query).note, "");
}

// ib0 is mlx5_0's, ib3 the second port of mlx5_3.
TEST(Gid, InfiniBandPortOfTheRoutesInterface) {
    Table t;
    for (const char* device : {"mlx5_0", "mlx5_3"}) {
        for (const uint8_t port : {uint8_t{1}, uint8_t{2}}) {
            GidRow row = gid_row(0, "fe80::2c9:1", GidType::InfiniBand);
            row.device = device;
            row.port = port;
            t.rows.push_back(row);
        }
    }
    t.addresses = {{"ib0", ip("10.1.0.1"), "mlx5_0", 1}, {"ib3", ip("10.1.3.1"), "mlx5_3", 2}};
    t.query.sources = {ip("10.1.3.1")};
    EXPECT_EQ(t.choose(), 3U);
    EXPECT_THAT(t.reason(3), HasSubstr("port of ib3"));
    t.query.sources = {ip("10.1.0.1")};
    EXPECT_EQ(t.choose(), 0U);
    t.query.sources = {ip("192.0.2.1"), ip("10.1.3.1")};
    EXPECT_EQ(t.choose(), 3U) << "of a second source, too";
    t.query.sources = {ip("192.0.2.1")};
    EXPECT_EQ(t.choose(), 0U);
}

TEST(Gid, ForeignLinkLocalIsNotUsed) {
    Table t = shared_device();
    t.rows.resize(4);
    t.rows[3].gid = ip("fe80::b");
    EXPECT_FALSE(t.choose());
}

TEST(Gid, Version2BesideVersion1WhateverTheOrder) {
    Table t = shared_device();
    std::swap(t.rows[4], t.rows[5]);
    EXPECT_EQ(t.choose(), 4U);
}

TEST(Gid, OnlyVersion1IsRefusedUnlessAskedFor) {
    Table t = shared_device();
    t.rows.resize(5);
    t.rows.erase(t.rows.begin() + 3);
    EXPECT_FALSE(t.choose());
    t.query.index = 4;
    EXPECT_EQ(t.choose(), 3U);
}

TEST(Gid, IPv6Source) {
    Table t = shared_device();
    t.rows.push_back(gid_row(6, "fd00::1", GidType::RoceV2, "rdma0"));
    t.addresses.push_back({"rdma0", ip("fd00::1")});
    t.query.sources = {ip("fd00::1")};
    EXPECT_EQ(t.choose(), 6U);
    EXPECT_THAT(t.reason(5), HasSubstr("the route to the peer starts at fd00::1"));
}

TEST(Gid, SeveralDevicesTheOneWithTheAddress) {
    Table t = shared_device();
    const auto rows = t.rows;  // a copy: t.rows grows below
    for (GidRow row : rows) {
        row.device = "aaa0";  // first by name, and without our address
        if (row.gid == ip("10.9.0.1"))
            row.gid = ip("10.8.0.1");
        t.rows.push_back(row);
    }
    EXPECT_EQ(t.choose(), 5U);
}

TEST(Gid, EqualGidOnTwoDevicesThePresentNetdevWins) {
    Table t = shared_device();
    GidRow other = t.rows[5];
    other.device = "aaa0";
    other.netdev = "bond9";
    other.netdev_present = false;
    t.rows.insert(t.rows.begin(), other);
    EXPECT_EQ(t.choose(), 6U);
}

TEST(Gid, PreferredDeviceWinsAmongEquals) {
    Table t = shared_device();
    GidRow other = t.rows[5];
    other.device = "rxe1";
    t.rows.push_back(other);
    EXPECT_EQ(t.choose(), 5U);
    t.query.preferred_device = "rxe1";
    EXPECT_EQ(t.choose(), 6U);
}

TEST(Gid, DeviceOptionExcludesOthers) {
    Table t = shared_device();
    t.query.device = "mlx5_0";
    EXPECT_FALSE(t.choose());
    EXPECT_THAT(t.reason(5), HasSubstr("--device"));
}

TEST(Gid, InactivePortIsNotUsed) {
    Table t = shared_device();
    t.rows[5].port_active = false;
    EXPECT_EQ(t.choose(), 3U);
}

TEST(Gid, IndexIsTakenAtTheUsersWord) {
    Table t = shared_device();
    t.query.index = 2;
    EXPECT_EQ(t.choose(), 2U);
    t.query.index = 0;
    EXPECT_FALSE(t.choose()) << "not even then a zero GID";
}

TEST(Gid, AttachedGidComesBeforeTheSource) {
    Table t = shared_device();
    t.rows.push_back(gid_row(6, "10.7.0.1", GidType::RoceV2, "eth0"));
    t.addresses.push_back({"eth0", ip("10.7.0.1")});
    t.query.sources = {ip("10.7.0.1")};
    EXPECT_EQ(t.choose(), 6U);
    t.query.attached = {{"rxe0", ip("10.9.0.1")}};
    EXPECT_EQ(t.choose(), 5U);
    EXPECT_THAT(t.reason(5), HasSubstr("rdma-hook"));
}

TEST(Gid, OfSeveralAttachmentsTheOneOnTheRoute) {
    Table t = shared_device();
    t.rows.push_back(gid_row(6, "10.8.0.1", GidType::RoceV2, "rdma1"));
    t.query.attached = {{"rxe0", ip("10.9.0.1")}, {"rxe0", ip("10.8.0.1")}};
    t.query.sources = {ip("10.8.0.1")};
    EXPECT_EQ(t.choose(), 6U);
    t.query.sources = {ip("192.0.2.1")};
    EXPECT_EQ(t.choose(), 5U) << "attachment 0 without a hint";
}

TEST(Gid, StaleAttachmentIsIgnoredWithARemark) {
    Table t = shared_device();
    t.query.attached = {{"rxe7", ip("10.1.1.1")}};
    const GidChoice choice = choose_gid(t.rows, t.addresses, t.query);
    EXPECT_EQ(choice.chosen, 5U);
    ASSERT_EQ(choice.remarks.size(), 1U);
    EXPECT_THAT(choice.remarks[0], HasSubstr("stale"));
    EXPECT_THAT(explain(t.rows, choice, t.query), HasSubstr("note: rdma-hook names GID"));
}

TEST(Gid, PeerOnThisMachineTakesAnyAddressOfOurs) {
    Table t = shared_device();
    t.query.sources = {ip("127.0.0.1")};
    EXPECT_EQ(t.choose(), 5U);
    t.query.sources.clear();
    EXPECT_EQ(t.choose(), 5U);
}

TEST(Gid, FirstSourceBeforeTheSecond) {
    Table t = shared_device();
    t.rows.push_back(gid_row(6, "10.8.0.1", GidType::RoceV2, "rdma1"));
    t.query.sources = {ip("10.8.0.1"), ip("10.9.0.1")};
    EXPECT_EQ(t.choose(), 6U);
}

TEST(Gid, InfiniBandPortNeedsNoAddress) {
    Table t;
    t.rows = {gid_row(0, "fe80::2c9:1", GidType::InfiniBand),
              gid_row(1, "fe80::2c9:2", GidType::InfiniBand)};
    t.query.sources = {ip("10.9.0.1")};
    EXPECT_EQ(t.choose(), 0U);
}

TEST(Gid, ExplanationShowsEachCandidate) {
    const Table t = shared_device();
    const auto text = explain(t.rows, choose_gid(t.rows, t.addresses, t.query), t.query);
    EXPECT_THAT(text, HasSubstr("* rxe0"));
    EXPECT_THAT(text, HasSubstr("foreign"));
    EXPECT_THAT(text, HasSubstr("source address towards the peer: 10.9.0.1"));
}

}  // namespace
}  // namespace perf
