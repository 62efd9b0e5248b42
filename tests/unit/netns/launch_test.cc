// SPDX-License-Identifier: Apache-2.0
// The guarantees of netns/launch.h, with a shell as the program. Needs root, as its users do.
#include "netns/launch.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "netns/process.h"

namespace netns {
namespace {

using testing::HasSubstr;

class Launch : public testing::Test {
  protected:
    // The descriptor of our own namespace is kept for the life of the thread.
    static void SetUpTestSuite() { (void)KernelNetnses().current(); }

    void SetUp() override {
        // In a thread of its own, which then ends.
        int refused = 0;
        std::thread([&] { refused = ::unshare(CLONE_NEWNS) == 0 ? 0 : errno; }).join();
        if (refused)
            GTEST_SKIP() << "needs CAP_SYS_ADMIN: unshare(CLONE_NEWNS): " << std::strerror(refused);
        home_ = KernelNetnses::open_own().value();
    }

    struct Outcome {
        std::string out;
        std::string err;
        int status = -1;
    };

    static Program shell(const std::string& script) {
        return {.path = "/bin/sh", .arguments = {"-c", script}, .environment = {"A=1"}};
    }

    Outcome follow(size_t number) {
        Outcome outcome;
        for (;;) {
            const auto event = programs_->next(base::Deadline::in(std::chrono::seconds(20)));
            EXPECT_TRUE(event) << event.error().message();
            if (!event)
                return outcome;
            EXPECT_EQ(event->program, number);
            (event->to_stderr ? outcome.err : outcome.out) += event->text;
            if (!event->ended)
                continue;
            outcome.status = event->status;
            return outcome;
        }
    }

    Outcome run(const Program& program) {
        const auto number = programs_->start(*home_, program);
        EXPECT_TRUE(number) << number.error().message();
        return number ? follow(*number) : Outcome{};
    }

    std::unique_ptr<Programs> programs_ = make_kernel_programs();
    std::optional<Netns> home_;
};

TEST_F(Launch, OutputErrorAndStatus) {
    const Outcome outcome = run(shell("echo out; echo err >&2; cat; exit 7"));
    EXPECT_EQ(outcome.out, "out\n") << "standard input is empty";
    EXPECT_EQ(outcome.err, "err\n");
    EXPECT_EQ(outcome.status, 7);
}

TEST_F(Launch, MuchOutputIsNotLost) {
    EXPECT_EQ(run(shell("head -c 300000 /dev/zero")).out.size(), 300000U);
}

TEST_F(Launch, ArgumentsAndEnvironmentAreExactlyTheGiven) {
    const Outcome outcome = run({.path = "/usr/bin/env", .arguments = {}, .environment = {"A=1"}});
    EXPECT_EQ(outcome.out, "A=1\n");
    const Outcome words =
        run({.path = "/bin/echo", .arguments = {"$A", "; id", "*"}, .environment = {}});
    EXPECT_EQ(words.out, "$A ; id *\n");
}

TEST_F(Launch, NothingIsInherited) {
    int pipe[2] = {-1, -1};  // as if we had been started with them: not close-on-exec
    ASSERT_EQ(::pipe2(pipe, 0), 0);
    const Outcome outcome =
        run({.path = "/bin/ls", .arguments = {"/proc/self/fd"}, .environment = {}});
    EXPECT_EQ(outcome.out, "0\n1\n2\n3\n") << "3 is the folder that ls reads";
    ::close(pipe[0]);
    ::close(pipe[1]);
}

TEST_F(Launch, IsInTheNamespaceWithASysOfIt) {
    KernelNetnses namespaces;
    const auto ns = namespaces.make();
    ASSERT_TRUE(ns) << ns.error().message();
    const auto number = programs_->start(
        *ns, {.path = "/bin/sh", .arguments = {"-c", "ls /sys/class/net"}, .environment = {}});
    ASSERT_TRUE(number) << number.error().message();
    EXPECT_THAT(follow(*number).out, testing::Not(HasSubstr("eth")));
    EXPECT_EQ(KernelNetnses::open_own().value().id(), home_->id()) << "we never left";
}

TEST_F(Launch, ItMayLockMemoryAndNothingElse) {
    const Outcome outcome =
        run(shell("grep -E '^(Cap(Prm|Eff|Bnd|Amb)|NoNewPrivs):' "
                  "/proc/self/status | tr '\\t' ' '"));
    EXPECT_EQ(outcome.out,
              "CapPrm: 0000000000004000\nCapEff: 0000000000004000\nCapBnd: 0000000000004000\n"
              "CapAmb: 0000000000000000\nNoNewPrivs: 1\n")
        << outcome.err;
}

TEST_F(Launch, APathThatIsNoProgramIsAnErrorOfStart) {
    const auto started =
        programs_->start(*home_, {.path = "/nonexistent/x", .arguments = {}, .environment = {}});
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().sys, ENOENT);
    EXPECT_THAT(started.error().message(), HasSubstr("/nonexistent/x"));
}

TEST_F(Launch, KillReachesTheWholeGroup) {
    const auto number = programs_->start(*home_, shell("sleep 1000 & echo $!; wait"));
    ASSERT_TRUE(number) << number.error().message();
    const auto event = programs_->next(base::Deadline::in(std::chrono::seconds(20)));
    ASSERT_TRUE(event);
    const pid_t grandchild = std::stoi(event->text);
    programs_->kill(*number);
    programs_->kill(*number);
    EXPECT_EQ(programs_->next(base::Deadline::in(std::chrono::seconds(1))).error().code,
              base::Code::Internal);
    // Killed; the process that adopts it may take its time to reap.
    KernelProcesses processes;
    const auto deadline = base::Deadline::in(std::chrono::seconds(20));
    while (processes.token(grandchild).value() && !deadline.passed())
        ::usleep(1000);
    EXPECT_FALSE(processes.token(grandchild).value());
}

TEST_F(Launch, SilenceIsATimeout) {
    ASSERT_TRUE(programs_->start(*home_, shell("sleep 1000")));
    EXPECT_EQ(programs_->next(base::Deadline::in(std::chrono::milliseconds(20))).error().code,
              base::Code::Timeout);
}

TEST_F(Launch, ASignalIsAStatus) {
    EXPECT_EQ(run(shell("kill -TERM $$")).status, 128 + SIGTERM);
}

TEST_F(Launch, ProgramsBesideUs) {
    const auto missing = programs_->beside_us("no-such-program");
    ASSERT_FALSE(missing);
    EXPECT_TRUE(missing.error().code == base::Code::Unavailable ||
                missing.error().code == base::Code::Refused);
}

}  // namespace
}  // namespace netns
