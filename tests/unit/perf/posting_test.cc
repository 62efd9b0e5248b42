// SPDX-License-Identifier: Apache-2.0
// How messages are posted and their completions polled: by ibv_wr_*(3) and ibv_start_poll(3), or in
// lists where the provider has no such calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/perf/session_pair.h"

namespace perf {
namespace {

using test::FakeDevice;
using test::FakeVerbs;

FakeDevice device_with(bool calls) {
    FakeDevice device = test::loopback_device();
    device.has_calls = calls;
    return device;
}

FakeDevice polled_device(uint32_t vendor, bool has_lazy_queues) {
    FakeDevice device = test::loopback_device();
    device.vendor_id = vendor;
    device.has_lazy_queues = has_lazy_queues;
    return device;
}

std::vector<Point> all_points() {
    std::vector<Point> points;
    for (const Verb verb : kVerbs) {
        for (const Mode mode : {Mode::Bandwidth, Mode::Latency}) {
            for (const Transport transport : {Transport::Rc, Transport::Uc, Transport::Ud}) {
                for (const uint32_t size : {64U, 500U}) {  // inline, and not
                    if (can_carry(transport, verb))
                        points.push_back(point(verb, mode, size, transport));
                }
            }
        }
    }
    return points;
}

// Behind each round of writes, and behind the measurement.
uint64_t credits_of(const Point& p) {
    return arrives_by_credit(p) ? kRoundsBefore + kRoundsAfter + 1 : 0;
}

TEST(Posting, IsByCallsWhereTheProviderHasThem) {
    for (const Point& p : all_points()) {
        for (const bool calls : {true, false}) {
            FakeVerbs verbs({device_with(calls)});
            const auto result = run_one(verbs, p);
            ASSERT_TRUE(result) << describe(p) << ": " << result.error().message();
            EXPECT_FALSE(result->checked.wrong) << result->checked.wrong->mismatch.kind;
            const uint64_t messages = verbs.posted_by_calls() + verbs.posted_by_lists();
            EXPECT_GE(messages, 777U);
            EXPECT_EQ(verbs.posted_by_lists(), calls ? credits_of(p) : messages) << describe(p);
        }
    }
}

// Rounds of verification read more of a completion, and poll the same queue in the other way.
TEST(Polling, IsLazyOnAnAdapterWhereItsProviderCan) {
    for (const Point& p : all_points()) {
        FakeVerbs verbs({polled_device(0x2c9, true)});
        const auto result = run_one(verbs, p);
        ASSERT_TRUE(result) << describe(p) << ": " << result.error().message();
        EXPECT_FALSE(result->checked.wrong) << result->checked.wrong->mismatch.kind;
        EXPECT_GE(verbs.polled_lazily(), p.mode == Mode::Bandwidth ? 777 / signal_of(p) : 777U)
            << describe(p);
    }
}

TEST(Polling, IsByIbvPollCqElsewhere) {
    for (const Mode mode : {Mode::Bandwidth, Mode::Latency}) {
        for (const auto& [vendor, has] : {std::pair(0x2c9U, false), {kRxeVendor, true}}) {
            FakeVerbs verbs({polled_device(vendor, has)});
            const auto result = run_one(verbs, point(Verb::Write, mode));
            ASSERT_TRUE(result) << result.error().message();
            EXPECT_FALSE(result->checked.wrong) << result->checked.wrong->mismatch.kind;
            EXPECT_EQ(verbs.polled_lazily(), 0U);
        }
    }
}

TEST(Polling, TellsWhatFailed) {
    for (const bool lazy : {true, false}) {
        FakeVerbs verbs({polled_device(0x2c9, lazy)});
        Point p = point(Verb::Write, Mode::Bandwidth);
        p.verify = Verify::Off;
        verbs.fail_messages(5);
        const auto result = run_one(verbs, p);
        ASSERT_FALSE(result);
        EXPECT_THAT(result.error().message(), testing::HasSubstr("vendor error 0x81"));
    }
}

// The last batch of a quota is shorter than the others, and has a completion of its own. Of a batch
// of 16 there is one completion for each message or several, one, or one with others.
TEST(Posting, OfAnyNumberOfMessagesCompletes) {
    for (const uint64_t iterations : {1U, 15U, 16U, 17U, 100U}) {
        for (const uint32_t signal : {1U, 4U, 16U, 64U}) {
            for (const bool calls : {true, false}) {
                FakeVerbs verbs({device_with(calls)});
                Point p = point(Verb::Write, Mode::Bandwidth, 64);
                p.iterations = iterations;
                p.signal = signal;
                const auto result = run_one(verbs, p);
                ASSERT_TRUE(result) << result.error().message();
                EXPECT_EQ(result->bandwidth->messages, iterations);
            }
        }
    }
}

}  // namespace
}  // namespace perf
