// SPDX-License-Identifier: Apache-2.0
// Drivers that are busy: asked again, until a deadline.
#include "netns/kernel/busy.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace netns {
namespace {

class Busy : public testing::Test {
  protected:
    // The thread's own namespace is opened once, and stays open.
    static void SetUpTestSuite() { ASSERT_TRUE(KernelNetnses{}.current()); }

    // Refuses `times` times.
    Result<> ask(int refusal, int times, Deadline deadline) {
        return ask_until_ready(KernelNetnses{}.current().value(), deadline, [&]() -> Result<> {
            if (++asked_ <= times)
                return base::sys_error(refusal, "bring up link 5");
            return {};
        });
    }

    int asked_ = 0;
};

TEST_F(Busy, IsAskedAgain) {
    for (const int refusal : {EBUSY, EAGAIN}) {
        asked_ = 0;
        EXPECT_TRUE(ask(refusal, 4, Deadline::in(std::chrono::seconds(10))));
        EXPECT_EQ(asked_, 5);
    }
}

TEST_F(Busy, IsAskedOnceForWhoDoesNotWait) {
    EXPECT_EQ(ask(EBUSY, 4, Deadline::now()).error().sys, EBUSY);
    EXPECT_EQ(asked_, 1);
}

TEST_F(Busy, IsTheAnswerAtTheDeadline) {
    EXPECT_EQ(ask(EAGAIN, 1 << 20, Deadline::in(std::chrono::milliseconds(20))).error().sys,
              EAGAIN);
    EXPECT_GT(asked_, 2);
    EXPECT_LT(asked_, 100) << "paced";
}

TEST_F(Busy, OtherRefusalsAreAnswers) {
    EXPECT_EQ(ask(EINVAL, 4, Deadline::in(std::chrono::seconds(10))).error().sys, EINVAL);
    EXPECT_EQ(asked_, 1);
}

}  // namespace
}  // namespace netns
