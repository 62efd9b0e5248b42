// SPDX-License-Identifier: Apache-2.0
// Completers over a queue that does what a test wrote down.
#include "perf/engine/completer.h"

#include <array>
#include <span>

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

namespace perf {
namespace {

// Completions come at the poll of that number, or never.
struct ScriptedQueue {
    unsigned at = 0;
    unsigned polls = 0;

    int poll(std::span<ibv_wc>) noexcept { return ++polls == at ? 1 : 0; }

    static int arm() noexcept { return 0; }

    static int fd() noexcept { return -1; }

    static void take_events() noexcept {}
};

// A look is a system call, and a wait of a few polls is a sample of a latency.
TEST(Completer, LooksAroundOnlyWhereAWaitIsLong) {
    Stop stop;
    int fds[2] = {-1, -1};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    Control control(base::UniqueFd(fds[0]), stop);
    base::UniqueFd other(fds[1]);
    base::UniqueFd word(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
    Waiting waiting;
    waiting.control = &control;
    waiting.word = word.get();
    std::array<ibv_wc, 4> wc;
    int got = 0;
    ScriptedQueue soon{.at = 12};
    EXPECT_EQ((Completer<PollMode::Yield, ScriptedQueue>(soon, waiting).wait(wc, got)),
              Wake::Completions)
        << "the word is there, and can wait";
    ScriptedQueue never;
    EXPECT_EQ((Completer<PollMode::Yield, ScriptedQueue>(never, waiting).wait(wc, got)),
              Wake::Word);
    EXPECT_GT(never.polls, 12U);
    ScriptedQueue spun;
    EXPECT_EQ((Completer<PollMode::Spin, ScriptedQueue>(spun, waiting).wait(wc, got)), Wake::Word);
}

}  // namespace
}  // namespace perf
