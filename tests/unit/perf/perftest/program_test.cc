// SPDX-License-Identifier: Apache-2.0
// Programs beside us: what they get, how they end, and when they listen.
#include "perf/suites/perftest/program.h"

#include <optional>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "netns/base/unique_fd.h"
#include "perf/suites/perftest/listening.h"
#include "perf/suites/perftest/output.h"
#include "tests/unit/perf/perftest/bench.h"

namespace perf::perftest {
namespace {

using base::Code;
using base::Deadline;
using base::Result;
using base::UniqueFd;
using testing::HasSubstr;
using namespace std::chrono_literals;

const Folders kShell = {"/usr/bin", "/bin"};

Result<Program::Outcome> shell(const std::string& script,
                               std::chrono::milliseconds limit = 10s,
                               int peer = -1) {
    Stop stop;
    Program program = TRY(Program::start(kShell, "sh", {"-c", script}));
    return program.finish(Deadline::in(limit), stop, peer);
}

TEST(PerftestProgram, GivesStatusAndBothOutputs) {
    const auto outcome = shell("echo out; echo err >&2; exit 7");
    ASSERT_TRUE(outcome) << outcome.error().message();
    EXPECT_EQ(outcome->status, 7);
    EXPECT_EQ(outcome->out, "out\n");
    EXPECT_EQ(outcome->err, "err\n");
    EXPECT_EQ(shell("kill -TERM $$").value().status, 128 + SIGTERM);
}

TEST(PerftestProgram, InheritsNothing) {
    // One of ours that is not close-on-exec, as an engine may have left it.
    const UniqueFd open{::socket(AF_INET, SOCK_STREAM, 0)};
    const UniqueFd copy{::fcntl(open.get(), F_DUPFD, 77)};
    ::setenv("PERFTEST_SECRET", "1", 1);
    const auto outcome = shell("env; ls /proc/self/fd; cat; [ -e /proc/$$/fd/77 ] && echo LEAK");
    ::unsetenv("PERFTEST_SECRET");
    ASSERT_TRUE(outcome) << outcome.error().message();
    EXPECT_THAT(outcome->out, HasSubstr("LC_ALL=C\n"));
    EXPECT_THAT(outcome->out, testing::Not(HasSubstr("PERFTEST_SECRET")));
    EXPECT_THAT(outcome->out, testing::Not(HasSubstr("LEAK")));
}

TEST(PerftestProgram, NoShellReadsItsArguments) {
    Stop stop;
    auto program = Program::start(kShell, "echo", {"$(id)", "a;b", "*"});
    ASSERT_TRUE(program) << program.error().message();
    EXPECT_EQ(program->finish(Deadline::in(10s), stop).value().out, "$(id) a;b *\n");
}

TEST(PerftestProgram, OneThatIsMissingNamesThePackage) {
    const auto program = Program::start({"/nonexistent", "/usr"}, "ib_write_bw", {});
    ASSERT_FALSE(program);
    EXPECT_EQ(program.error().code, Code::Unsupported);
    EXPECT_THAT(program.error().message(), HasSubstr("ib_write_bw in /nonexistent or /usr"));
    EXPECT_THAT(program.error().fix, HasSubstr("package perftest"));
}

TEST(PerftestProgram, WhatCannotBeRunIsAnErrorOfItsStart) {
    const test::TempDir dir;
    std::ofstream(dir / "ib_write_bw") << "no program\n";
    std::filesystem::permissions(dir / "ib_write_bw", std::filesystem::perms::owner_all);
    const auto program = Program::start({dir.path()}, "ib_write_bw", {});
    ASSERT_FALSE(program);
    EXPECT_EQ(program.error().sys, ENOEXEC);
}

TEST(PerftestProgram, DeadlineStopAndPeerEndIt) {
    const auto late = shell("exec sleep 1000", 50ms);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, Code::Timeout);

    int pair[2] = {-1, -1};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    const UniqueFd own(pair[0]);
    UniqueFd peer(pair[1]);
    peer.reset();
    const auto alone = shell("exec sleep 1000", 60s, own.get());
    ASSERT_FALSE(alone);
    EXPECT_EQ(alone.error().code, Code::Unavailable);

