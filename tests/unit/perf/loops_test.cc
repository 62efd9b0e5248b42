// SPDX-License-Identifier: Apache-2.0
// The hot loops over a lane and a completer that do what a test wrote down: no time passes.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include "perf/engine/engine.h"

namespace perf {
namespace {

// Takes all work, and counts single messages and the receives.
class IdleLane {
  public:
    static constexpr uint32_t kReposts = 16;

    explicit IdleLane(Transport transport)
        : point(Point{.verb = Verb::Send, .transport = transport}) {}

    Hot hot{.window = 1, .batch = 1, .signal = 1, .reposts = kReposts};
    Point point;
    uint32_t signal_every = kSignalEvery;

    uint32_t messages_per_credit = 0;

    static int post_batch(uint32_t, uint32_t, bool) noexcept { return 0; }

    int post_one(uint32_t, bool) noexcept {
        ++messages_;
        return 0;
    }

    int post_receives(uint32_t count) noexcept {
        receives_ += count;
        ++calls_;
        return 0;
    }

    [[nodiscard]] uint32_t messages() const { return messages_; }

    [[nodiscard]] uint32_t receives() const { return receives_; }

    [[nodiscard]] uint32_t calls() const { return calls_; }

  private:
    uint32_t messages_ = 0;
    uint32_t receives_ = 0;
    uint32_t calls_ = 0;  // that posted them
};

struct IdleGroup {
    std::vector<IdleLane> lanes;
};

using ScriptStep = std::function<Wake(std::span<ibv_wc>, int&)>;

// Each wait is the next step; Failed once there is none.
class ScriptedCompleter {
  public:
    explicit ScriptedCompleter(std::vector<ScriptStep> steps) : steps_(std::move(steps)) {}

    Wake wait(std::span<ibv_wc> out, int& count, uint64_t = UINT64_MAX) {
        return next_ < steps_.size() ? steps_[next_++](out, count) : Wake::Failed;
    }

    void be_patient_for(std::chrono::milliseconds time) { patience_ = time; }

    [[nodiscard]] size_t waits() const { return next_; }

    // Nothing: as at the beginning.
    [[nodiscard]] std::optional<std::chrono::milliseconds> patience() const { return patience_; }

