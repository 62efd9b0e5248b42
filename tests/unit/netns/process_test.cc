// SPDX-License-Identifier: Apache-2.0
#include "netns/process.h"

#include <csignal>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace netns {
namespace {

// A process chooses its own name: one that looks like the rest of its stat file fools nobody.
TEST(Processes, ANameWithParenthesesHidesNothing) {
    int ready[2];
    ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::prctl(PR_SET_NAME, "a) Z 1 1 1 1");
        (void)::write(ready[1], "x", 1);
        for (;;)
            ::pause();
    }
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    const auto token = KernelProcesses{}.token(pid);
    (void)::kill(pid, SIGKILL);
    (void)::waitpid(pid, nullptr, 0);
    (void)::close(ready[0]);
    (void)::close(ready[1]);
    ASSERT_TRUE(token && *token);
    EXPECT_GT((*token)->start, 1U);
}

TEST(Processes, NumbersThatAreNoProcess) {
    for (const pid_t pid : {-1, 0, 0x7fffffff})
        EXPECT_FALSE(KernelProcesses{}.token(pid).value()) << pid;
}

}  // namespace
}  // namespace netns
