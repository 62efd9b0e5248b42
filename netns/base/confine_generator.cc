// SPDX-License-Identifier: Apache-2.0
// confine_generator runs at build time. From the tables of confine_calls.cc it makes, with
// libseccomp, the filters that confine.cc loads, as C++ arrays. So the programs need no library,
// and no time to build filters. Usage: confine_generator > confine_filters.inc
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#include "netns/base/confine_calls.h"
#include "netns/base/unique_fd.h"

namespace {
using Filter = std::unique_ptr<void, decltype(&::seccomp_release)>;

void must(int status, const std::string& what) {
    if (status >= 0)
        return;
    std::fprintf(stderr, "confine_generator: %s: error %d\n", what.c_str(), -status);
    std::exit(1);
}

// Returns the call's number; negative if it belongs to another architecture.
int number_of(const std::string& name) {
    const int number = ::seccomp_syscall_resolve_name(name.c_str());
    if (number == __NR_SCMP_ERROR)
        must(-1, name + " is no call that libseccomp knows");
    return number;
}

void add(scmp_filter_ctx filter, const base::AllowedCall& call, uint32_t action) {
    const int number = number_of(call.name);
    if (number < 0)
        return;
    std::vector<scmp_arg_cmp> arguments;
    for (const base::Argument& argument : call.arguments)
        arguments.push_back({argument.index, SCMP_CMP_MASKED_EQ, argument.mask, argument.value});
    must(::seccomp_rule_add_array(filter,
                                  action,
                                  number,
                                  static_cast<unsigned>(arguments.size()),
                                  arguments.empty() ? nullptr : arguments.data()),
         call.name);
}

// Returns the filter's program through a file: before 2.6 libseccomp writes it only to a
// descriptor.
std::vector<sock_filter> program_of(scmp_filter_ctx filter) {
    const base::UniqueFd file{::memfd_create("filter", MFD_CLOEXEC)};
    must(::seccomp_export_bpf(filter, file.get()), "export a filter");
    const off_t size = ::lseek(file.get(), 0, SEEK_END);
    std::vector<sock_filter> program(static_cast<size_t>(size) / sizeof(sock_filter));
    const ssize_t got = ::pread(file.get(), program.data(), static_cast<size_t>(size), 0);
    must(got == size && size > 0 ? 0 : -1, "read a filter");
    return program;
}

// Stands in a program for "not listed", until it becomes a jump to the end.
constexpr uint32_t kNotListed = SCMP_ACT_TRACE(0x7261);

sock_filter line(unsigned code, size_t value, size_t if_true = 0, size_t if_false = 0) {
    return {static_cast<uint16_t>(code),
            static_cast<uint8_t>(if_true),
            static_cast<uint8_t>(if_false),
            static_cast<uint32_t>(value)};
}

// Returns the numbers of all forbidden calls as a set of bits, 32 in a word.
std::map<size_t, uint32_t> forbidden_words() {
    std::map<size_t, uint32_t> words;
    for (const base::ForbiddenCalls& calls : base::forbidden_calls()) {
        for (const std::string& name : calls.names) {
            if (const int number = number_of(name); number >= 0)
                words[static_cast<size_t>(number) / 32] |= uint32_t{1} << (number % 32);
        }
    }
    return words;
}

// libseccomp has one answer for all unlisted calls; this program needs two. A forbidden call kills,
// even if it is listed with other arguments; any other unlisted call answers ENOSYS. When a filter
// is loaded, the kernel tries it with each call number, as long as it meets only comparisons
// (kernel/seccomp.c, seccomp_is_const_allow). The first TAX ends that, so the length of this end
// costs nothing.
void add_end(std::vector<sock_filter>& program) {
    const size_t end = program.size();
    size_t jumps = 0;
    for (size_t at = 0; at < end; ++at) {
        if (program[at].code == (BPF_RET | BPF_K) && program[at].k == kNotListed) {
            program[at] = line(BPF_JMP | BPF_JA, end - at - 1);
            ++jumps;
        }
    }
    must(jumps != 0 ? 0 : -1, "find where a filter ends");
    const sock_filter load_number = line(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
    constexpr size_t kBit = 0;  // the word of scratch memory with the call's bit
    program.insert(program.end(),
                   {load_number,
                    line(BPF_ALU | BPF_AND | BPF_K, 31),
                    line(BPF_MISC | BPF_TAX, 0),
                    line(BPF_LD | BPF_IMM, 1),
                    line(BPF_ALU | BPF_LSH | BPF_X, 0),
                    line(BPF_ST, kBit),
                    load_number,
                    line(BPF_ALU | BPF_RSH | BPF_K, 5)});
    const std::map<size_t, uint32_t> words = forbidden_words();
    size_t left = words.size();
    for (const auto& [word, bits] : words) {
        --left;
        program.push_back(line(BPF_JMP | BPF_JEQ | BPF_K, word, 0, 2));
        program.push_back(line(BPF_LD | BPF_MEM, kBit));
        program.push_back(line(BPF_JMP | BPF_JSET | BPF_K, bits, 3 * left + 1, 3 * left));
    }
    program.push_back(line(BPF_RET | BPF_K, SCMP_ACT_ERRNO(ENOSYS)));
    program.push_back(line(BPF_RET | BPF_K, SCMP_ACT_KILL_PROCESS));
}

Filter make_filter(uint32_t otherwise) {
    Filter filter{::seccomp_init(otherwise), ::seccomp_release};
    must(filter ? 0 : -1, "make a filter");
    must(::seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS), "ABI");
    // A tree: the last call of the list costs about as much as the first.
    must(::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2), "optimize");
    return filter;
}

void print(const std::string& name, const std::vector<sock_filter>& program) {
    std::printf("constexpr sock_filter %s[] = {\n", name.c_str());
    for (const sock_filter& each : program)
        std::printf("    {%u, %u, %u, %uU},\n", each.code, each.jt, each.jf, each.k);
    std::printf("};\n");
}

void print(const std::string& name, base::Profile profile) {
    for (const bool log : {false, true}) {
        const Filter filter = make_filter(log ? SCMP_ACT_LOG : kNotListed);
        for (const base::AllowedCall& call : base::calls_of(profile)) {
            if (!call.denied)
                add(filter.get(), call, SCMP_ACT_ALLOW);
        }
        std::vector<sock_filter> program = program_of(filter.get());
        if (!log)
            add_end(program);
        print(name + (log ? "OrLog" : "OrRefuse"), program);
    }
}

// The kernel logs refusals of the filters above, but not of this one: the last loaded filter
// answers first.
void print_denied() {
    const Filter filter = make_filter(SCMP_ACT_ALLOW);
    for (const base::CallGroup& group : base::allowed_calls()) {
        for (const base::AllowedCall& call : group.calls) {
            if (call.denied)
                add(filter.get(), call, SCMP_ACT_ERRNO(ENOSYS));
        }
    }
    print("kDenied", program_of(filter.get()));
}
}  // namespace

int main() {
    std::puts("// Made by confine_generator of confine_calls.cc.");
    std::printf("constexpr uint32_t kOwnPid = %uU;\n", base::kOwnPid);
    print("kHook", base::Profile::Hook);
    print("kLook", base::Profile::Look);
    print("kServe", base::Profile::Serve);
    print_denied();
    return 0;
}