  private:
    std::vector<ScriptStep> steps_;
    size_t next_ = 0;
    std::optional<std::chrono::milliseconds> patience_;
};

ScriptStep nothing_comes() {
    return [](std::span<ibv_wc>, int&) { return Wake::TimedOut; };
}

ScriptStep a_word(std::function<void()> say) {
    return [say = std::move(say)](std::span<ibv_wc>, int&) {
        say();
        return Wake::Word;
    };
}

ScriptStep these_come(std::vector<ibv_wc> list) {
    return [list = std::move(list)](std::span<ibv_wc> out, int& count) {
        std::ranges::copy(list, out.begin());
        count = static_cast<int>(list.size());
        return Wake::Completions;
    };
}

ibv_wc one_completion(ibv_wc_opcode opcode, uint64_t id) {
    ibv_wc wc{};
    wc.opcode = opcode;
    wc.wr_id = id;
    wc.byte_len = 1;
    return wc;
}

constexpr auto kNoLook = [](uint64_t, std::span<const ibv_wc>) {};

base::UniqueFd new_word() {
    return base::UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

// What a stream of one lane that posts nothing ends with.
Ending receive_over(Transport transport, Worker& worker, ScriptedCompleter& completer) {
    IdleGroup group{.lanes = {IdleLane(transport)}};
    std::vector<Flow> flows(1);
    Stream stream(group, completer, worker, std::span(flows));
    return stream.receive();
}

// Whether anybody lives at the other end is not for this thread to say.
TEST(Loops, WhoReceivesLossilyWaitsUntilTheSenderStopped) {
    for (const Transport transport : {Transport::Uc, Transport::Ud}) {
        Worker worker(new_word(), true);
        ScriptedCompleter completer({nothing_comes(),
                                     nothing_comes(),
                                     a_word([&] { worker.expect(2); }),
                                     these_come({one_completion(IBV_WC_RECV, 0)}),
                                     nothing_comes()});
        const Ending end = receive_over(transport, worker, completer);
        EXPECT_TRUE(end.good());
        EXPECT_EQ(completer.waits(), 5U);
        EXPECT_EQ(worker.received(), 1U);
        EXPECT_EQ(completer.patience(), kLossPatience);
    }
}

// The count is there, the word of it is not heard yet: what is on its way has its time.
TEST(Loops, WhatIsLostIsKnownSomeTimeAfterTheWord) {
    Worker worker(new_word(), true);
    ScriptedCompleter completer({[&](std::span<ibv_wc>, int&) {
                                     worker.expect(1);
                                     return Wake::TimedOut;
                                 },
                                 a_word([] {}),
                                 these_come({one_completion(IBV_WC_RECV, 0)})});
    const Ending end = receive_over(Transport::Uc, worker, completer);
    EXPECT_TRUE(end.good());
    EXPECT_EQ(worker.received(), 1U);
}

TEST(Loops, WhoReceivesLossilyEndsWhenItIsAborted) {
    Worker worker(new_word(), true);
    ScriptedCompleter completer(
        {nothing_comes(), nothing_comes(), a_word([&] { worker.abort(); })});
    EXPECT_EQ(receive_over(Transport::Uc, worker, completer).wake, Wake::Stopped);
}

TEST(Loops, OfAReliableTransportNothingForSoLongIsAFailure) {
    Worker worker(new_word(), true);
    ScriptedCompleter completer({nothing_comes()});
    EXPECT_EQ(receive_over(Transport::Rc, worker, completer).wake, Wake::TimedOut);
}

TEST(Loops, WhoOnlySendsKeepsItsPatienceWhenItIsClosed) {
    Worker worker(new_word(), false);
    ScriptedCompleter completer(
        {a_word([&] { worker.close(); }), these_come({one_completion(IBV_WC_SEND, 1)})});
    IdleGroup group{.lanes = {IdleLane(Transport::Uc)}};
    std::vector<Flow> flows(1);
    flows.front().quota = UINT64_MAX;
    Stream stream(group, completer, worker, std::span(flows));
    EXPECT_TRUE(stream.send().good());
    EXPECT_EQ(flows.front().completed, 1U);
    EXPECT_FALSE(completer.patience());
}

// Completions of a thread's queue pairs come mixed: runs of one of them would be short.
TEST(Loops, ReceivesOfALaneArePostedSeveralAtOnce) {
    constexpr uint32_t kRounds = 4;
    constexpr uint32_t kEach = kRounds * kPollBatch / 2;  // of two lanes
    std::vector<ibv_wc> mixed;
    for (uint64_t i = 0; i < kPollBatch; ++i)
        mixed.push_back(one_completion(IBV_WC_RECV, (i % 2) << 32U));
    std::vector<ScriptStep> steps(kRounds, these_come(mixed));
    steps.push_back(these_come({one_completion(IBV_WC_RECV, 0)}));
    Worker worker(new_word(), true);
    worker.expect(2 * kEach + 1);
    ScriptedCompleter completer(std::move(steps));
    IdleGroup group{.lanes = {IdleLane(Transport::Rc), IdleLane(Transport::Rc)}};
    std::vector<Flow> flows(2);
    EXPECT_TRUE(Stream(group, completer, worker, std::span(flows)).receive().good());
    EXPECT_EQ(group.lanes[0].receives(), kEach + 1) << "at the end all are posted";
    EXPECT_EQ(group.lanes[1].receives(), kEach);
    EXPECT_EQ(group.lanes[0].calls(), kEach / IdleLane::kReposts + 1);
    EXPECT_EQ(group.lanes[1].calls(), kEach / IdleLane::kReposts);
}

// What never came is given up, what came is posted.
TEST(Loops, ReceivesArePostedAgainWhereTheRestIsLost) {
    Worker worker(new_word(), true);
    ScriptedCompleter completer({these_come({one_completion(IBV_WC_RECV, 0)}),
                                 a_word([&] { worker.expect(2); }),
                                 nothing_comes()});
    IdleGroup group{.lanes = {IdleLane(Transport::Uc)}};
    std::vector<Flow> flows(1);
    EXPECT_TRUE(Stream(group, completer, worker, std::span(flows)).receive().good());
    EXPECT_EQ(group.lanes.front().receives(), 1U);
}

TEST(Receives, OutlastAPauseOfTheirReceiver) {
    Point wanted{.verb = Verb::Send, .depth = 128, .slots = 128, .iterations = 1};
    EXPECT_EQ(receives_of(wanted, Side::Server), 512U);
    EXPECT_EQ(reposts_of(wanted, Side::Server), 16U);
    EXPECT_EQ(receives_of(wanted, Side::Client), 0U);
    wanted.qps = 8;
    EXPECT_EQ(receives_of(wanted, Side::Server), 256U) << "twice the depth, of each";
    wanted.qps = 256;
    wanted.depth = wanted.slots = 1;
    EXPECT_EQ(receives_of(wanted, Side::Server), 2U);
    EXPECT_EQ(reposts_of(wanted, Side::Server), 1U);
    wanted = {.verb = Verb::Send, .depth = 6, .slots = 6, .iterations = 1};
    EXPECT_EQ(receives_of(wanted, Side::Server), 516U) << "in whole rings";
}

// A late datagram comes with the one that is waited for.
TEST(Loops, PingPostsAReceiveForEachThatCame) {
    Worker worker(new_word(), false);
    IdleLane lane(Transport::Ud);
    ScriptedCompleter completer({these_come({one_completion(IBV_WC_SEND, 1),
                                             one_completion(IBV_WC_RECV, 0),
                                             one_completion(IBV_WC_RECV, 1)})});
    Histogram histogram;
    const Ending end =
        ping<true>(lane, completer, worker, Limit{.messages = 1}, histogram, kNoLook);
    EXPECT_TRUE(end.good());
    EXPECT_EQ(lane.receives(), 2U);
    EXPECT_EQ(histogram.count(), 1U);
}

TEST(Loops, APingThatIsClosedEndsWithItsAnswer) {
    Worker worker(new_word(), false);
    IdleLane lane(Transport::Rc);
    ScriptedCompleter completer(
        {a_word([&] { worker.close(); }),
         these_come({one_completion(IBV_WC_SEND, 1), one_completion(IBV_WC_RECV, 0)})});
    Histogram histogram;
    const Ending end = ping<true>(lane, completer, worker, Limit{}, histogram, kNoLook);
    EXPECT_TRUE(end.good());
    EXPECT_EQ(worker.sent(), 1U);
    EXPECT_EQ(histogram.count(), 1U);
}

// Of an open loop, each of whose messages asks for a completion.
IdleLane lane_once_a_second() {
    IdleLane lane(Transport::Rc);
    lane.point.mode = Mode::Latency;
    lane.point.rate = 1;
    lane.signal_every = 1;
    return lane;
}

// What is owed is answered. When nothing is, nothing comes, and the third time is the last.
TEST(Loops, AnOpenLoopIsPatientWhileNothingIsOwed) {
    Worker worker(new_word(), false);
    IdleLane lane = lane_once_a_second();
    const ScriptStep answer =
        these_come({one_completion(IBV_WC_SEND, 1), one_completion(IBV_WC_RECV, 0)});
    unsigned pauses = 0;
    const ScriptStep step = [&](std::span<ibv_wc> out, int& count) {
        if (lane.receives() < lane.messages())
            return answer(out, count);
        if (++pauses == 3)
            worker.close();
        return Wake::TimedOut;
    };
    ScriptedCompleter completer(std::vector<ScriptStep>(100, step));
    Histogram histogram;
    const Ending end = OpenLoop(lane, completer, worker).run(Limit{}, histogram);
    EXPECT_TRUE(end.good());
    EXPECT_EQ(pauses, 3U);
    EXPECT_GE(worker.sent(), 1U);
    EXPECT_EQ(worker.sent(), lane.messages());
}

TEST(Loops, AnOpenLoopThatIsOwedAnAnswerIsNotPatient) {
    Worker worker(new_word(), false);
    IdleLane lane = lane_once_a_second();
    ScriptedCompleter completer({nothing_comes()});
    Histogram histogram;
    const Ending end = OpenLoop(lane, completer, worker).run(Limit{}, histogram);
    EXPECT_EQ(end.wake, Wake::TimedOut);
    EXPECT_EQ(completer.waits(), 1U);
}

}  // namespace
}  // namespace perf
