// SPDX-License-Identifier: Apache-2.0
#include "perf/protocol/plan.h"

#include <gtest/gtest.h>

namespace perf {
namespace {

using Sizes = std::vector<uint32_t>;

Sizes sizes(const std::string& text) {
    auto parsed = parse_sizes(text);
    return parsed ? *parsed : Sizes{};
}

TEST(Sizes, Forms) {
    EXPECT_EQ(sizes("4096"), Sizes{4096});
    EXPECT_EQ(sizes("64,4K,64KiB,1m"), (Sizes{64, 4096, 65536, 1048576}));
    EXPECT_EQ(sizes("2..16"), (Sizes{2, 4, 8, 16}));
    EXPECT_EQ(sizes("2..100:*4"), (Sizes{2, 8, 32}));
    EXPECT_EQ(sizes("1K..3K:+1K"), (Sizes{1024, 2048, 3072}));
    EXPECT_EQ(sizes("1,4..8:+2"), (Sizes{1, 4, 6, 8}));
    EXPECT_EQ(sizes("2..8M:*2").size(), 23U);
    EXPECT_EQ(sizes("2..8M:*2").back(), 8U << 20U);
}

TEST(Sizes, RefusesTheRest) {
    for (const char* text : {"",
                             "0",
                             "-1",
                             "4096x",
                             "4 K",
                             "1T",
                             "128M",
                             "99999999999999999999",
                             "..",
                             "2..",
                             "8..2",
                             "2..8:",
                             "2..8:*1",
                             "2..8:/2",
                             "2..8:*2:*2",
                             "1,,2",
                             "1..1000:+1",
                             "1K..64M:+1"})
        EXPECT_FALSE(parse_sizes(text)) << text;
}

TEST(Time, Forms) {
    EXPECT_EQ(*parse_time_ms("2s"), 2000U);
    EXPECT_EQ(*parse_time_ms("2"), 2000U);
    EXPECT_EQ(*parse_time_ms("1.5s"), 1500U);
    EXPECT_EQ(*parse_time_ms("250ms"), 250U);
    for (const char* text : {"", "0", "-1s", "s", "ms", "nan", "inf", "1h", "3601s", "1e99"})
        EXPECT_FALSE(parse_time_ms(text)) << text;
}

TEST(Words, RoundTrip) {
    for (const Verb verb : {Verb::Write, Verb::Read, Verb::Send})
        EXPECT_EQ(*parse_word<Verb>(name_of(verb)), verb);
    for (const PollMode mode : {PollMode::Auto, PollMode::Spin, PollMode::Yield, PollMode::Event})
        EXPECT_EQ(parse_poll(name_of(mode))->mode, mode);
    EXPECT_FALSE(parse_word<Verb>("Write"));
    EXPECT_FALSE(parse_word<Mode>(""));
    EXPECT_NE(parse_word<Mode>("x").error().text.find("bw, lat"), std::string::npos);
}

TEST(Expand, EveryPointIsWithinTheLimits) {
    Plan plan{.verbs = {Verb::Write, Verb::Read, Verb::Send},
              .modes = {Mode::Bandwidth, Mode::Latency},
              .sizes = sizes("1..64M:*2"),
              .iterations = 100};
    for (const uint32_t depth : {0U, 1U, 2U, 3U, 7U, 16U, 100U, 128U}) {
        plan.depths = {depth};
        const auto points = expand(plan);
        EXPECT_EQ(points.size(), 3 * 2 * 27U);
        for (const Point& point : points) {
            EXPECT_TRUE(check_limits(point)) << describe(point) << " depth " << depth;
            if (depth != 0 && point.mode == Mode::Bandwidth) {
                EXPECT_EQ(point.depth, depth) << "what is asked for is kept";
            }
        }
    }
}

TEST(Expand, AutoFitsTheDefaultMemoryLimit) {
    for (const Point& point : expand({.verbs = {Verb::Write},
                              .modes = {Mode::Bandwidth},
                              .sizes = sizes("1..1M:*2"),
                              .iterations = 1})) {
        EXPECT_LE(uint64_t{point.slots} * (point.size + 64), 7U << 20U) << describe(point);
        EXPECT_GE(point.depth, 2 * point.batch) << "the queue would run dry";
    }
}

TEST(Expand, MessagesGoRoundInTheRing) {
    Plan plan{.verbs = {Verb::Write},
              .modes = {Mode::Bandwidth},
              .sizes = {64, 4096, 65536, 1U << 20U},
              .iterations = 1};
    const auto slots = [&] {
        std::vector<uint32_t> all;
        for (const Point& point : expand(plan))
            all.push_back(point.slots);
        return all;
    };
    EXPECT_EQ(slots(), (std::vector<uint32_t>{128, 64, 4, 1})) << "in 256 KiB, and the depth";
    plan.ring_bytes = 2U << 20U;
    EXPECT_EQ(slots(), (std::vector<uint32_t>{128, 128, 32, 2}));
    plan.qps = {8};
    EXPECT_EQ(slots(), (std::vector<uint32_t>{128, 64, 4, 1})) << "shared";
    plan.qps = {1};
    plan.ring_bytes = 65536;
    EXPECT_EQ(slots(), (std::vector<uint32_t>{128, 16, 1, 1}));
    plan.modes = {Mode::Latency};
    EXPECT_EQ(slots(), (std::vector<uint32_t>{8, 8, 1, 1}));
}

TEST(Expand, EachTransportGetsTheVerbsThatItCanCarry) {
    Plan plan{.verbs = {Verb::Write, Verb::Send},
              .modes = {Mode::Bandwidth},
              .sizes = {64, 128},
              .iterations = 1,
              .transports = {Transport::Rc, Transport::Tcp}};
    std::vector<std::string> names;
    for (const Point& point : expand(plan)) {
        EXPECT_TRUE(check_limits(point)) << describe(point);
        names.push_back(describe(point));
    }
    const std::vector<std::string> expected = {"write bw 64 B",
                                               "write bw 128 B",
                                               "send bw 64 B",
                                               "send tcp bw 64 B",
                                               "send bw 128 B",
                                               "send tcp bw 128 B"};
    EXPECT_EQ(names, expected);
    EXPECT_TRUE(needs_device(plan));
    plan.transports = {Transport::Tcp};
    EXPECT_FALSE(needs_device(plan));
    EXPECT_FALSE(check_limits(expand(plan).front())) << "nobody carries it: refused, not left out";
}

TEST(Expand, OrderingVariesWhereADeviceWrites) {
    const Plan plan{.verbs = {Verb::Send},
                    .modes = {Mode::Latency},
                    .sizes = {64},
                    .iterations = 1,
                    .transports = {Transport::Rc, Transport::Tcp},
                    .orderings = {Ordering::Relaxed, Ordering::Strict}};
    std::vector<std::string> names;
    for (const Point& point : expand(plan))
        names.push_back(describe(point));
    EXPECT_EQ(
        names,
        (std::vector<std::string>{"send lat 64 B", "send lat 64 B strict", "send tcp lat 64 B"}));
}

TEST(Limits, RefuseHostileValues) {
    const Point good{.size = 64, .depth = 8, .batch = 4, .slots = 8, .iterations = 1};
    ASSERT_TRUE(check_limits(good));
    const auto refused = [&](auto change) {
        Point point = good;
        change(point);
        return !check_limits(point);
    };
    EXPECT_TRUE(refused([](Point& p) { p.size = 0; }));
    EXPECT_TRUE(refused([](Point& p) { p.size = kMaxSize + 1; }));
    EXPECT_TRUE(refused([](Point& p) { p.depth = 0; }));
    EXPECT_TRUE(refused([](Point& p) { p.depth = UINT32_MAX; }));
    EXPECT_TRUE(refused([](Point& p) { p.batch = 0; }));
    EXPECT_TRUE(refused([](Point& p) { p.batch = 3; }));
    EXPECT_TRUE(refused([](Point& p) { p.slots = 9; }));
    EXPECT_TRUE(refused([](Point& p) { p.slots = 0; }));
    EXPECT_TRUE(refused([](Point& p) { p.iterations = 0; }));
    EXPECT_TRUE(refused([](Point& p) { p.time_ms = 5; }));
    EXPECT_TRUE(refused([](Point& p) { p.iterations = UINT64_MAX; }));
    EXPECT_TRUE(refused([](Point& p) { p.mtu = 1500; }));
    EXPECT_TRUE(refused([](Point& p) { p.mode = Mode::Latency; })) << "depth 8";
    EXPECT_TRUE(refused([](Point& p) {
        p.size = kMaxSize;
        p.slots = 5;
    })) << "memory";
}

}  // namespace
}  // namespace perf
