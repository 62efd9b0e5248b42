// SPDX-License-Identifier: Apache-2.0
// confine_generator runs at build time. From the tables of confine_calls.cc it makes the filters that
// confine.cc loads, as C++ arrays. So the programs need no library, and no time to build filters.
// libseccomp knows the numbers of calls; its own filters have twice the lines, and the kernel reads
// each line when a filter is loaded. Usage: confine_generator > confine_filters.inc
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>

#include "netns/base/confine_calls.h"

namespace {
[[noreturn]] void die(const std::string& why) {
    std::fprintf(stderr, "confine_generator: %s\n", why.c_str());
    std::exit(1);
}

// A program of the kernel's classic BPF, which has a number, A, and another one, X. Its jumps lead
// to labels until it is printed.
class Program {
  public:
    using Label = size_t;

    static constexpr Label kNext = std::numeric_limits<Label>::max();  // the next line

    Label label() {
        places_.push_back(0);
        return places_.size() - 1;
    }

    void place(Label label) { places_.at(label) = lines_.size(); }

    void add(unsigned code, uint32_t value = 0) { lines_.push_back({code, value, kNext, kNext}); }

    // A = 32 bits of what the filter is asked about.
    void load(size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)); }

    // BPF_JEQ, BPF_JGE or BPF_JSET of A and the value.
    void jump(unsigned test, uint32_t value, Label yes, Label no) {
        lines_.push_back({BPF_JMP | BPF_K | test, value, yes, no});
    }

    void answer(uint32_t action) { add(BPF_RET | BPF_K, action); }

    void print(const std::string& name) const {
        std::printf("constexpr sock_filter %s[] = {\n", name.c_str());
        for (size_t at = 0; at < lines_.size(); ++at)
            std::printf("    {%u, %zu, %zu, %uU},\n",
                        lines_[at].code,
                        distance(at, lines_[at].yes),
                        distance(at, lines_[at].no),
                        lines_[at].value);
        std::puts("};");
    }

  private:
    struct Line {
        unsigned code;
        uint32_t value;
        Label yes, no;
    };

    [[nodiscard]] size_t distance(size_t from, Label to) const {
        const size_t lines = to == kNext ? 0 : places_.at(to) - from - 1;
        if (lines > std::numeric_limits<uint8_t>::max())
            die("a jump is too far");
        return lines;
    }

    std::vector<Line> lines_;
    std::vector<size_t> places_;
};

constexpr auto kNext = Program::kNext;
constexpr uint32_t kEnosys = SECCOMP_RET_ERRNO | ENOSYS;

// The answers to calls that are not listed.
struct Answers {
    uint32_t unlisted, forbidden;
};

// Lines of the table for one call, which differ only in their arguments.
using Rules = std::vector<std::vector<base::Argument>>;

struct Filtered {
    Rules rules;
    bool deadly = false;  // with other arguments
};

// The calls of a profile by their numbers.
struct Numbers {
    std::set<uint32_t> free;  // with any arguments
    std::map<uint32_t, Filtered> filtered;
    std::set<uint32_t> denied;
    std::set<uint32_t> forbidden;  // with any arguments
};

// Nothing for a call of another architecture.
std::vector<uint32_t> number_of(const std::string& name) {
    const int number = ::seccomp_syscall_resolve_name(name.c_str());
    if (number == __NR_SCMP_ERROR)
        die(name + " is no call that libseccomp knows");
    return number < 0 ? std::vector<uint32_t>{} : std::vector{static_cast<uint32_t>(number)};
}

Numbers numbers_of(base::Profile profile) {
    Numbers numbers;
    for (const base::AllowedCall& call : base::calls_of(profile)) {
        for (const uint32_t number : number_of(call.name)) {
            if (call.denied)
                numbers.denied.insert(number);
            else if (call.arguments.empty())
                numbers.free.insert(number);
            else
                numbers.filtered[number].rules.push_back(call.arguments);
        }
    }
    for (const base::ForbiddenCalls& calls : base::forbidden_calls()) {
        for (const std::string& name : calls.names) {
            for (const uint32_t number : number_of(name)) {
                const auto filtered = numbers.filtered.find(number);
                if (filtered != numbers.filtered.end())
                    filtered->second.deadly = true;
                else if (!numbers.free.contains(number))
                    numbers.forbidden.insert(number);
            }
        }
    }
    return numbers;
}

// Kills what speaks another ABI. Then A is the call's number.
void add_head(Program& program) {
    const auto native = program.label(), known = program.label();
    program.load(offsetof(seccomp_data, arch));
    program.jump(BPF_JEQ, ::seccomp_arch_native(), native, kNext);
    program.answer(SECCOMP_RET_KILL_PROCESS);
    program.place(native);
    program.load(offsetof(seccomp_data, nr));
    if (::seccomp_arch_native() == AUDIT_ARCH_X86_64) {
        constexpr uint32_t kX32 = 0x40000000;
        program.jump(BPF_JGE, kX32, kNext, known);
        program.jump(BPF_JEQ, ~0U, known, kNext);  // a tracer's word for "no call"
        program.answer(SECCOMP_RET_KILL_PROCESS);
    }
    program.place(known);
}

// A set of numbers as words of 32 bits.
std::map<uint32_t, uint32_t> words_of(const std::set<uint32_t>& numbers) {
    std::map<uint32_t, uint32_t> words;
    for (const uint32_t number : numbers)
        words[number / 32] |= uint32_t{1} << (number % 32);
    return words;
}