    Stop stop;
    auto program = Program::start(kShell, "sleep", {"1000"});
    ASSERT_TRUE(program);
    const std::jthread stopper([&] { stop.request(); });
    const auto stopped = program->finish(Deadline::in(60s), stop);
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().sys, ECANCELED);
}

TEST(PerftestProgram, TooMuchOutputEndsIt) {
    const auto outcome = shell("while :; do echo flood; done");
    ASSERT_FALSE(outcome);
    EXPECT_THAT(outcome.error().message(), HasSubstr("printed more than"));
}

TEST(PerftestProgram, TheGroupEndsWithIt) {
    // The child keeps the pipe open: an end of file would never come.
    const auto outcome = shell("sleep 1000 & echo $!");
    ASSERT_TRUE(outcome) << outcome.error().message();
    const pid_t child = std::stoi(outcome->out);
    const auto deadline = Deadline::in(10s);
    // Whoever adopts it may take a moment; a zombie counts as ended.
    const auto lives = [&] {
        std::ifstream stat("/proc/" + std::to_string(child) + "/stat");
        std::string pid;
        std::string name;
        std::string state;
        return (stat >> pid >> name >> state) && state != "Z";
    };
    while (lives() && !deadline.passed())
        std::this_thread::yield();
    EXPECT_FALSE(lives());
}

// As if the process were killed: nothing of ours runs in that thread any more.
TEST(PerftestProgram, EndsWithItsThread) {
    std::optional<Program> program;
    std::jthread([&] {
        if (auto started = Program::start(kShell, "sleep", {"1000"}))
            program.emplace(std::move(*started));
    }).join();
    ASSERT_TRUE(program);
    const Stop stop;
    const auto outcome = program->finish(Deadline::in(10s), stop);
    ASSERT_TRUE(outcome) << outcome.error().message();
    EXPECT_EQ(outcome->status, 128 + SIGKILL);
}

// ---- whether it listens -------------------------------------------------------------------------

TEST(PerftestListening, OnThatPortAndByThatProcess) {
    const UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address{};
    socklen_t length = sizeof address;
    address.sin_family = AF_INET;
    ASSERT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
    ASSERT_EQ(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
    const uint16_t port = ntohs(address.sin_port);
    EXPECT_FALSE(listens("/proc/self", port)) << "bound, but not listening";
    ASSERT_EQ(::listen(fd.get(), 1), 0);
    EXPECT_TRUE(listens("/proc/self", port));
    EXPECT_FALSE(listens("/proc/self", static_cast<uint16_t>(port ^ 1U)));
    Stop stop;
    auto other = Program::start(kShell, "cat", {"/dev/zero"});
    ASSERT_TRUE(other);
    EXPECT_FALSE(listens("/proc/" + std::to_string(other->pid()), port)) << "another's";
    EXPECT_FALSE(listens("/proc/0", port)) << "nobody's";
}

TEST(PerftestListening, TablesOfAnyForm) {
    const test::TempDir dir;
    std::filesystem::create_directories(dir / "fd");
    std::filesystem::create_directories(dir / "net");
    std::filesystem::create_symlink("socket:[4711]", dir / "fd/3");
    const auto with = [&](const std::string& line) {
        std::ofstream(dir / "net/tcp") << "  sl  local_address\n" << line << "\n";
        return listens(dir.path(), 18700);
    };
    EXPECT_TRUE(with("0: 0100090A:490C 00000000:0000 0A 0:0 0:0 0 0 0 4711 1 0"));
    EXPECT_FALSE(with("0: 0100090A:490C 00000000:0000 01 0:0 0:0 0 0 0 4711 1 0")) << "connected";
    EXPECT_FALSE(with("0: 0100090A:490C 00000000:0000 0A 0:0 0:0 0 0 0 4712 1 0")) << "another's";
    EXPECT_FALSE(with("0: 0100090A:0016 00000000:0000 0A 0:0 0:0 0 0 0 4711 1 0"));
    EXPECT_FALSE(with("0: 490C 00000000:0000 0A 0:0 0:0 0 0 0"));
    EXPECT_FALSE(with("0: : 0 0A 0:0 0:0 0 0 0 4711"));
    EXPECT_FALSE(with("0: 0:1490C 0 0A 0:0 0:0 0 0 0 4711"));
}

}  // namespace
}  // namespace perf::perftest
