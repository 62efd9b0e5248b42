// SPDX-License-Identifier: Apache-2.0
// Completers over a queue that does what a test wrote down.
#include "perf/engine/completer.h"

#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <thread>

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

namespace perf {
namespace {

using namespace std::chrono_literals;

// Completions come at the poll of that number, behind an arm, or never.
struct ScriptedQueue {
    unsigned at = 0;
    std::chrono::milliseconds each{0};  // that a poll takes
    unsigned polls = 0;

    int poll(std::span<ibv_wc>) noexcept {
        std::this_thread::sleep_for(each);
        return ++polls == at ? 1 : 0;
    }

    bool by_arm = false;
    unsigned arms = 0;

    int arm() noexcept {
        ++arms;
        if (by_arm)
            at = polls + 1;
        return 0;
    }

    static int fd() noexcept { return -1; }
};

class CompleterTest : public testing::Test {
  protected:
    CompleterTest() {
        int fds[2] = {-1, -1};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        other_.reset(fds[1]);
        control_.emplace(base::UniqueFd(fds[0]), stop_);
        waiting.control = &*control_;
        waiting.word = word_.get();
    }

    void say_a_word() { ASSERT_EQ(::eventfd_write(word_.get(), 1), 0); }

    template <PollMode kMode, class Q>
    Wake wait_for(Q& queue) {
        std::array<ibv_wc, 4> wc;
        int got = 0;
        return Completer<kMode, Q>(queue, waiting).wait(wc, got);
    }

    Waiting waiting;

  private:
    Stop stop_;
    base::UniqueFd other_;
    std::optional<Control> control_;
    base::UniqueFd word_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

TEST_F(CompleterTest, HearsAWordWhereNothingCompletes) {
    say_a_word();
    ScriptedQueue yielding;
    EXPECT_EQ(wait_for<PollMode::Yield>(yielding), Wake::Word);
    ScriptedQueue spinning;
    EXPECT_EQ(wait_for<PollMode::Spin>(spinning), Wake::Word);
}

// On a busy machine each may take a time slice: time is what counts, not polls.
TEST_F(CompleterTest, HearsAWordHoweverLongAPollTakes) {
    say_a_word();
    ScriptedQueue yielding{.each = 2ms};
    EXPECT_EQ(wait_for<PollMode::Yield>(yielding), Wake::Word);
    EXPECT_EQ(yielding.polls, 2U);
    ScriptedQueue spinning{.each = 2ms};
    EXPECT_EQ(wait_for<PollMode::Spin>(spinning), Wake::Word);
    EXPECT_EQ(spinning.polls, 2U);
}

// An event costs two system calls more than what a yield of the processor brings.
TEST_F(CompleterTest, ArmsNothingForWhatASoftwareDeviceDoesMeanwhile) {
    Device device;
    waiting.device = &device;
    for (const bool software : {false, true}) {
        device.software = software;
        ScriptedQueue queue{.at = 2};
        EXPECT_EQ(wait_for<PollMode::Event>(queue), Wake::Completions);
        EXPECT_EQ(queue.polls, 2U);
        EXPECT_EQ(queue.arms, software ? 0U : 1U);
    }
}

// While a yield brings nothing, as none does for large messages, it is a system call too many.
TEST_F(CompleterTest, RarelyYieldsWhereThatBroughtNothing) {
    Device device;
    device.software = true;
    waiting.device = &device;
    ScriptedQueue queue;
    Completer<PollMode::Event, ScriptedQueue> completer(queue, waiting);
    for (unsigned sleeps = 0; sleeps < 80; ++sleeps) {
        const bool yields = sleeps < 16 || (sleeps + 1) % 16 == 0;
        queue.at = queue.polls + (yields ? 3 : 2);
        std::array<ibv_wc, 4> wc;
        int got = 0;
        EXPECT_EQ(completer.wait(wc, got), Wake::Completions);
        EXPECT_EQ(queue.polls, queue.at);
        EXPECT_EQ(queue.arms, sleeps + 1);
    }
}

// One that comes now and then does not pay for the others.
TEST_F(CompleterTest, RarelyYieldsWhereThatSeldomBringsAny) {
    Device device;
    device.software = true;
    waiting.device = &device;
    ScriptedQueue queue{.by_arm = true};
    Completer<PollMode::Event, ScriptedQueue> completer(queue, waiting);
    constexpr unsigned kWaits = 400;
    for (unsigned wait = 0; wait < kWaits; ++wait) {
        queue.at = wait % 4 == 0 ? queue.polls + 2 : 0;
        std::array<ibv_wc, 4> wc;
        int got = 0;
        EXPECT_EQ(completer.wait(wc, got), Wake::Completions);
    }
    const unsigned yields = queue.polls - queue.arms - kWaits;
    EXPECT_LT(yields, kWaits / 4);
}

// Its channel is a descriptor whose reads block.
struct EventfulQueue {
    explicit EventfulQueue(unsigned events) : channel(::eventfd(events, EFD_CLOEXEC)) {}

