// SPDX-License-Identifier: Apache-2.0
// The filters that confine_generator.cc makes answer as the table of netns/base/confine_calls.cc
// says: each number of a call, with arguments that are listed and with their neighbours.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <span>

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>

#include "netns/base/confine_calls.h"

namespace base {
namespace {
#include "netns/base/confine_filters.inc"

static_assert(kOwnPid == base::kOwnPid);

struct Answer {
    uint32_t action = SECCOMP_RET_LOG;  // no filter's
    bool compared_alone = true;         // what the kernel remembers
};

// Runs a filter as the kernel does (Documentation/networking/filter.rst).
Answer ask(std::span<const sock_filter> program, const seccomp_data& data) {
    Answer answer;
    uint32_t a = 0, x = 0;
    for (size_t at = 0; at < program.size(); ++at) {
        const sock_filter& line = program[at];
        const auto jump = [&](bool test) { at += test ? line.jt : line.jf; };
        answer.compared_alone = answer.compared_alone && BPF_CLASS(line.code) != BPF_MISC;
        switch (line.code) {
            case BPF_LD | BPF_W | BPF_ABS:
                std::memcpy(&a, reinterpret_cast<const char*>(&data) + line.k, sizeof a);
                break;
            case BPF_LD | BPF_IMM:
                a = line.k;
                break;
            case BPF_ALU | BPF_AND | BPF_K:
                a &= line.k;
                break;
            case BPF_ALU | BPF_RSH | BPF_K:
                a >>= line.k;
                break;
            case BPF_ALU | BPF_LSH | BPF_X:
                a <<= x;
                break;
            case BPF_MISC | BPF_TAX:
                x = a;
                break;
            case BPF_MISC | BPF_TXA:
                a = x;
                break;
            case BPF_JMP | BPF_JEQ | BPF_K:
                jump(a == line.k);
                break;
            case BPF_JMP | BPF_JGE | BPF_K:
                jump(a >= line.k);
                break;
            case BPF_JMP | BPF_JSET | BPF_K:
                jump((a & line.k) != 0);
                break;
            case BPF_RET | BPF_K:
                answer.action = line.k;
                return answer;
            default:
                ADD_FAILURE() << "line " << at << " is of an unknown code " << line.code;
                return answer;
        }
    }
    ADD_FAILURE() << "the program has no end";
    return answer;
}

seccomp_data call(uint32_t number) {
    seccomp_data data{};
    data.nr = static_cast<int>(number);
    data.arch = seccomp_arch_native();
    return data;
}

// The calls with a number on this machine.
struct Table {
    explicit Table(Profile profile) {
        for (const AllowedCall& call : calls_of(profile)) {
            const int number = seccomp_syscall_resolve_name(call.name.c_str());
            if (number >= 0 && !call.denied)
                allowed[static_cast<uint32_t>(number)].push_back(call.arguments);
        }
        for (const ForbiddenCalls& calls : forbidden_calls()) {
            for (const std::string& name : calls.names)
                forbidden.insert(seccomp_syscall_resolve_name(name.c_str()));
        }
    }

    [[nodiscard]] uint32_t answer(const seccomp_data& data) const {
        const auto fits = [&](const Argument& argument) {
            return (static_cast<uint32_t>(data.args[argument.index]) & argument.mask) ==
                   argument.value;
        };
        const auto lines = allowed.find(static_cast<uint32_t>(data.nr));
        if (lines != allowed.end() && std::ranges::any_of(lines->second, [&](const auto& line) {
                return std::ranges::all_of(line, fits);
            }))
            return SECCOMP_RET_ALLOW;
        return forbidden.contains(data.nr) ? SECCOMP_RET_KILL_PROCESS
                                           : SECCOMP_RET_ERRNO | uint32_t{ENOSYS};
    }

    std::map<uint32_t, std::vector<std::vector<Argument>>> allowed;
    std::set<int> forbidden;
};

struct Filter {
    Profile profile;
    std::span<const sock_filter> program, logs;
};

class EachFilter : public testing::TestWithParam<Filter> {
  protected:
    void expect_as_listed(const seccomp_data& data) const {
        const uint32_t wanted = table_.answer(data);
        EXPECT_EQ(ask(GetParam().program, data).action, wanted) << data.nr;
        EXPECT_EQ(ask(GetParam().logs, data).action,
                  wanted == SECCOMP_RET_ALLOW ? wanted : SECCOMP_RET_LOG)
            << data.nr;
    }

    const Table table_{GetParam().profile};
};

INSTANTIATE_TEST_SUITE_P(All,
                         EachFilter,
                         testing::Values(Filter{Profile::Hook, kHookOrRefuse, kHookOrLog},
                                         Filter{Profile::Look, kLookOrRefuse, kLookOrLog},
                                         Filter{Profile::Serve, kServeOrRefuse, kServeOrLog}));

TEST_P(EachFilter, AnswersEachNumberAsTheTable) {
    for (uint32_t number = 0; number < 2048; ++number) {
        expect_as_listed(call(number));
        seccomp_data all_set = call(number);
        std::ranges::fill(all_set.args, ~0ULL);
        expect_as_listed(all_set);
    }
    expect_as_listed(call(~0U));
}

// Each listed line: with nothing else set, with all else set, and with one bit of it wrong.
TEST_P(EachFilter, ComparesEachArgumentAsTheTable) {
    for (const auto& [number, lines] : table_.allowed) {
        for (const auto& line : lines) {
            seccomp_data least = call(number), most = call(number);
            for (const Argument& argument : line) {
                least.args[argument.index] = argument.value;
                most.args[argument.index] = ~0ULL & ~uint64_t{argument.mask ^ argument.value};
            }
            expect_as_listed(least);
            expect_as_listed(most);
            EXPECT_EQ(ask(GetParam().program, most).action, SECCOMP_RET_ALLOW) << number;
            for (const Argument& argument : line) {
                for (unsigned bit = 0; bit < 32; ++bit) {
                    seccomp_data wrong = least;
                    wrong.args[argument.index] ^= 1ULL << bit;
                    expect_as_listed(wrong);
                }
            }
        }
    }
}

TEST_P(EachFilter, KillsAnotherAbi) {
    for (const auto& program : {GetParam().program, std::span<const sock_filter>{kDenied}}) {
        seccomp_data other = call(0);
        other.arch = AUDIT_ARCH_I386;
        EXPECT_EQ(ask(program, other).action, SECCOMP_RET_KILL_PROCESS);
        if (seccomp_arch_native() == AUDIT_ARCH_X86_64) {
            EXPECT_EQ(ask(program, call(0x40000000)).action, SECCOMP_RET_KILL_PROCESS);
        }
    }
}

// A server makes its calls for hours: what is always allowed is remembered by the kernel.
TEST_P(EachFilter, IsRememberedWhereItServesForLong) {
    for (const auto& [number, lines] : table_.allowed) {
        if (lines.front().empty()) {
            EXPECT_EQ(ask(GetParam().program, call(number)).compared_alone,
                      GetParam().profile == Profile::Serve)
                << number;
        }
    }
}

TEST(DeniedFilter, RefusesNothingElse) {
    const int denied = seccomp_syscall_resolve_name("clone3");
    for (int number = 0; number < 2048; ++number)
        EXPECT_EQ(ask(kDenied, call(static_cast<uint32_t>(number))).action,
                  number == denied ? SECCOMP_RET_ERRNO | uint32_t{ENOSYS} : SECCOMP_RET_ALLOW);
}

}  // namespace
}  // namespace base
