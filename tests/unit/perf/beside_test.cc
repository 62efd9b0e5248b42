// SPDX-License-Identifier: Apache-2.0
// A latency with a load beside it: over other queue pairs, between the same two sides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perf/measure/client.h"
#include "perf/measure/schedule.h"
#include "perf/report/report.h"
#include "tests/unit/perf/report_samples.h"
#include "tests/unit/perf/session_pair.h"

namespace perf {
namespace {

using base::Result;
using testing::HasSubstr;

// Two connections to a server, as `run` has them.
Result<PointResult> run_beside(test::FakeVerbs& verbs, const Point& wanted) {
    Pair pair(verbs);
    Pair beside(verbs);
    auto result = [&]() -> Result<PointResult> {
        Client client = TRY(pair.client(verbs));
        Client load = TRY(beside.client(verbs));
        return conduct({&client, 1}, wanted, {}, {&load, 1});
    }();
    EXPECT_TRUE(pair.outcome());
    EXPECT_TRUE(beside.outcome());
    EXPECT_EQ(verbs.objects(), 0U);
    EXPECT_EQ(verbs.complaint(), "");
    return result;
}

Point with_load(Verb verb, const Load& load) {
    Point wanted = point(verb, Mode::Latency, 64);
    wanted.load = load;
    return wanted;
}

TEST(Beside, LatencyIsMeasuredWhileALoadRuns) {
    for (const Verb verb : {Verb::Write, Verb::Read, Verb::Send}) {
        Point wanted = with_load(Verb::Send, {.verb = verb, .size = 4096});
        wanted.iterations = 0;
        // A busy machine may give the load no processor for so long: it gets longer.
        for (wanted.time_ms = 50;; wanted.time_ms *= 4) {
            test::FakeVerbs verbs;
            const auto result = run_beside(verbs, wanted);
            ASSERT_TRUE(result) << result.error().message();
            ASSERT_TRUE(result->latency);
            ASSERT_TRUE(result->load);
            EXPECT_FALSE(result->checked.wrong);
            EXPECT_GT(result->checked.bytes, 3U * 4096) << "the load's data is checked, too";
            if (result->load->messages == 0 && wanted.time_ms < 10'000)
                continue;
            EXPECT_GT(result->load->messages, 0U);
            EXPECT_FALSE(result->bandwidth) << "the load is not what is measured";
            break;
        }
    }
}

TEST(Beside, ByIterationsTheLoadLastsAsLong) {
    test::FakeVerbs verbs;
    const auto result = run_beside(verbs, with_load(Verb::Read, {.verb = Verb::Write, .size = 64}));
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(result->latency->samples, 777U);
    EXPECT_GT(result->load->elapsed_ns, 0U);
}

TEST(Beside, WrongDataOfTheLoadIsWrong) {
    test::FakeVerbs verbs;
    const Point wanted = with_load(Verb::Send, {.verb = Verb::Write, .size = 64});
    const uint64_t own = uint64_t{2} * kRoundsBefore * wanted.slots;  // at most, of both sides
    ASSERT_GT(load_point(wanted).slots, own);
    verbs.inject(test::Fault::BitFlip, own + 5);
    const auto result = run_beside(verbs, wanted);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_TRUE(result->checked.wrong);
    EXPECT_FALSE(result->latency) << "nothing is measured then";
    EXPECT_FALSE(result->load);
}

TEST(Beside, TheLoadGoesTheWayOfThePoint) {
    Point wanted = with_load(Verb::Send, {.verb = Verb::Send, .size = 1 << 20});
    wanted.transport = Transport::Uc;
    wanted.ordering = Ordering::Strict;
    wanted.marks.service_level = 3;
    wanted.verify = Verify::Full;
    const Point beside = load_point(wanted);
    EXPECT_EQ(beside.mode, Mode::Bandwidth);
    EXPECT_EQ(beside.transport, Transport::Uc);
    EXPECT_EQ(beside.ordering, Ordering::Strict);
    EXPECT_EQ(beside.marks, wanted.marks);
    EXPECT_EQ(beside.verify, Verify::Edges) << "full would last for ever";
    EXPECT_EQ(beside.time_ms, kForever);
    EXPECT_FALSE(beside.load);
    EXPECT_TRUE(check_limits(beside));
}

TEST(Beside, WordsOfLoads) {
    const auto load = parse_load("write:64K");
    ASSERT_TRUE(load);
    EXPECT_EQ(*load, (Load{.verb = Verb::Write, .size = 65536}));
    EXPECT_EQ(name_of(*load), "write:65536");
    EXPECT_EQ(*parse_load(name_of(*load)), *load);
    EXPECT_FALSE(*parse_load("none"));
    EXPECT_EQ(name_of(std::optional<Load>()), "none");
    EXPECT_EQ((*parse_load("fetch_add:64"))->size, kAtomicSize);
    for (const char* text : {"", "write", "write:", ":64", "write:64:2", "wryte:64", "write:0"})
        EXPECT_FALSE(parse_load(text)) << text;
}

TEST(Beside, OnlyLatencyHasALoad) {
    Plan plan{.verbs = {Verb::Send},
              .modes = {Mode::Bandwidth, Mode::Latency},
              .sizes = {64},
              .time_ms = 10,
              .load = Load{.verb = Verb::Write, .size = 4096}};
    ASSERT_TRUE(check_plan(plan));
    for (const Point& one : expand(plan))
        EXPECT_EQ(one.load.has_value(), one.mode == Mode::Latency);
    EXPECT_EQ(describe(expand(plan).back()), "send lat 64 B beside write:4096");
    plan.modes = {Mode::Bandwidth};
    EXPECT_THAT(check_plan(plan).error().message(), HasSubstr("--with"));
    plan.modes = {Mode::Latency};
    plan.transports = {Transport::Tcp};
    EXPECT_THAT(check_plan(plan).error().message(), HasSubstr("transport tcp has no write"));
}

TEST(Beside, TheRateIsBesideTheLatency) {
    PointResult result = test::latency_result(1, 4000);
    EXPECT_EQ(to_json(result)["point"]["with"], "none");
    EXPECT_TRUE(to_json(result)["load"].is_null());
    result.point.load = Load{.verb = Verb::Write, .size = 65536};
    result.load = Bandwidth{.messages = 1600, .elapsed_ns = 1'000'000'000};
    const base::Json json = to_json(result);
    EXPECT_EQ(json["point"]["with"], "write:65536");
    EXPECT_EQ(json["load"]["bandwidth_bytes_per_s"], 1600.0 * 65536);
    EXPECT_THAT(table_row(result), HasSubstr("beside write 64 KiB 0.839 Gb/s"));
}

}  // namespace
}  // namespace perf
