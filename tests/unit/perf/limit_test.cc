// SPDX-License-Identifier: Apache-2.0
// Every expected figure is worked out by hand from the table in limit.h.
#include "perf/verbs/limit.h"

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

namespace perf {
namespace {

constexpr uint32_t kMiB = 1U << 20U;
constexpr double k100G = 12.5e9;  // bytes per second of 100 Gbit/s

perf::Wire wire(HeaderStack stack, uint32_t mtu) {
    return {.link_bps = 100'000'000'000, .mtu = mtu, .stack = stack};
}

Point moves(Verb verb, uint32_t size, Transport transport = Transport::Rc) {
    return {.verb = verb, .transport = transport, .size = size};
}

double limit(const perf::Wire& wire, const Point& point) {
    return payload_limit(wire, point).value_or(-1);
}

TEST(PayloadLimit, RoceV2OverIpv4) {
    // A packet: 38 Ethernet, 20 IPv4, 8 UDP, 12 BTH, 4 ICRC = 82; 256 of them, RETH once.
    EXPECT_DOUBLE_EQ(limit(wire(HeaderStack::RoceV2Ipv4, 4096), moves(Verb::Write, kMiB)),
                     k100G * 1048576 / 1069584);
    EXPECT_NEAR(
        limit(wire(HeaderStack::RoceV2Ipv4, 4096), moves(Verb::Write, kMiB)), 12.2545e9, 1e5);
    // 1024 packets: 1048576 + 1024 * 82 + 16.
    EXPECT_DOUBLE_EQ(limit(wire(HeaderStack::RoceV2Ipv4, 1024), moves(Verb::Write, kMiB)),
                     k100G * 1048576 / 1132560);
    EXPECT_NEAR(
        limit(wire(HeaderStack::RoceV2Ipv4, 1024), moves(Verb::Write, kMiB)), 11.5731e9, 1e5);
}

TEST(PayloadLimit, OtherStacksOverEthernet) {
    const Point send = moves(Verb::Send, 4096);
    EXPECT_DOUBLE_EQ(limit(wire(HeaderStack::RoceV2Ipv6, 4096), send), k100G * 4096 / 4198);
    EXPECT_DOUBLE_EQ(limit(wire(HeaderStack::RoceV1, 4096), send), k100G * 4096 / 4190);
}

TEST(PayloadLimit, InfiniBand) {
    // LRH 8, BTH 12, ICRC 4, VCRC 2.
    EXPECT_DOUBLE_EQ(limit(wire(HeaderStack::InfiniBand, 2048), moves(Verb::Send, 4096)),
                     k100G * 4096 / (4096 + 2 * 26));
}

TEST(PayloadLimit, EachVerbHasItsHeaders) {
    const auto w = wire(HeaderStack::RoceV2Ipv4, 1024);
    EXPECT_DOUBLE_EQ(limit(w, moves(Verb::Send, 64)), k100G * 64 / 146);
    EXPECT_DOUBLE_EQ(limit(w, moves(Verb::Write, 64)), k100G * 64 / 162);
    EXPECT_DOUBLE_EQ(limit(w, moves(Verb::WriteImm, 64)), k100G * 64 / 166);
    EXPECT_DOUBLE_EQ(limit(w, moves(Verb::Send, 64, Transport::Ud)), k100G * 64 / 154);
    // One response has AETH once, two have it in both.
    EXPECT_DOUBLE_EQ(limit(w, moves(Verb::Read, 64)), k100G * 64 / 150);
    EXPECT_DOUBLE_EQ(limit(w, moves(Verb::Read, 1025)), k100G * 1025 / (1028 + 2 * 82 + 8));
}

TEST(PayloadLimit, SmallReadsAreHeldBackByTheirRequests) {
    // The request: 82 + RETH 16. The response: 82 + 4 + AETH 4.
    EXPECT_DOUBLE_EQ(limit(wire(HeaderStack::RoceV2Ipv4, 1024), moves(Verb::Read, 1)), k100G / 98);
}

TEST(PayloadLimit, PayloadIsPaddedToFour) {
    const auto w = wire(HeaderStack::RoceV2Ipv4, 1024);
    EXPECT_DOUBLE_EQ(limit(w, moves(Verb::Send, 5)), k100G * 5 / 90);
    EXPECT_DOUBLE_EQ(limit(w, moves(Verb::Send, 8)), k100G * 8 / 90);
}

TEST(PayloadLimit, NothingIsKnownAboutNothing) {
    const auto w = wire(HeaderStack::RoceV2Ipv4, 1024);
    EXPECT_FALSE(payload_limit({.link_bps = 0, .mtu = 1024}, moves(Verb::Write, 64)));
    EXPECT_FALSE(payload_limit({.link_bps = 1, .mtu = 0}, moves(Verb::Write, 64)));
    EXPECT_FALSE(payload_limit(w, moves(Verb::Write, 0)));
    EXPECT_FALSE(payload_limit(w, moves(Verb::FetchAdd, 8)));
    EXPECT_FALSE(payload_limit(w, moves(Verb::Send, 64, Transport::Srd)));
    EXPECT_FALSE(payload_limit(w, moves(Verb::Send, 64, Transport::Tcp)));
    EXPECT_FALSE(payload_limit({}, moves(Verb::Write, 64)));
}

TEST(PayloadLimit, IwarpHasNone) {
    // Verbs do not know an iWARP port's MTU: the bound would be wrong.
    EXPECT_FALSE(payload_limit(wire(HeaderStack::Iwarp, 1024), moves(Verb::Send, 64)));
}

TEST(PayloadLimit, AWriteThatMayGetLostHasAnImmediate) {
    const auto w = wire(HeaderStack::RoceV2Ipv4, 1024);
    const auto carries_one = [&](Verb verb, Transport transport) {
        const bool writes = verb == Verb::Write || verb == Verb::WriteImm;
        const double without = verb == Verb::Read ? 150 : writes ? 162 : 146;
        return limit(w, moves(verb, 64, transport)) < k100G * 64 / without;
    };
    EXPECT_FALSE(carries_one(Verb::Write, Transport::Rc));
    EXPECT_TRUE(carries_one(Verb::Write, Transport::Uc));
    EXPECT_TRUE(carries_one(Verb::WriteImm, Transport::Rc));
    EXPECT_TRUE(carries_one(Verb::SendImm, Transport::Rc));
    EXPECT_FALSE(carries_one(Verb::Send, Transport::Uc));
    EXPECT_FALSE(carries_one(Verb::Read, Transport::Rc));
}

// 64 KiB at 100 Gbit/s for half a second, 8 MiB at 10 Gbit/s.
TEST(LimitMargin, IsOfTheClocksAndOfWhatCompletesAtOnce) {
    const Point small{.qps = 1, .batch = 4, .time_ms = 500};
    EXPECT_NEAR(limit_margin(small, 95'000), 1.004, 0.001);
    EXPECT_FALSE((LimitShare{100.004, limit_margin(small, 95'000)}.exceeds()));
    EXPECT_TRUE((LimitShare{102, limit_margin(small, 95'000)}.exceeds()));
    const Point large{.qps = 2, .batch = 1, .time_ms = 500};
    EXPECT_DOUBLE_EQ(limit_margin(large, 80), 3.5);
}

TEST(LimitMargin, NothingOfACountedRunIsOutsideOfItsTime) {
    EXPECT_DOUBLE_EQ(limit_margin({.qps = 2, .batch = 16, .iterations = 100}, 100), 1);
    EXPECT_DOUBLE_EQ(limit_margin({.qps = 2, .batch = 16, .time_ms = 1}, 0), 1);
}

TEST(PortSpeed, FromWidthAndSpeed) {
    constexpr bool kEthernetPort = true;
    EXPECT_EQ(port_bps(2, 32, kEthernetPort), 100'000'000'000U);  // 4X EDR
    EXPECT_EQ(port_bps(1, 32, kEthernetPort), 25'000'000'000U);
    EXPECT_EQ(port_bps(1, 4, kEthernetPort), 10'000'000'000U);
    EXPECT_EQ(port_bps(2, 4, !kEthernetPort), 32'000'000'000U);   // 4X QDR, 8b/10b
    EXPECT_EQ(port_bps(2, 16, !kEthernetPort), 54'545'454'545U);  // 4X FDR, 64b/66b
    EXPECT_EQ(port_bps(16, 64, !kEthernetPort), 100'000'000'000U);
    EXPECT_EQ(port_bps(2, 128, !kEthernetPort), 400'000'000'000U);
    EXPECT_EQ(port_bps(2, 256, !kEthernetPort), 800'000'000'000U);
    EXPECT_EQ(port_bps(8, 1, !kEthernetPort), 24'000'000'000U);
    for (const uint32_t strange : {0U, 3U, 255U, 512U}) {
        EXPECT_EQ(port_bps(strange, 32, kEthernetPort), 0U) << strange;
        EXPECT_EQ(port_bps(2, strange, kEthernetPort), 0U) << strange;
    }
}

TEST(PortSpeed, OfAQueriedPort) {
    ibv_port_attr port{};
    port.active_width = 2;
    port.active_speed = 64;
    EXPECT_EQ(port_bps(port, true), 200'000'000'000U);

    struct {
        uint8_t active_width = 2;
        uint8_t active_speed = 128;
        uint32_t active_speed_ex = 256;
    } newer;

    EXPECT_EQ(port_bps(newer, true), 800'000'000'000U);
}

TEST(WireBetween, TakesTheSlowerKnownSide) {
    DeviceInfo own;
    own.gid = parse_address("10.9.0.1").value();
    own.link_bps = 100;
    DeviceInfo peer = own;
    peer.link_bps = 25;
    EXPECT_EQ(wire_between(own, peer, 1024).link_bps, 25U);
    peer.link_bps = 0;
    EXPECT_EQ(wire_between(own, peer, 1024).link_bps, 100U);
    EXPECT_EQ(wire_between(own, peer, 1024).stack, HeaderStack::RoceV2Ipv4);
    own.gid = parse_address("fd00::1").value();
    EXPECT_EQ(wire_between(own, peer, 1024).stack, HeaderStack::RoceV2Ipv6);
    own.gid_type = GidType::RoceV1;
    EXPECT_EQ(wire_between(own, peer, 1024).stack, HeaderStack::RoceV1);
    own.gid_type = GidType::InfiniBand;
    own.lid = 7;
    EXPECT_EQ(wire_between(own, peer, 1024).stack, HeaderStack::InfiniBandGrh) << "two subnets";
    peer.gid = own.gid;
    EXPECT_EQ(wire_between(own, peer, 1024).stack, HeaderStack::InfiniBand);
    own.lid = 0;
    EXPECT_EQ(wire_between(own, peer, 1024).stack, HeaderStack::Iwarp);
}

}  // namespace
}  // namespace perf
