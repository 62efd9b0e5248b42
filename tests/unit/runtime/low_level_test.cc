// SPDX-License-Identifier: Apache-2.0
// The low-level runtime as a real program: found where root alone can change it, and called with
// all that we were called with.
#include "runtime-config/rdma-runtime/low_level.h"

#include <cerrno>
#include <csignal>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netns/base/files.h"
#include "netns/base/unique_fd.h"
#include "tests/support/temp_dir.h"

namespace shim {
namespace {
using base::Code;
using base::UniqueFd;
using testing::HasSubstr;

base::Result<int> run(std::vector<std::string> words) {
    words.insert(words.begin(), "runc");
    return RealLowLevel{}.run(FAKE_RUNTIME, words);
}

struct Pipe {
    UniqueFd read, write;
};

Pipe make_pipe() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    return {UniqueFd{ends[0]}, UniqueFd{ends[1]}};
}

// A process of our own that does `body` and exits with what it returns, its output in a pipe.
template <class Body>
pid_t fork_with_output(Pipe& out, Body body) {
    const pid_t child = ::fork();
    if (child != 0) {
        out.write.reset();
        return child;
    }
    (void)::dup2(out.write.get(), STDOUT_FILENO);
    ::_exit(body());
}

int status_of(pid_t child) {
    int raw = 0;
    EXPECT_EQ(::waitpid(child, &raw, 0), child);
    return WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
}

TEST(LowLevel, IsNeverOurselves) {
    for (const auto& refused : {RealLowLevel{}.run("/proc/self/exe", {"runc", "list"}).error(),
                                RealLowLevel{}.become("/proc/self/exe", {"runc", "list"})}) {
        EXPECT_EQ(refused.code, Code::BadConfig);
        EXPECT_THAT(refused.message(), HasSubstr("is rdma-runtime itself"));
    }
}

// A runtime that calls another, such as NVIDIA's, may name rdma-runtime there.
TEST(LowLevel, IsNotCalledByItself) {
    EXPECT_EQ(*run({"caller"}), 0) << "it knows its caller";
    EXPECT_EQ(::getenv("RDMA_RUNTIME_CALLER"), nullptr);
    for (const pid_t caller : {::getpid(), ::getppid()}) {
        ASSERT_EQ(::setenv("RDMA_RUNTIME_CALLER", std::to_string(caller).c_str(), 1), 0);
        const auto refused = find_named("/usr/bin/env");
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, Code::BadConfig);
        EXPECT_THAT(refused.error().message(), HasSubstr("calls rdma-runtime; name runc or crun"));
    }
    ASSERT_EQ(::setenv("RDMA_RUNTIME_CALLER", "2147483647", 1), 0);
    EXPECT_TRUE(find_named("/usr/bin/env")) << "inherited from somewhere";
    ASSERT_EQ(::unsetenv("RDMA_RUNTIME_CALLER"), 0);
}

TEST(LowLevel, StatusIsThePrograms) {
    for (const int status : {0, 1, 7, 255})
        EXPECT_EQ(*run({"status", std::to_string(status)}), status);
    EXPECT_EQ(*run({"die", std::to_string(SIGTERM)}), 128 + SIGTERM);
    EXPECT_EQ(*run({"die", std::to_string(SIGKILL)}), 128 + SIGKILL);
}

TEST(LowLevel, WhatCannotBeRunIsAnError) {
    const auto status = RealLowLevel{}.run("/nonexistent/runc", {"runc"});
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().sys, ENOENT);
    EXPECT_THAT(status.error().message(), HasSubstr("run /nonexistent/runc"));
    EXPECT_EQ(RealLowLevel{}.become("/nonexistent/runc", {"runc"}).sys, ENOENT);
}

TEST(LowLevel, InheritsDescriptors) {
    const UniqueFd inherited{::open("/dev/null", O_RDONLY)};
    const UniqueFd ours{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    EXPECT_EQ(*run({"descriptor", std::to_string(inherited.get())}), 0);
    EXPECT_EQ(*run({"descriptor", std::to_string(ours.get())}), 1);
}

TEST(LowLevel, SocketsThatWereForUsAreForIt) {
    ASSERT_EQ(::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1), 0);
    EXPECT_EQ(*run({"listen"}), 0);
    ASSERT_EQ(::setenv("LISTEN_PID", "1", 1), 0);
    EXPECT_EQ(*run({"listen"}), 1);
    ASSERT_EQ(::unsetenv("LISTEN_PID"), 0);
    EXPECT_EQ(*run({"listen"}), 1);
}

