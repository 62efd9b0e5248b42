// SPDX-License-Identifier: Apache-2.0
// What a measurement brings is looked at while it runs, and what it leaves in memory at its end.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perf/engine/integrity.h"
#include "tests/unit/perf/session_pair.h"

namespace perf {
namespace {

using test::FakeVerbs;
using test::Fault;
using testing::HasSubstr;
using testing::StartsWith;

struct Way {
    Verb verb;
    Direction direction;
};

constexpr Way kWays[] = {{Verb::Write, Direction::Forward},
                         {Verb::Write, Direction::Reverse},
                         {Verb::WriteImm, Direction::Forward},
                         {Verb::WriteImm, Direction::Reverse},
                         {Verb::Read, Direction::Forward},
                         {Verb::Read, Direction::Reverse}};

Point loaded(const Way& way, uint64_t iterations) {
    Point p = point(way.verb, Mode::Bandwidth, 500);
    p.direction = way.direction;
    p.iterations = iterations;
    return p;
}

// The number of the measurement's last message, of all that the provider moves.
uint64_t last_of(const Point& p) {
    return kRoundsBefore * p.slots + warmup_of(p, p.iterations) + p.iterations - 1;
}

std::string_view side_that_sees(const Way& way) {
    const bool posts_here = way.direction == Direction::Forward;
    return posts_here == (way.verb == Verb::Read) ? "client" : "server";
}

TEST(Load, AWrongBitOfAMeasuredMessageIsFound) {
    for (const Way& way : kWays) {
        const Point p = loaded(way, 777);
        FakeVerbs verbs;
        verbs.inject(Fault::BitFlip, last_of(p));
        const auto result = run_one(verbs, p);
        ASSERT_TRUE(result) << result.error().message();
        ASSERT_TRUE(result->checked.wrong) << describe(p);
        EXPECT_THAT(result->checked.wrong->mismatch.kind, StartsWith("bit flip, "));
        EXPECT_EQ(result->checked.wrong->side, side_that_sees(way));
        EXPECT_TRUE(result->bandwidth) << "the numbers are there, and so is what they are worth";
    }
}

TEST(Load, AByteInAGuardBandIsFound) {
    for (const Way& way : kWays) {
        const Point p = loaded(way, 777);
        FakeVerbs verbs;
        verbs.inject(Fault::Stray, kRoundsBefore * p.slots + 300);
        const auto result = run_one(verbs, p);
        ASSERT_TRUE(result) << result.error().message();
        ASSERT_TRUE(result->checked.wrong) << describe(p);
        EXPECT_TRUE(result->checked.wrong->guard);
        EXPECT_THAT(result->checked.wrong->mismatch.kind, HasSubstr("after the measurement"));
    }
}

// The round before has left the same data in the slot.
TEST(Load, ASlotThatIsNeverWrittenIsFound) {
    for (const Way& way : kWays) {
        const Point p = loaded(way, point(way.verb, Mode::Bandwidth, 500).slots);
        FakeVerbs verbs;
        verbs.inject(Fault::Stale, last_of(p));
        const auto result = run_one(verbs, p);
        ASSERT_TRUE(result) << result.error().message();
        ASSERT_TRUE(result->checked.wrong) << describe(p);
        EXPECT_EQ(result->checked.wrong->message, kRoundsBefore * p.slots - 1);
        EXPECT_LT(result->checked.wrong->mismatch.offset, 8U);
        EXPECT_THAT(result->checked.wrong->mismatch.kind, HasSubstr("after the measurement"));
    }
}

TEST(Load, OfFewMessagesIsInTheirSlots) {
    for (const Way& way : kWays) {
        Point p = loaded(way, 7);
        p.qps = 2;
        FakeVerbs verbs;
        const auto result = run_one(verbs, p);
        ASSERT_TRUE(result) << result.error().message();
        EXPECT_FALSE(result->checked.wrong) << result->checked.wrong->mismatch.kind;
        EXPECT_EQ(result->checked.messages, 3 * 2 * p.slots + 7);
    }
}

TEST(Load, ByTimeIsInAllSlotsOfAllLanes) {
    for (const Verb verb : {Verb::Write, Verb::WriteImm, Verb::Read}) {
        Point p = loaded({verb, Direction::Both}, 0);
        p.qps = 3;
        p.threads = 2;
        p.depth = p.slots = p.batch = 4;
        const auto result = run_by_time(p, 50);
        ASSERT_TRUE(result) << result.error().message();
        EXPECT_FALSE(result->checked.wrong) << result->checked.wrong->mismatch.kind;
        EXPECT_GT(result->checked.messages, 2 * 3 * 3 * p.slots);
        EXPECT_LE(result->checked.messages, 2 * 4 * 3 * p.slots);
    }
}

// What may get lost, and what a receive takes wherever it is, is not looked at.
TEST(Load, IsLookedAtWhereItsPlaceIsKnown) {
    EXPECT_FALSE(looks_at_memory(point(Verb::Send, Mode::Bandwidth)));
    EXPECT_FALSE(looks_at_memory(point(Verb::FetchAdd, Mode::Bandwidth)));
    EXPECT_FALSE(looks_at_memory(point(Verb::Write, Mode::Latency)));
    EXPECT_FALSE(looks_at_memory(point(Verb::Write, Mode::Bandwidth, 500, Transport::Uc)));
    EXPECT_TRUE(looks_at_memory(point(Verb::Write, Mode::Bandwidth)));
    Point by_time = point(Verb::Send, Mode::Bandwidth);
    by_time.iterations = 0;
    EXPECT_TRUE(looks_at_memory(by_time));
    by_time.depth = by_time.slots + 1;
    EXPECT_FALSE(looks_at_memory(by_time)) << "its slots come out of step";
    by_time.depth = by_time.slots;
    by_time.direction = Direction::Both;
    by_time.connect = Connect::Cm;
    EXPECT_FALSE(looks_at_memory(by_time)) << "credits of iWARP take receives";
}

// ---- while it runs ------------------------------------------------------------------------------
// By time, until a window was long enough for the thread that looks on.
PointResult sampled(Point p, const std::function<void(FakeVerbs&)>& prepare = {}) {
    p.iterations = 0;
    for (p.time_ms = 100;; p.time_ms *= 2) {
        FakeVerbs verbs;
        if (prepare)
            prepare(verbs);
        auto result = run_one(verbs, p);
        EXPECT_TRUE(result) << result.error().message();
        if (!result || result->checked.sampled != 0 || p.time_ms > 5000)
            return result.value();
    }
}

Point loaded(Verb verb, Direction direction, Transport transport = Transport::Rc) {
    Point p = point(verb, Mode::Bandwidth, 500, transport);
    p.direction = direction;
    return p;
}

constexpr Verb kLookedAt[] = {Verb::Write, Verb::WriteImm, Verb::Read, Verb::Send, Verb::SendImm};

TEST(Sampling, BandwidthByTimeIsLookedAt) {
    for (const Verb verb : kLookedAt) {
        for (const Direction direction :
             {Direction::Forward, Direction::Reverse, Direction::Both}) {
            Point p = loaded(verb, direction);
            p.qps = 3;
            p.threads = 2;
            const PointResult result = sampled(p);
            EXPECT_GT(result.checked.sampled, 0U) << describe(p);
            EXPECT_FALSE(result.checked.wrong)
                << describe(p) << ": " << result.checked.wrong->mismatch.kind;
        }
    }
}

TEST(Sampling, AWrongBitOfAMeasuredMessageIsFoundWhileThePointRuns) {
    for (const Verb verb : kLookedAt) {
        for (const Direction direction : {Direction::Forward, Direction::Reverse}) {
            const Point p = loaded(verb, direction);
            const PointResult result = sampled(p, [&](FakeVerbs& verbs) {
                verbs.inject(Fault::BitFlip, kRoundsBefore * p.slots, UINT64_MAX);
            });
            ASSERT_TRUE(result.checked.wrong) << describe(p);
            EXPECT_EQ(result.checked.wrong->mismatch.kind, "bit flip, under load") << describe(p);
            EXPECT_EQ(result.checked.wrong->side, side_that_sees({verb, direction}));
            EXPECT_TRUE(result.bandwidth);
        }
    }
}

TEST(Sampling, SendOverTcpIsLookedAt) {
    const Point p = loaded(Verb::Send, Direction::Both, Transport::Tcp);
    const PointResult result = sampled(p);
    EXPECT_GT(result.checked.sampled, 0U);
    EXPECT_FALSE(result.checked.wrong) << result.checked.wrong->mismatch.kind;
}

// The first one of either side, in the warm-up. A server looks once it has answered. The next WRITE
// may be in that slot by then, and so each message to the server has a wrong bit.
TEST(Sampling, AWrongBitOfALatencyIsFoundWhileThePointRuns) {
    for (const Verb verb : kLookedAt) {
        const Point p = point(verb, Mode::Latency, 500);
        const uint64_t sides = is_ping_pong(p) ? 2 : 1;
        for (uint64_t side = 0; side < sides; ++side) {
            FakeVerbs verbs;
            const bool overwritten = sides == 2 && side == 0 && !is_send(verb);
            verbs.inject(Fault::BitFlip,
                         kRoundsBefore * p.slots * sides + side,
                         overwritten ? UINT64_MAX : 1,
                         sides);
            const auto result = run_one(verbs, p);
            ASSERT_TRUE(result) << result.error().message();
            ASSERT_TRUE(result->checked.wrong) << describe(p);
            EXPECT_EQ(result->checked.wrong->mismatch.kind, "bit flip, under load");
            EXPECT_EQ(result->checked.wrong->side, side + 1 == sides ? "client" : "server");
            EXPECT_TRUE(result->latency);
        }
    }
}

// A round of the same data went before: only poison shows that nothing came.
TEST(Sampling, ASlotOfALatencyThatIsNeverWrittenIsFound) {
    const Point p = point(Verb::Read, Mode::Latency, 500);
    FakeVerbs verbs;
    verbs.inject(Fault::Stale, kRoundsBefore * p.slots);
    const auto result = run_one(verbs, p);
    ASSERT_TRUE(result) << result.error().message();
    ASSERT_TRUE(result->checked.wrong);
    EXPECT_THAT(result->checked.wrong->mismatch.kind, HasSubstr("under load"));
}

TEST(Sampling, OfALatencyIsOneInAThousand) {
    Point p = point(Verb::Send, Mode::Latency, 500);
    p.iterations = 3000;
    FakeVerbs verbs;
    const auto result = run_one(verbs, p);
    ASSERT_TRUE(result) << result.error().message();
    // The client looks at the first one of the warm-up, too.
    EXPECT_EQ(result->checked.sampled, 1U + 3U + 3U);
}

TEST(Sampling, WithoutVerificationNothingIsLookedAt) {
    for (const Mode mode : {Mode::Bandwidth, Mode::Latency}) {
        for (const Verb verb : kLookedAt) {
            Point p = point(verb, mode, 500);
            p.verify = Verify::Off;
            const auto result = run_by_time(p, 60);
            ASSERT_TRUE(result) << result.error().message();
            EXPECT_EQ(result->checked.sampled, 0U);
        }
    }
}

TEST(Load, SlotsOfTheWireAreNotBelieved) {
    const Point p{.qps = 2, .depth = 8, .slots = 4};
    base::Json round = to_json(Round{.lane = 1, .number = 3, .left = 4});
    ASSERT_TRUE(parse_round(round, p));
    EXPECT_EQ(parse_round(round, p)->left, 4U);
    for (const int bad : {-1, 0, 5}) {
        round["left"] = bad;
        EXPECT_FALSE(parse_round(round, p)) << bad;
    }
    EXPECT_FALSE(to_json(Round{.lane = 1, .number = 3}).contains("left"));
}

}  // namespace
}  // namespace perf