    base::UniqueFd channel;
    bool has_come = false;
    unsigned asks = 0;  // for the channel, to poll(2) it

    int poll(std::span<ibv_wc>) noexcept { return has_come ? 1 : 0; }

    static int arm() noexcept { return 0; }

    int fd() noexcept {
        ++asks;
        return channel.get();
    }

    bool take_event() noexcept {
        eventfd_t events = 0;
        has_come = ::eventfd_read(channel.get(), &events) == 0;
        return has_come;
    }
};

TEST_F(CompleterTest, AsksForAnEventInOneCall) {
    EventfulQueue queue(1);
    EXPECT_EQ(wait_for<PollMode::Event>(queue), Wake::Completions);
    EXPECT_EQ(queue.asks, 0U);
}

TEST_F(CompleterTest, HearsAWordThoughItsReadBlocks) {
    say_a_word();
    EventfulQueue queue(0);
    EXPECT_EQ(wait_for<PollMode::Event>(queue), Wake::Word);
    EXPECT_EQ(queue.asks, 1U);
}

// Whose word does not come by a descriptor of its own reads only what is there.
TEST_F(CompleterTest, NeverBlocksWithoutAWorkersWord) {
    waiting.word = -1;
    waiting.patience = 1ms;
    EventfulQueue queue(0);
    EXPECT_EQ(wait_for<PollMode::Event>(queue), Wake::TimedOut);
}

// Between two polls a busy machine may have no processor for as long as patience lasts.
TEST_F(CompleterTest, TakesWhatCameWhileItHadNoProcessor) {
    waiting.patience = 1ms;
    ScriptedQueue never{.each = 2ms};
    EXPECT_EQ(wait_for<PollMode::Spin>(never), Wake::TimedOut);
    EXPECT_EQ(never.polls, 4U) << "a look at the second, one in vain at the third, and one more";
    ScriptedQueue at_last{.at = never.polls, .each = 2ms};
    EXPECT_EQ(wait_for<PollMode::Spin>(at_last), Wake::Completions);
}

// When a wait first looks around, if each of its polls takes so long.
struct FirstLook {
    uint64_t polls = 0;
    uint64_t readings = 0;  // of the clock
};

FirstLook first_look(uint64_t most, uint64_t poll_ns) {
    Pace pace(most);
    FirstLook look;
    for (bool due = false; !due;) {
        ++look.polls;
        if (!pace.reads_clock())
            continue;
        ++look.readings;
        due = pace.is_due(look.polls * poll_ns);
    }
    return look;
}

// A look is a system call, and a wait of a few polls is a sample of a latency.
TEST(Pace, LooksAroundOnlyWhereAWaitIsLong) {
    constexpr uint64_t kMillisecond = 1'000'000;
    for (const uint64_t most : {8U, 512U}) {
        for (const uint64_t poll_ns : {20U, 100U, 20'000U, 900'000U, 50'000'000U}) {
            const FirstLook look = first_look(most, poll_ns);
            EXPECT_GE((look.polls - 1) * poll_ns, kMillisecond) << poll_ns;
            EXPECT_LE(look.polls * poll_ns, 2 * (kMillisecond + poll_ns)) << poll_ns;
        }
    }
}

TEST(Pace, ReadsTheClockSeldomWherePollsAreShort) {
    EXPECT_EQ(first_look(512, 20).polls, 50'176U);
    EXPECT_EQ(first_look(512, 20).readings, 10 + 97U);
}

// None of its polls is one of a sample any more.
TEST(Pace, ReadsTheClockEachTimeOnceAWaitIsLong) {
    Pace pace(512);
    uint64_t now = 1;
    EXPECT_TRUE(pace.reads_clock());
    EXPECT_FALSE(pace.is_due(now));
    EXPECT_TRUE(pace.reads_clock());
    EXPECT_TRUE(pace.is_due(now += 1'000'000));
    for (int i = 0; i < 5; ++i) {
        EXPECT_TRUE(pace.reads_clock());
        EXPECT_FALSE(pace.is_due(now += 100'000)) << "once in a millisecond";
    }
    EXPECT_TRUE(pace.reads_clock());
    EXPECT_TRUE(pace.is_due(now += 500'000));
}

}  // namespace
}  // namespace perf
