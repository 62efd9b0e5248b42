// SPDX-License-Identifier: Apache-2.0
#include "netns/process.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netns/base/clock.h"
#include "netns/base/owned_file.h"
#include "netns/base/unique_fd.h"

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

TEST(Processes, TheMountNamespaceIsAskedByNumber) {
    KernelProcesses processes;
    const auto own = processes.mount_namespace(::getpid());
    ASSERT_TRUE(own) << own.error().message();
    ASSERT_TRUE(*own);
    EXPECT_FALSE(processes.mount_namespace(0x7fffffff).value());
}

// An engine whose reader has gone away: its container started all the same.
TEST(Terminal, WhatNobodyReadsIsNotSaid) {
    const pid_t engine = ::fork();
    if (engine == 0) {
        int ends[2];
        if (::pipe(ends) != 0 || ::dup2(ends[1], STDERR_FILENO) < 0 || ::close(ends[0]) != 0)
            ::_exit(1);
        const pid_t hook = ::fork();
        if (hook == 0) {
            tell_parent("a line\n");
            ::_exit(0);
        }
        int status = 1;
        ::_exit(::waitpid(hook, &status, 0) == hook && status == 0 ? 0 : 2);
    }
    int status = 1;
    ASSERT_EQ(::waitpid(engine, &status, 0), engine);
    EXPECT_EQ(status, 0);
}

// proc(5) shows the first thread's end as the process's state.
TEST(Processes, OneWhoseFirstThreadHasEndedLives) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        std::thread([&] {
            while (true)
                ::pause();
        }).detach();
        (void)::close(ends[1]);
        (void)::syscall(SYS_exit, 0);  // this thread alone
    }
    ASSERT_EQ(::close(ends[1]), 0);
    KernelProcesses processes;
    const std::string stat = "/proc/" + std::to_string(child) + "/stat";
    const auto state = [&] {
        std::string text;
        std::getline(std::ifstream(stat), text);
        const auto close = text.rfind(") ");
        return close == std::string::npos ? '?' : text[close + 2];
    };
    const auto deadline = base::Deadline::in(std::chrono::seconds(10));
    while (state() != 'Z' && !deadline.passed())
        std::this_thread::yield();
    ASSERT_EQ(state(), 'Z');
    EXPECT_TRUE(processes.token(child).value());
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
    EXPECT_FALSE(processes.token(child).value()) << "a zombie";
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    (void)::close(ends[0]);
}

TEST(Callers, AreReadFromTheMapOfTheirUserNamespace) {
    const struct {
        uid_t effective;
        const char* map;
        uid_t owner_of_all;
        Caller caller;
    } rows[] = {
        {1000, "         0          0 4294967295\n", 0, {false, 1000, 0}},
        {0, "0 1000 1\n1 100000 65536\n", 65534, {false, 1000, 65534}},
        {5,
         "         0       1000          1\n         1     100000      65536\n",
         65534,
         {false, 100004, 65534}},
        {0, "0 0 1\n", 0, {false, 0, 0}},
        {7, "5 0 1\n", 5, {false, 65534, 5}},
        // The namespace above is a user's, whose root the user is.
        {0, "0 0 1\n", 65534, {false, 65534, 65534}},
        {0, "0 0 65536\n", 65534, {false, 65534, 65534}},
        {3, "0 0 65536\n", 65534, {false, 3, 65534}},
        {0, "", 0, {false, 65534, 65534}},
        {0, "0 x", 0, {false, 65534, 65534}},
        {0, "0 1000", 0, {false, 65534, 65534}},
    };

    for (const auto& [effective, map, owner_of_all, caller] : rows)
        EXPECT_EQ(parse_caller(effective, map, owner_of_all), caller) << map << owner_of_all;
}

TEST(Callers, ThisProcess) {
    const Caller caller = find_caller();
    EXPECT_EQ(caller.root, base::is_machine_root());
    if (caller.root) {
        EXPECT_EQ(caller, (Caller{.root = true, .user = 0, .root_uid = 0}));
    }
}

TEST(Processes, WhoHasADeviceOpen) {
    KernelProcesses processes;
    const auto late = processes.that_opened(1, 7, base::Deadline::now());
    ASSERT_FALSE(late) << "nobody is not what is not known";
    EXPECT_EQ(late.error().code, base::Code::Timeout);
    const auto have = [&] {
        const auto deadline = base::Deadline::in(std::chrono::minutes(1));
        const auto openers = processes.that_opened(1, 7, deadline).value();  // /dev/full
        return std::ranges::find(openers, ::getpid()) != openers.end();
    };
    EXPECT_FALSE(have());
    base::UniqueFd full{::open("/dev/full", O_RDONLY | O_CLOEXEC)};
    ASSERT_TRUE(full);
    EXPECT_TRUE(have());
    full.reset();
    EXPECT_FALSE(have());
}

}  // namespace
}  // namespace netns
