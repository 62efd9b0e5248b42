// SPDX-License-Identifier: Apache-2.0
// The table of netns/base/confine_calls.cc: that it is well formed, and what must never be in it.
#include "netns/base/confine_calls.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace base {
namespace {

class EachProfile : public testing::TestWithParam<Profile> {};

INSTANTIATE_TEST_SUITE_P(All,
                         EachProfile,
                         testing::Values(Profile::Hook, Profile::Look, Profile::Serve));

TEST(ConfineCalls, EveryCallHasANameAndAReason) {
    for (const CallGroup& group : allowed_calls()) {
        EXPECT_FALSE(group.profiles.empty()) << group.name;
        for (const AllowedCall& call : group.calls) {
            EXPECT_FALSE(call.name.empty()) << group.name;
            EXPECT_GE(call.why.size(), 4U) << call.name;
            for (const Argument& argument : call.arguments) {
                EXPECT_LT(argument.index, 6U) << call.name;
                EXPECT_EQ(argument.value & ~argument.mask, 0U) << call.name << ": never so";
            }
        }
    }
}

// Another line of a call that is allowed anyway would say nothing.
TEST_P(EachProfile, ACallIsThereOnceUnlessItsArgumentsDiffer) {
    std::set<std::string> free;
    std::set<std::string> filtered;
    std::set<std::string> lines;
    for (const AllowedCall& call : calls_of(GetParam())) {
        std::string line = call.name;
        for (const Argument& argument : call.arguments)
            line += " " + std::to_string(argument.index) + ":" + std::to_string(argument.mask) +
                    "=" + std::to_string(argument.value);
        EXPECT_TRUE(lines.insert(line).second) << line;
        (call.arguments.empty() ? free : filtered).insert(call.name);
    }
    for (const std::string& name : filtered)
        EXPECT_EQ(free.count(name), 0U) << name;
}

std::set<std::string> forbidden_names() {
    std::set<std::string> names;
    for (const ForbiddenCalls& calls : forbidden_calls()) {
        EXPECT_GE(calls.why.size(), 4U);
        for (const std::string& name : calls.names)
            EXPECT_TRUE(names.insert(name).second) << name << " is there twice";
    }
    return names;
}

// In no list at all, and a death.
TEST_P(EachProfile, NothingStartsProgramsOrReachesIntoOthers) {
    const std::set<std::string> forbidden = forbidden_names();
    const std::set<std::string> never = {"execve",
                                         "execveat",
                                         "fork",
                                         "vfork",
                                         "ptrace",
                                         "process_vm_readv",
                                         "process_vm_writev",
                                         "init_module",
                                         "finit_module",
                                         "delete_module",
                                         "kexec_load",
                                         "kexec_file_load",
                                         "reboot",
                                         "pivot_root",
                                         "chroot",
                                         "mknod",
                                         "mknodat",
                                         "keyctl",
                                         "add_key",
                                         "request_key",
                                         "io_uring_setup",
                                         "userfaultfd",
                                         "perf_event_open",
                                         "open_by_handle_at",
                                         "setuid",
                                         "setresuid",
                                         "personality",
                                         "iopl",
                                         "ioperm",
                                         "swapon",
                                         "capset"};
    for (const AllowedCall& call : calls_of(GetParam()))
        EXPECT_EQ(never.count(call.name), 0U) << call.name;
    for (const std::string& name : never)
        EXPECT_EQ(forbidden.count(name), 1U) << name;
}

// A call that is allowed only with some arguments kills with others. Excepted are those that a
// mistake may bring: a file opened to be written, a socket, a request of a device, a setting of the
// process.
TEST(ConfineCalls, OtherArgumentsThanListedAreForbiddenOrHarmless) {
    const std::set<std::string> forbidden = forbidden_names();
    const std::set<std::string> harmless = {"open", "openat", "socket", "ioctl", "prctl"};
    for (const CallGroup& group : allowed_calls()) {
        for (const AllowedCall& call : group.calls) {
            if (!call.arguments.empty()) {
                EXPECT_NE(forbidden.count(call.name), harmless.count(call.name)) << call.name;
            }
        }
    }
}

// Whoever makes threads and the like: a newer library may try these first, and must get an answer.
TEST(ConfineCalls, WhatLibrariesTryIsNoDeath) {
    const std::set<std::string> forbidden = forbidden_names();
    for (const char* name : {"clone3",
                             "prctl",
                             "mseal",
                             "futex_waitv",
                             "getrandom",
                             "statx",
                             "faccessat2",
                             "fchmodat2",
                             "close_range",
                             "openat2",
                             "ioctl",
                             // Providers: mlx5 with MLX_QP_ALLOC_TYPE=HUGE takes huge pages so.
                             "shmget",
                             "shmat",
                             "shmctl",
                             "set_mempolicy",
                             "mlock2"})
        EXPECT_EQ(forbidden.count(name), 0U) << name;
}

TEST_P(EachProfile, SocketsNamespacesAndThreadsAreNeverAllowedWhole) {
    const std::set<std::string> always_filtered = {
        "socket", "setns", "unshare", "clone", "mount", "umount2", "bpf", "kill"};
    for (const AllowedCall& call : calls_of(GetParam())) {
        const bool whole = always_filtered.count(call.name) != 0 && call.arguments.empty();
        EXPECT_FALSE(whole) << call.name;
    }
}

// TCP would lead anywhere, and raw sockets past the host's firewall; who asks and tells neighbours
// has packet sockets for that.
TEST(ConfineCalls, OnlyTheServerHasMoreOfTheInternetThanUdp) {
    for (const Profile profile : {Profile::Hook, Profile::Look}) {
        int found = 0;
        for (const AllowedCall& call : calls_of(profile)) {
            const auto is = [&](unsigned index, int value) {
                return std::ranges::any_of(call.arguments, [&](const Argument& argument) {
                    return argument.index == index && (argument.mask & 0xfU) == 0xfU &&
                           argument.value == static_cast<uint32_t>(value);
                });
            };
            if (call.name != "socket")
                continue;
            EXPECT_FALSE(is(0, AF_INET6)) << call.why;
            if (!is(0, AF_INET))
                continue;
            EXPECT_TRUE(is(1, SOCK_DGRAM) && is(2, 0)) << call.why;
            ++found;
        }
        EXPECT_EQ(found, 1);
    }
}

}  // namespace
}  // namespace base
