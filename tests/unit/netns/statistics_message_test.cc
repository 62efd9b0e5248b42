// SPDX-License-Identifier: Apache-2.0
// The request for a link's counters, and the values read from the answer.
#include "netns/kernel/statistics_message.h"

#include <cstring>

#include <gtest/gtest.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

namespace netns {
namespace {

using netlink::Reply;

// An answer with the counters 1, 2, 3, ..., cut or grown to `size` bytes.
Reply answer(size_t size) {
    netlink::Request request{RTM_NEWSTATS, 0};
    std::vector<uint8_t> bytes(size);
    for (uint64_t i = 0; i < size / sizeof i; ++i) {
        const uint64_t value = i + 1;
        std::memcpy(bytes.data() + i * sizeof i, &value, sizeof value);
    }
    request.header(if_stats_msg{}).put(IFLA_STATS_LINK_64, bytes);
    const auto* raw = reinterpret_cast<const uint8_t*>(request.raw());
    return {RTM_NEWSTATS, {raw + NLMSG_HDRLEN, raw + request.raw()->nlmsg_len}};
}

TEST(StatisticsMessage, AsksForTheOneGroupOfOneLink) {
    netlink::Request request = counters_request(0x40000001);
    ASSERT_TRUE(request.complete());
    const auto* header = static_cast<const if_stats_msg*>(nlmsg_data(request.raw()));
    EXPECT_EQ(request.raw()->nlmsg_type, RTM_GETSTATS);
    EXPECT_EQ(header->ifindex, 0x40000001U);
    EXPECT_EQ(header->filter_mask, 1U);
}

TEST(StatisticsMessage, OlderAndYoungerKernelsAreUnderstood) {
    for (const size_t size : {23 * sizeof(uint64_t), sizeof(rtnl_link_stats64), size_t{400}}) {
        const auto counters = parse_counters(answer(size));
        ASSERT_TRUE(counters) << size;
        EXPECT_EQ(*counters,
                  (Counters{{"rx_packets", 1},
                            {"tx_packets", 2},
                            {"rx_bytes", 3},
                            {"tx_bytes", 4},
                            {"rx_errors", 5},
                            {"tx_errors", 6},
                            {"rx_dropped", 7},
                            {"tx_dropped", 8},
                            {"multicast", 9}}));
    }
}

TEST(StatisticsMessage, WhatIsCutOrOfSomethingElseIsNone) {
    EXPECT_FALSE(parse_counters(answer(64)));
    Reply other = answer(sizeof(rtnl_link_stats64));
    other.type = RTM_NEWLINK;
    EXPECT_FALSE(parse_counters(other));
    const Reply whole = answer(23 * sizeof(uint64_t));
    for (size_t size = 0; size < whole.payload.size(); ++size)
        EXPECT_FALSE(parse_counters(
            {whole.type, {whole.payload.begin(), whole.payload.begin() + static_cast<long>(size)}}))
            << size;
}

TEST(StatisticsMessage, OnlyNumbersAreCounters) {
    EXPECT_EQ(parse_counter("18446744073709551615"), 18446744073709551615ULL);
    EXPECT_EQ(parse_counter("0"), 0U);
    for (const char* text : {"", "N/A (no PMA)", "-1", "1 ", "18446744073709551616", "0x1"})
        EXPECT_FALSE(parse_counter(text)) << text;
}

}  // namespace
}  // namespace netns
