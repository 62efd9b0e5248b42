// SPDX-License-Identifier: Apache-2.0
// What unreliable transports do to messages: client and server against each other over the fake
// provider.
#include <array>
#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/perf/session_pair.h"

namespace perf {
namespace {

using test::FakeVerbs;
using test::Fault;
using namespace std::chrono_literals;

// As many messages as there are receives at first: the fake drops none.
Point counted(Verb verb, Transport transport, uint32_t size, uint32_t iterations = 100) {
    Point p = point(verb, Mode::Bandwidth, size, transport);
    p.iterations = iterations;
    return p;
}

constexpr Direction kDirections[] = {Direction::Forward, Direction::Reverse, Direction::Both};

uint64_t sent_to_measure(const Point& p) {
    return p.iterations + warmup_of(p, p.iterations);
}

TEST(Loss, OfAMeasuredMessageIsCountedWhateverTheVerb) {
    std::vector<Point> points;
    for (const Verb verb : {Verb::Write, Verb::WriteImm, Verb::Send, Verb::SendImm}) {
        for (const auto direction : kDirections) {
            points.push_back(point(verb, Mode::Bandwidth, 500, Transport::Uc));
            points.back().direction = direction;
        }
    }
    all_at_once(points, [](const Point& p) {
        FakeVerbs verbs;
        const bool both = p.direction == Direction::Both;
        verbs.inject(Fault::Lost, uint64_t{kRoundsBefore} * (both ? 2 : 1) * p.slots + 50);
        const auto result = run_one(verbs, p);
        ASSERT_TRUE(result) << result.error().message();
        EXPECT_FALSE(result->checked.wrong) << result->checked.wrong->mismatch.kind;
        EXPECT_EQ(result->checked.lost, 0U);
        ASSERT_TRUE(result->bandwidth);
        EXPECT_GE(result->bandwidth->lost, 1U) << describe(p);
        EXPECT_LT(result->bandwidth->messages, both ? 1554U : 777U);
    });
}

// The last message of a lane's first round comes when the next lane, the other direction or the
// next round sends.
TEST(Loss, AMessageOfAnEarlierRoundIsLateAndNotWrong) {
    std::vector<Point> points;
    for (const auto transport : {Transport::Uc, Transport::Ud}) {
        for (const auto direction : kDirections) {
            for (const uint32_t qps : {1U, 2U}) {
                Point& p = points.emplace_back(counted(Verb::Send, transport, 500));
                p.direction = direction;
                p.qps = qps;
            }
        }
    }
    all_at_once(points, [](const Point& p) {
        FakeVerbs verbs;
        verbs.inject(Fault::Late, p.slots - 1);
        const auto result = run_one(verbs, p);
        ASSERT_TRUE(result) << result.error().message();
        EXPECT_FALSE(result->checked.wrong) << result->checked.wrong->mismatch.kind;
        EXPECT_EQ(result->checked.lost, 1U);
        const uint32_t directions = p.direction == Direction::Both ? 2 : 1;
        EXPECT_EQ(result->checked.messages, directions * 3 * p.slots * p.qps - 1);
        EXPECT_EQ(result->bandwidth->lost, 0U);
    });
}

TEST(Loss, AWriteOfAnEarlierRoundIsLateAndNotWrong) {
    all_at_once(std::array{Verb::Write, Verb::WriteImm}, [](Verb verb) {
        FakeVerbs verbs;
        const Point p = counted(verb, Transport::Uc, 500);
        verbs.inject(Fault::Late, p.slots - 1);
        const auto result = run_one(verbs, p);
        ASSERT_TRUE(result) << result.error().message();
        EXPECT_FALSE(result->checked.wrong) << result->checked.wrong->mismatch.kind;
        EXPECT_EQ(result->checked.lost, 1U);
    });
}

TEST(Loss, AMessageOfARoundMayComeInTheMeasurement) {
    all_at_once(std::array{Verb::Write, Verb::Send}, [](Verb verb) {
        FakeVerbs verbs;
        const Point p = counted(verb, Transport::Uc, 500);
        verbs.inject(Fault::Late, kRoundsBefore * p.slots - 1);
        const auto result = run_one(verbs, p);
        ASSERT_TRUE(result) << result.error().message();
        EXPECT_FALSE(result->checked.wrong) << result->checked.wrong->mismatch.kind;
        EXPECT_EQ(result->checked.lost, 1U);
        EXPECT_EQ(result->bandwidth->lost, 0U);
        EXPECT_EQ(result->bandwidth->messages, p.iterations);
    });
}

// Of 64 KiB the ring is smaller than the depth: the last message of the measurement is at a
// position that the ring does not have.
TEST(Loss, AMessageOfTheMeasurementIsLateAndNotWrong) {
    std::vector<Point> points;
    for (const Verb verb : {Verb::Write, Verb::WriteImm, Verb::Send, Verb::SendImm}) {
        for (const uint32_t size : {500U, 65536U})
            points.push_back(counted(verb, Transport::Uc, size));
    }
    all_at_once(points, [](const Point& p) {
        FakeVerbs verbs;
        verbs.inject(Fault::Late, kRoundsBefore * p.slots + sent_to_measure(p) - 1);
        const auto result = run_one(verbs, p);
        ASSERT_TRUE(result) << result.error().message();
        EXPECT_FALSE(result->checked.wrong) << result->checked.wrong->mismatch.kind;
        EXPECT_EQ(result->checked.lost, 0U);
        EXPECT_EQ(result->bandwidth->lost, 1U) << describe(p);
    });
}

// Nothing was missing, so it is no late one.
TEST(Loss, AMessageThatComesAgainInTheNextRoundIsFound) {
    for (const Verb verb : {Verb::Write, Verb::Send}) {
        FakeVerbs verbs;
        const Point p = counted(verb, Transport::Uc, 500);
        verbs.inject(Fault::Twice, p.slots - 1);
        const auto result = run_one(verbs, p);
        ASSERT_TRUE(result) << result.error().message();
        EXPECT_TRUE(result->checked.wrong);
    }
}

// One message in the ring, and each takes longer than what waits between two.
TEST(Loss, TheFirstMessageOfARoundMayTakeItsTime) {
    Point p = counted(Verb::Send, Transport::Uc, 500, 1);
    p.depth = p.batch = p.slots = 1;
    FakeVerbs verbs;
    verbs.be_slow(kLossPatience + 100ms);
    const auto result = run_one(verbs, p);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_FALSE(result->checked.wrong) << result->checked.wrong->mismatch.kind;
    EXPECT_EQ(result->checked.lost, 0U);
    EXPECT_EQ(result->bandwidth->lost, 0U);
}

TEST(Loss, OfAWholeRoundIsNoFailure) {
    all_at_once(std::array{Direction::Forward, Direction::Reverse}, [](Direction direction) {
        Point p = counted(Verb::Write, Transport::Uc, 500, 1);
        p.depth = p.batch = p.slots = 1;
        p.direction = direction;
        FakeVerbs verbs;
        verbs.inject(Fault::Lost, 0);
        Pair pair(verbs, 20s);
        auto client = pair.client(verbs);
        ASSERT_TRUE(client);
        const auto result = conduct({&*client, 1}, p);
        ASSERT_TRUE(result) << result.error().message();
        EXPECT_FALSE(result->checked.wrong);
        // The others are waited for less long, on a busy machine in vain.
        EXPECT_GE(result->checked.lost, 1U);
        EXPECT_EQ(result->checked.messages + result->checked.lost, kRoundsBefore + kRoundsAfter);
    });
}

// For longer than the patience of who receives.
TEST(Loss, OfAllThatIsMeasuredIsNoFailure) {
    all_at_once(std::array{Direction::Forward, Direction::Reverse}, [](Direction direction) {
        Point p = counted(Verb::Send, Transport::Uc, 500, 0);
        p.time_ms = 1100;
        p.direction = direction;
        p.verify = Verify::Off;
        FakeVerbs verbs;
        verbs.inject(Fault::Lost, 0, UINT64_MAX);
        Pair pair(verbs, 1s);
        auto client = pair.client(verbs);
        ASSERT_TRUE(client);
        const auto result = conduct({&*client, 1}, p);
        ASSERT_TRUE(result) << result.error().message();
        EXPECT_EQ(result->bandwidth->messages, 0U);
        EXPECT_GT(result->bandwidth->lost, 0U);
    });
}

// What is lost counts among as many as are to be measured; else it would go on until the wire is
// whole again.
TEST(Loss, FullVerificationEndsThoughNothingCame) {
    Point p = counted(Verb::Send, Transport::Uc, 500, 4);
    p.depth = p.batch = p.slots = 1;
    p.verify = Verify::Full;
    FakeVerbs verbs;
    verbs.inject(Fault::Lost, 0, 20);
    Pair pair(verbs, 20s);
    auto client = pair.client(verbs);
    ASSERT_TRUE(client);
    const auto result = conduct({&*client, 1}, p);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_FALSE(result->checked.wrong);
    EXPECT_EQ(result->checked.lost, 4U + kRoundsAfter);
    EXPECT_EQ(result->checked.messages, 0U);
    EXPECT_EQ(result->bandwidth->lost, 4U);
}

// With several clients the servers of the others wait meanwhile.
TEST(Loss, OfAWholeRoundIsWaitedForOnce) {
    Point p = counted(Verb::Send, Transport::Uc, 500, 2);
    p.qps = 2;
    p.depth = p.batch = p.slots = 1;
    FakeVerbs verbs;
    verbs.inject(Fault::Lost, 0, UINT64_MAX);
    const auto begin = base::Deadline::Clock::now();
    const auto result = run_one(verbs, p);
    EXPECT_LT(base::Deadline::Clock::now() - begin, 4 * kFirstPatience);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(result->checked.lost, (kRoundsBefore + kRoundsAfter) * p.qps);
    EXPECT_EQ(result->bandwidth->lost, 2U);
}

}  // namespace
}  // namespace perf
