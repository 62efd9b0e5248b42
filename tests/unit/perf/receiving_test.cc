// SPDX-License-Identifier: Apache-2.0
// A client that receives: client and server against each other over the fake provider.
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "tests/unit/perf/session_pair.h"
#include "tests/unit/perf/wire.h"

namespace perf {
namespace {

using test::FakeVerbs;
using namespace std::chrono_literals;

// However late the client hears that the server has begun: nothing must wait for it, or get lost.
TEST(Receiving, WhoOnlyReceivesIsThereBeforeTheFirstMessage) {
    for (const PollMode mode : {PollMode::Yield, PollMode::Event}) {
        FakeVerbs verbs;
        Pair pair(verbs, 20s);
        std::atomic<bool> all_came = false;
        {
            const Plan plan{.verbs = {Verb::Send},
                            .modes = {Mode::Bandwidth},
                            .sizes = {64},
                            .iterations = 5000,
                            .polls = {{.mode = mode}},
                            .direction = Direction::Reverse,
                            .verify = Verify::Off,
                            .seed = 5};
            test::Wire wire(pair.control(), {.answered = [&](const base::Json& frame) {
                                if (frame["type"] != "started")
                                    return;
                                const auto deadline = base::Deadline::in(5s);
                                while (verbs.messages() < 5000 && !deadline.passed())
                                    std::this_thread::yield();
                                all_came = verbs.messages() >= 5000;
                            }});
            auto client = Client::start(verbs, wire.control(pair.stop), options(20s));
            ASSERT_TRUE(client) << client.error().message();
            const auto result = conduct({&*client, 1}, expand(plan).front());
            ASSERT_TRUE(result) << result.error().message();
            EXPECT_EQ(result->bandwidth->messages, 5000U);
        }
        EXPECT_TRUE(all_came);
        EXPECT_TRUE(pair.outcome());
    }
}

// By iterations who only receives has nothing left to post as soon as it began.
TEST(Receiving, ProcessorTimeOfWhoReceivesIsThatOfTheWholePoint) {
    FakeVerbs verbs;
    verbs.be_slow(1ms);
    const Plan plan{.verbs = {Verb::Send},
                    .modes = {Mode::Bandwidth},
                    .sizes = {64},
                    .iterations = 200,
                    .direction = Direction::Reverse,
                    .verify = Verify::Off,
                    .seed = 5};
    Pair pair(verbs, 20s);
    {
        auto client = Client::start(verbs, pair.control(), options(20s));
        ASSERT_TRUE(client) << client.error().message();
        const auto result = conduct({&*client, 1}, expand(plan).front());
        ASSERT_TRUE(result) << result.error().message();
        ASSERT_TRUE(result->usage.client.cpu);
        EXPECT_GE(result->usage.client.cpu->window_s * 1e9,
                  static_cast<double>(result->bandwidth->elapsed_ns));
    }
    EXPECT_TRUE(pair.outcome());
}

// A busy machine has a processor for a poll now and then.
TEST(Receiving, EndsWithItsSenderHoweverLongAPollTakes) {
    const Plan plan{.verbs = {Verb::WriteImm},
                    .modes = {Mode::Bandwidth},
                    .sizes = {64},
                    .iterations = 777,
                    .polls = {{.mode = PollMode::Spin}},
                    .transports = {Transport::Uc},
                    .seed = 5};
    FakeVerbs verbs;
    verbs.nap_for(10ms);
    const auto result = run_one(verbs, expand(plan).front());
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_FALSE(result->checked.wrong);
}

// What is lost outside of the window takes nothing away from what came within.
TEST(Receiving, OverUnreliableTransportsArrivalsInTheWindowCount) {
    for (const Transport transport : {Transport::Uc, Transport::Ud}) {
        FakeVerbs verbs;
        Pair pair(verbs);
        {
            uint64_t received = 1000;
            test::Wire wire(pair.control(), {.answered = [&](base::Json& frame) {
                                if (frame["type"] == "marked")
                                    frame["received"] = std::exchange(received, 5000);
                            }});
            auto client = Client::start(verbs, wire.control(pair.stop), options());
            ASSERT_TRUE(client) << client.error().message();
            Point p = point(Verb::Send, Mode::Bandwidth, 1000, transport);
            p.iterations = 0;
            p.time_ms = 20;
            const auto result = conduct({&*client, 1}, p);
            ASSERT_TRUE(result) << result.error().message();
            EXPECT_EQ(result->bandwidth->messages, 4000U);
        }
        EXPECT_TRUE(pair.outcome());
        EXPECT_EQ(verbs.objects(), 0U);
    }
}

}  // namespace
}  // namespace perf
