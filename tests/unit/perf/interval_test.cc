// SPDX-License-Identifier: Apache-2.0
// Points that tell how far they are, and points that are interrupted.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "perf/measure/client.h"
#include "perf/measure/schedule.h"
#include "perf/report/report.h"
#include "tests/unit/perf/report_samples.h"
#include "tests/unit/perf/session_pair.h"

namespace perf {
namespace {

using base::Code;
using base::Result;
using testing::HasSubstr;

bool is_readable(int fd) {
    pollfd one = {fd, POLLIN, 0};
    return ::poll(&one, 1, 0) == 1;
}

TEST(Interrupt, StopsWhatDoesNotHeedIt) {
    Stop stop;
    stop.interrupt();
    EXPECT_TRUE(stop.requested());
    EXPECT_FALSE(stop.interrupted());
}

TEST(Interrupt, OnlyAsksAtFirstWhatHeedsIt) {
    Stop stop;
    const auto heed = stop.heed();
    EXPECT_FALSE(is_readable(stop.interrupt_fd()));
    stop.interrupt();
    EXPECT_TRUE(stop.interrupted());
    EXPECT_TRUE(is_readable(stop.interrupt_fd()));
    EXPECT_FALSE(stop.requested());
    stop.interrupt();
    EXPECT_TRUE(stop.requested());
}

TEST(Interrupt, StopsWhatHasCeasedToHeedIt) {
    Stop stop;
    { const auto heed = stop.heed(); }
    stop.interrupt();
    EXPECT_TRUE(stop.requested());
}

Point endless(Verb verb, Mode mode) {
    Point wanted = point(verb, mode, 64);
    wanted.iterations = 0;
    wanted.time_ms = kForever;
    return wanted;
}

uint64_t brought(const Interim& interim) {
    return interim.latency ? interim.latency->samples : interim.bandwidth->messages;
}

// Until so many intervals have brought something; then it is interrupted.
Result<PointResult> run_interrupted(const Point& wanted, int intervals) {
    test::FakeVerbs verbs;
    Pair pair(verbs);
    const auto show = [&](const Interim& interim) {
        if (brought(interim) != 0 && --intervals == 0)
            pair.stop.interrupt();
        return Result<>();
    };
    auto result = [&]() -> Result<PointResult> {
        Client client = TRY(pair.client(verbs));
        return conduct({&client, 1}, wanted, {.interval_ms = kMinIntervalMs, .show = show});
    }();
    EXPECT_TRUE(pair.outcome()) << "the server is asked to end, too";
    EXPECT_EQ(verbs.objects(), 0U);
    EXPECT_EQ(verbs.complaint(), "");
    return result;
}

void expect_seamless(const std::vector<Interim>& intervals) {
    uint64_t end = 0;
    for (const Interim& one : intervals) {
        EXPECT_EQ(one.begin_ns, end);
        EXPECT_GT(one.end_ns, one.begin_ns);
        end = one.end_ns;
    }
}

TEST(Interval, ABandwidthWithoutAnEndIsInterrupted) {
    for (const Direction direction : {Direction::Forward, Direction::Reverse, Direction::Both}) {
        Point wanted = endless(Verb::Send, Mode::Bandwidth);
        wanted.direction = direction;
        const auto result = run_interrupted(wanted, 2);
        ASSERT_TRUE(result) << result.error().message();
        EXPECT_FALSE(result->complete);
        EXPECT_FALSE(result->checked.wrong);
        EXPECT_GE(result->intervals.size(), 2U);
        expect_seamless(result->intervals);
        uint64_t sum = 0;
        for (const Interim& one : result->intervals)
            sum += one.bandwidth->messages;
        EXPECT_GT(sum, 0U);
        EXPECT_LE(sum, result->bandwidth->messages) << "the last one may be too short to count";
    }
}

TEST(Interval, ALatencyWithoutAnEndIsInterrupted) {
    Point open = endless(Verb::Send, Mode::Latency);
    open.rate = 500;
    open.depth = open.slots = 32;
    for (const Point& wanted :
         {endless(Verb::Send, Mode::Latency), endless(Verb::Read, Mode::Latency), open}) {
        const auto result = run_interrupted(wanted, 2);
        ASSERT_TRUE(result) << describe(wanted) << ": " << result.error().message();
        EXPECT_FALSE(result->complete);
        expect_seamless(result->intervals);
        uint64_t sum = 0;
        for (const Interim& one : result->intervals)
            sum += one.latency->samples;
        EXPECT_GT(sum, 0U);
        EXPECT_LE(sum, result->latency->samples);
    }
}

TEST(Interval, APointThatEndsByItselfIsComplete) {
    Point wanted = endless(Verb::Send, Mode::Bandwidth);
    wanted.time_ms = 3 * kMinIntervalMs;
    const auto result = run_interrupted(wanted, -1);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_TRUE(result->complete);
    EXPECT_GE(result->intervals.size(), 1U) << "one may be longer on a busy machine";
}

// As soon as enough messages have passed.
Result<PointResult> run_interrupted_by_iterations(Point wanted) {
    wanted.verify = Verify::Edges;
    wanted.iterations = kMaxIterations;
    test::FakeVerbs verbs;
    Pair pair(verbs);
    const auto heed = pair.stop.heed();  // before the point does
    std::jthread interrupter([&](const std::stop_token& over) {
        while (verbs.messages() < 5000 && !over.stop_requested())
            std::this_thread::yield();
        pair.stop.interrupt();
    });
    auto result = [&]() -> Result<PointResult> {
        Client client = TRY(pair.client(verbs));
        return conduct({&client, 1}, wanted);
    }();
    interrupter.request_stop();
    EXPECT_TRUE(pair.outcome());
    return result;
}

TEST(Interrupt, LeavesAResultByIterations) {
    for (const Mode mode : {Mode::Bandwidth, Mode::Latency}) {
        const auto result = run_interrupted_by_iterations(point(Verb::Send, mode, 64));
        ASSERT_TRUE(result) << result.error().message();
        EXPECT_FALSE(result->complete);
        EXPECT_FALSE(result->checked.wrong);
        EXPECT_GT(result->latency ? result->latency->samples : result->bandwidth->messages, 0U);
    }
}

TEST(Interval, APlanWithoutAnEndIsOnePointThatIsWatched) {
    Plan plan{.verbs = {Verb::Write},
              .modes = {Mode::Bandwidth},
              .sizes = {64},
              .time_ms = kForever,
              .interval_ms = 1000};
    EXPECT_TRUE(check_plan(plan));
    const auto refused_by = [&](auto change) {
        Plan other = plan;
        change(other);
        const auto checked = check_plan(other);
        EXPECT_FALSE(checked);
        return checked ? base::Error{} : checked.error();
    };
    const auto none = refused_by([](Plan& p) { p.interval_ms = 0; });
    EXPECT_EQ(none.code, Code::Usage);
    EXPECT_THAT(none.message(), HasSubstr("--time forever needs --interval"));
    EXPECT_THAT(refused_by([](Plan& p) {
                    p.sizes = {64, 128};
                }).message(),
                HasSubstr("the plan has 2"));
    EXPECT_THAT(refused_by([](Plan& p) { p.reps = 3; }).message(), HasSubstr("the plan has 3"));
    EXPECT_THAT(refused_by([](Plan& p) { p.verify = Verify::Full; }).message(),
                HasSubstr("--verify"));
    EXPECT_THAT(refused_by([](Plan& p) { p.interval_ms = 99; }).message(), HasSubstr("99 ms"));
    EXPECT_THAT(refused_by([](Plan& p) { p.interval_ms = 60'001; }).message(),
                HasSubstr("60001 ms"));
    const auto counted = refused_by([](Plan& p) {
        p.time_ms = 0;
        p.iterations = 10;
    });
    EXPECT_THAT(counted.message(), HasSubstr("by time"));
}

// Its patience begins again with each `mark`: an hour is enough.
TEST(Interval, NoServerHearsOfAPointWithoutAnEnd) {
    base::Json json = to_json(endless(Verb::Write, Mode::Bandwidth));
    EXPECT_FALSE(parse<Point>(json));
    json["time_ms"] = kMaxTimeMs;
    EXPECT_TRUE(parse<Point>(json));
}

TEST(Interval, IsALineWhileThePointRuns) {
    Interim interim{.begin_ns = 1'000'000'000, .end_ns = 2'004'000'000};
    interim.bandwidth = Bandwidth{.messages = 1024, .elapsed_ns = 1'000'000'000};
    EXPECT_THAT(interim_row(test::bandwidth_result(1, 1).point, interim),
                HasSubstr("  write bw 4096 B  1.0 to 2.0 s    0.0336 Gb/s  0.00102 Mpps\n"));
    interim.bandwidth.reset();
    interim.latency = test::latency_result(1, 4000).latency;
    EXPECT_THAT(interim_row(test::latency_result(1, 1).point, interim),
                HasSubstr("  send lat 64 B  1.0 to 2.0 s  min 2.00  avg 4.00  p50 4.00"));
    PointResult result = test::bandwidth_result(1, 1000);
    EXPECT_THAT(table_row(result), testing::Not(HasSubstr("interrupted")));
    result.complete = false;
    EXPECT_THAT(table_row(result), HasSubstr("  interrupted"));
    EXPECT_EQ(to_json(result)["complete"], false);
}

}  // namespace
}  // namespace perf
