// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <gtest/gtest.h>
#include <linux/dcbnl.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "perf/system/counters.h"

namespace perf {
namespace {

using Payload = std::vector<std::byte>;

template <class Value>
Payload bytes_of(const Value& value) {
    const auto* begin = reinterpret_cast<const std::byte*>(&value);
    return {begin, begin + sizeof value};
}

Payload bytes_of(const std::string& text) {
    const auto* begin = reinterpret_cast<const std::byte*>(text.c_str());
    return {begin, begin + text.size() + 1};
}

Payload attribute(int type, const Payload& value) {
    Payload out = bytes_of(
        nlattr{static_cast<uint16_t>(NLA_HDRLEN + value.size()), static_cast<uint16_t>(type)});
    out.insert(out.end(), value.begin(), value.end());
    out.resize(NLA_ALIGN(out.size()));
    return out;
}

Payload operator+(Payload left, const Payload& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

// With the kernel's flag of a nest, and an attribute that pads a 64 bit number.
Payload counter(const std::string& name, const Payload& value) {
    return attribute(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY | NLA_F_NESTED,
                     attribute(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, bytes_of(name)) +
                         attribute(RDMA_NLDEV_ATTR_PAD, {}) +
                         attribute(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, value));
}

Payload statistics(const Payload& counters) {
    return attribute(RDMA_NLDEV_ATTR_DEV_INDEX, bytes_of(uint32_t{3})) +
           attribute(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS | NLA_F_NESTED, counters);
}

TEST(PortStatistics, AreReadFromTheKernelsMessage) {
    const Payload message = statistics(counter("sent_pkts", bytes_of(uint64_t{70671})) +
                                       counter("rcvd_seq_err", bytes_of(uint64_t{0})));
    EXPECT_EQ(parse_statistics(message), (Counters{{"rcvd_seq_err", 0}, {"sent_pkts", 70671}}));
}

TEST(PortStatistics, WhatIsNoNumberOrHasNoNameIsLeftOut) {
    EXPECT_EQ(parse_statistics(statistics(counter("narrow", bytes_of(uint32_t{1})) +
                                          counter("", bytes_of(uint64_t{1})) +
                                          counter("good", bytes_of(uint64_t{1})))),
              (Counters{{"good", 1}}));
    EXPECT_EQ(parse_statistics(counter("not in the table", bytes_of(uint64_t{1}))), Counters{});
    EXPECT_EQ(parse_statistics({}), Counters{});
}

TEST(PortStatistics, ACutMessageIsReadNoFurtherThanItGoes) {
    const Payload whole = statistics(counter("sent_pkts", bytes_of(uint64_t{1})));
    for (size_t length = 0; length < whole.size(); ++length) {
        // Memory of its own, so that a sanitizer sees a byte too many.
        const Payload cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length));
        EXPECT_EQ(parse_statistics(cut), Counters{}) << length;
    }
}

TEST(PortStatistics, TheDeviceIsFoundByItsWholeName) {
    const Payload message = attribute(RDMA_NLDEV_ATTR_DEV_INDEX, bytes_of(uint32_t{7})) +
                            attribute(RDMA_NLDEV_ATTR_DEV_NAME, bytes_of(std::string("rxe10")));
    EXPECT_EQ(parse_index(message, "rxe10"), 7U);
    EXPECT_EQ(parse_index(message, "rxe1"), std::nullopt);
    EXPECT_EQ(
        parse_index(attribute(RDMA_NLDEV_ATTR_DEV_NAME, bytes_of(std::string("rxe10"))), "rxe10"),
        std::nullopt);
}

// The answer of `dcb pfc show`: the netdev's name, and the IEEE's objects in a nest.
TEST(Pfc, IsReadFromTheKernelsMessage) {
    ieee_pfc pfc{};
    pfc.pfc_cap = 8;
    pfc.pfc_en = 0x08;
    const auto answer = [&](int type) {
        return bytes_of(dcbmsg{}) + attribute(DCB_ATTR_IFNAME, bytes_of(std::string("eth0"))) +
               attribute(DCB_ATTR_IEEE | NLA_F_NESTED,
                         attribute(DCB_ATTR_IEEE_ETS, bytes_of(ieee_ets{})) +
                             attribute(type, bytes_of(pfc)));
    };
    EXPECT_EQ(parse_pfc(answer(DCB_ATTR_IEEE_PFC)), 0x08);
    EXPECT_EQ(parse_pfc(answer(DCB_ATTR_IEEE_MAXRATE)), std::nullopt);
    const Payload whole = answer(DCB_ATTR_IEEE_PFC);
    for (size_t length = 0; length < whole.size(); ++length)
        EXPECT_EQ(parse_pfc(Payload(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length))),
                  std::nullopt)
            << length;
}

// lo has no DCB, as no software device has.
TEST(Pfc, OfANetdevWithoutIsAnError) {
    const auto lo = pfc_of("lo");
    ASSERT_FALSE(lo);
    EXPECT_NE(lo.error().sys, 0);
    EXPECT_NE(lo.error().message().find("ask for PFC of lo"), std::string::npos);
    EXPECT_FALSE(pfc_of("no-such-netdev"));
}

// The kernel that runs this test has no such device, or no RDMA at all.
TEST(PortStatistics, OfNoDeviceAreNone) {
    EXPECT_EQ(port_statistics("no-such-device", 1), Counters{});
}

}  // namespace
}  // namespace perf