// Compares the first argument of all rules, which is the same one, and then what is left of those
// that have its value.
void add_rules(Program& program,
               const Rules& rules,
               Program::Label allowed,
               Program::Label refused) {
    constexpr size_t kLowHalf = std::endian::native == std::endian::big ? sizeof(uint32_t) : 0;
    const auto [index, mask, any] = rules.front().front();
    std::map<uint32_t, Rules> rest;
    for (const auto& rule : rules) {
        if (rule.front().index != index || rule.front().mask != mask)
            die("the lines of a call begin with different arguments");
        rest[rule.front().value].emplace_back(rule.begin() + 1, rule.end());
    }
    program.load(offsetof(seccomp_data, args) + index * sizeof(uint64_t) + kLowHalf);
    if (mask != ~0U)
        program.add(BPF_ALU | BPF_AND | BPF_K, mask);
    for (const auto& [value, left] : rest) {
        const bool last = value == rest.rbegin()->first;
        const bool done = std::ranges::any_of(left, [](const auto& rule) { return rule.empty(); });
        const auto next = program.label();
        program.jump(BPF_JEQ, value, done ? allowed : kNext, last ? refused : next);
        if (!done)
            add_rules(program, left, allowed, refused);
        program.place(next);
    }
}

// Only for the kernel, which remembers the numbers that comparisons always allow.
void add_comparisons(Program& program, const std::set<uint32_t>& numbers) {
    const auto allowed = program.label(), others = program.label();
    for (const uint32_t number : numbers)
        program.jump(BPF_JEQ, number, allowed, kNext);
    program.jump(BPF_JEQ, 0, others, others);
    program.place(allowed);
    program.answer(SECCOMP_RET_ALLOW);
    program.place(others);
}

// Sets of bits make it short: the kernel compiles it whenever it is loaded, in each stage of a
// container's start, and each line has its share of that. The kernel also tries it with each number
// there is, as far as it meets nothing but comparisons (kernel/seccomp.c, seccomp_is_const_allow),
// so that a call which is always allowed never runs it. That costs more than a process of
// milliseconds gets back by it, and a TAX ends it.
Program make_program(const Numbers& numbers, bool serves, Answers answers) {
    Program program;
    const auto allowed = program.label(), unlisted = program.label(), forbidden = program.label();
    if (!serves)
        program.add(BPF_MISC | BPF_TAX);
    add_head(program);
    if (serves)
        add_comparisons(program, numbers.free);
    program.add(BPF_ALU | BPF_AND | BPF_K, 31);
    program.add(BPF_MISC | BPF_TAX);
    program.add(BPF_LD | BPF_IMM, 1);
    program.add(BPF_ALU | BPF_LSH | BPF_X);
    program.add(BPF_MISC | BPF_TAX);  // X: the number's bit in its word
    program.load(offsetof(seccomp_data, nr));
    program.add(BPF_ALU | BPF_RSH | BPF_K, 5);  // A: the word
    const auto filtered = program.label();
    auto free = words_of(numbers.free), deadly = words_of(numbers.forbidden);
    for (uint32_t word = 0; word <= std::max(free.rbegin()->first, deadly.rbegin()->first);
         ++word) {
        if (free[word] == 0 && deadly[word] == 0)
            continue;
        const auto next = program.label();
        program.jump(BPF_JEQ, word, kNext, next);
        program.add(BPF_MISC | BPF_TXA);
        if (free[word] != 0)
            program.jump(BPF_JSET, free[word], allowed, deadly[word] != 0 ? kNext : filtered);
        if (deadly[word] != 0)
            program.jump(BPF_JSET, deadly[word], forbidden, filtered);
        program.place(next);
    }
    program.place(filtered);
    program.load(offsetof(seccomp_data, nr));
    for (const auto& [number, filter] : numbers.filtered) {
        const auto next = program.label();
        program.jump(BPF_JEQ, number, kNext, next);
        add_rules(program, filter.rules, allowed, filter.deadly ? forbidden : unlisted);
        program.place(next);
    }
    program.place(unlisted);
    program.answer(answers.unlisted);
    program.place(forbidden);
    program.answer(answers.forbidden);
    program.place(allowed);
    program.answer(SECCOMP_RET_ALLOW);
    return program;
}

// The kernel logs what the filters above refuse, but not what this one does: the filter that was
// loaded last answers first.
Program make_denied(const std::set<uint32_t>& numbers) {
    Program program;
    add_head(program);
    for (const uint32_t number : numbers) {
        const auto next = program.label();
        program.jump(BPF_JEQ, number, kNext, next);
        program.answer(kEnosys);
        program.place(next);
    }
    program.answer(SECCOMP_RET_ALLOW);
    return program;
}

void print(const std::string& name, base::Profile profile) {
    constexpr Answers kRefuse{.unlisted = kEnosys, .forbidden = SECCOMP_RET_KILL_PROCESS};
    constexpr Answers kLog{.unlisted = SECCOMP_RET_LOG, .forbidden = SECCOMP_RET_LOG};
    const Numbers numbers = numbers_of(profile);
    const bool serves = profile == base::Profile::Serve;
    make_program(numbers, serves, kRefuse).print(name + "OrRefuse");
    make_program(numbers, serves, kLog).print(name + "OrLog");
}
}  // namespace

int main() {
    std::puts("// Made by confine_generator of confine_calls.cc.");
    std::printf("constexpr uint32_t kOwnPid = %uU;\n", base::kOwnPid);
    print("kHook", base::Profile::Hook);
    print("kLook", base::Profile::Look);
    print("kServe", base::Profile::Serve);
    make_denied(numbers_of(base::Profile::Hook).denied).print("kDenied");
    return 0;
}