TEST(LowLevel, SignalsAreAsTheyWere) {
    for (const int number : {SIGTERM, SIGCHLD, SIGPIPE})
        EXPECT_EQ(*run({"blocked", std::to_string(number)}), 0) << number;
    sigset_t set, before;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGUSR1);
    ASSERT_EQ(::sigprocmask(SIG_BLOCK, &set, &before), 0);
    EXPECT_EQ(*run({"blocked", std::to_string(SIGUSR1)}), 1);
    ASSERT_EQ(::sigprocmask(SIG_SETMASK, &before, nullptr), 0);
    // Engines may ignore their children's ends.
    ASSERT_NE(::signal(SIGCHLD, SIG_IGN), SIG_ERR);
    EXPECT_EQ(*run({"status", "3"}), 3);
    EXPECT_EQ(::signal(SIGCHLD, SIG_DFL), SIG_IGN);
}

TEST(LowLevel, SignalsAreSentOn) {
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR2}) {
        Pipe out = make_pipe();
        const pid_t child = fork_with_output(out, [&] {
            return *run({"signal", std::to_string(number)});
        });
        char ready = 0;
        ASSERT_EQ(::read(out.read.get(), &ready, 1), 1);
        ASSERT_EQ(::kill(child, number), 0);
        EXPECT_EQ(status_of(child), 42) << number;
    }
}

TEST(LowLevel, DiesWithUs) {
    Pipe out = make_pipe();
    const pid_t child = fork_with_output(out, [&] {
        return *run({"signal", std::to_string(SIGUSR1)});
    });
    char ready = 0;
    ASSERT_EQ(::read(out.read.get(), &ready, 1), 1);
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    EXPECT_EQ(status_of(child), 128 + SIGKILL);
    // The end of the pipe comes when the last that held it has gone.
    EXPECT_EQ(::read(out.read.get(), &ready, 1), 0);
}

TEST(LowLevel, BecomesItWithEveryWord) {
    Pipe out = make_pipe();
    const std::vector<std::string> words = {"rdma-runtime", "words", "", "a b", "--x=\n"};
    const pid_t child = fork_with_output(out, [&] {
        (void)RealLowLevel{}.become(FAKE_RUNTIME, words);
        return 98;
    });
    EXPECT_EQ(*base::read_all(out.read.get(), 1000, "words"),
              "rdma-runtime\nwords\n\na b\n--x=\n\n");
    EXPECT_EQ(status_of(child), 0);
}

class FindRuntime : public testing::Test {
  protected:
    void SetUp() override {
        if (::geteuid() != 0)
            GTEST_SKIP() << "needs root: the program must be root's";
        std::ofstream(path) << "#!";
        ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
    }

    test::TempDir dir;
    std::string path = dir / "runc";
};

TEST_F(FindRuntime, RootsOwn) {
    EXPECT_EQ(*find_runtime(path), path);
    ASSERT_EQ(::symlink(path.c_str(), (dir / "link").c_str()), 0);
    EXPECT_EQ(*find_runtime(dir / "link"), path);
}

TEST_F(FindRuntime, OthersMayNotChangeIt) {
    ASSERT_EQ(::chmod(path.c_str(), 0775), 0);
    EXPECT_EQ(find_runtime(path).error().code, Code::Refused);
    ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
    ASSERT_EQ(::chmod(dir.path().c_str(), 0757), 0);
    EXPECT_THAT(find_runtime(path).error().message(), HasSubstr("chmod go-w " + dir.path()));
    ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
    const int given = ::chown(path.c_str(), 12, 0) == 0 ? 0 : errno;
    if (given == EINVAL)
        GTEST_SKIP() << "this user namespace has no other user, to whom the program could belong";
    ASSERT_EQ(given, 0);
    EXPECT_EQ(find_runtime(path).error().code, Code::Refused);
}

TEST_F(FindRuntime, WhatIsNoProgram) {
    ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
    EXPECT_EQ(find_runtime(path).error().code, Code::BadConfig);
    EXPECT_EQ(find_runtime(dir.path()).error().code, Code::BadConfig);
    EXPECT_EQ(find_runtime(dir / "gone").error().sys, ENOENT);
    // A runtime that calls itself would do so for ever.
    EXPECT_THAT(find_runtime("/proc/self/exe").error().message(), HasSubstr("itself"));
}

TEST(FindDefaultRuntime, IsRunc) {
    EXPECT_THAT(*find_runtime(""), testing::AnyOf("/usr/bin/runc", "/usr/sbin/runc"));
}
}  // namespace
}  // namespace shim
