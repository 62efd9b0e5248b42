// SPDX-License-Identifier: Apache-2.0
// What the thread that holds the control connections is told, whatever comes between its looks.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "perf/engine/crew.h"

namespace perf {
namespace {

// A crew of one that ends, badly, when it is told to.
class AttentionTest : public testing::Test {
  protected:
    void SetUp() override {
        int fds[2] = {-1, -1};
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
        control_.emplace(base::UniqueFd(fds[0]), stop_);
        peer_ = base::UniqueFd(fds[1]);
        auto crew = Crew::create();
        ASSERT_TRUE(crew);
        crew_ = std::move(*crew);
        ASSERT_TRUE(crew_->hire(false, [this](Crew::Hand&) {
            fail_.wait(false);
            return Ending{.wake = Wake::Completions, .post_error = EIO, .bad = {}};
        }));
        ASSERT_TRUE(crew_->start());
    }

    void TearDown() override { fail(); }

    void fail() {
        fail_ = true;
        fail_.notify_all();
    }

    Attention::Cause cause(const std::function<bool()>& done,
                           uint64_t until_ns = UINT64_MAX,
                           int wake_fd = -1) {
        const Watched watched{.control = &*control_, .crew = crew_.get()};
        const auto attention = attend({&watched, 1}, until_ns, done, wake_fd);
        EXPECT_TRUE(attention);
        return attention ? attention->cause : Attention::Cause::Done;
    }

    Stop stop_;
    std::optional<Control> control_;
    base::UniqueFd peer_;
    std::atomic<bool> fail_ = false;
    std::unique_ptr<Crew> crew_;
};

TEST_F(AttentionTest, AFailureJustBeforeTheEndIsAFailure) {
    EXPECT_EQ(cause([&] {
                  fail();
                  while (!crew_->all_ended())
                      std::this_thread::yield();
                  return crew_->all_ended();
              }),
              Attention::Cause::Failed);
}

TEST_F(AttentionTest, EachCauseIsTold) {
    EXPECT_EQ(cause([] { return true; }), Attention::Cause::Done);
    EXPECT_EQ(cause([] { return false; }, 1), Attention::Cause::TimeUp);
    peer_.reset();
    EXPECT_EQ(cause([] { return false; }), Attention::Cause::Spoken);
}

TEST_F(AttentionTest, AnInterruptWakesWhoHeedsIt) {
    const auto heed = stop_.heed();
    std::jthread interrupter([this] { stop_.interrupt(); });
    EXPECT_EQ(cause([this] { return stop_.interrupted(); }, UINT64_MAX, stop_.interrupt_fd()),
              Attention::Cause::Done);
}

TEST(Crew, AllOfAProcessTogetherHaveABudget) {
    const auto crew_of = [](int hands) {
        auto crew = Crew::create().value();
        for (int i = 0; i < hands; ++i)
            EXPECT_TRUE(crew->hire(false, [](Crew::Hand&) { return Ending{}; }));
        return crew;
    };
    const auto last = crew_of(4);
    {
        const ThreadBudget budget(3);
        auto first = crew_of(2);
        const auto second = crew_of(2);
        ASSERT_TRUE(first->start());
        const auto refused = second->start();
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, base::Code::Busy);
        EXPECT_EQ(refused.error().text, "no room for 2 threads: 2 of 3 are in use");
        EXPECT_NE(refused.error().fix.find("--max-threads"), std::string::npos);
        first.reset();
        EXPECT_TRUE(second->start());
    }
    EXPECT_TRUE(last->start());
}

}  // namespace
}  // namespace perf
