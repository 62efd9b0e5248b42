// SPDX-License-Identifier: Apache-2.0
// confine_generator: run while building; makes of the table of confine_calls.cc the filters that
// confine.cc loads, as arrays of C++, with libseccomp: so that the programs need no library and no
// time for it. usage: confine_generator > confine_filters.inc
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <linux/filter.h>
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

void add(scmp_filter_ctx filter, const base::AllowedCall& call) {
    const int number = ::seccomp_syscall_resolve_name(call.name.c_str());
    if (number == __NR_SCMP_ERROR)
        must(-1, call.name + " is no call that libseccomp knows");
    if (number < 0)  // another architecture's
        return;
    std::vector<scmp_arg_cmp> arguments;
    for (const base::Argument& argument : call.arguments)
        arguments.push_back({argument.index, SCMP_CMP_MASKED_EQ, argument.mask, argument.value});
    const uint32_t action = call.answer == 0 ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(call.answer);
    must(::seccomp_rule_add_array(filter,
                                  action,
                                  number,
                                  static_cast<unsigned>(arguments.size()),
                                  arguments.empty() ? nullptr : arguments.data()),
         call.name);
}

// The filter's program, by way of a file: libseccomp before 2.6 gives it to a descriptor alone.
std::vector<sock_filter> program_of(scmp_filter_ctx filter) {
    const base::UniqueFd file{::memfd_create("filter", MFD_CLOEXEC)};
    must(::seccomp_export_bpf(filter, file.get()), "export a filter");
    const off_t size = ::lseek(file.get(), 0, SEEK_END);
    std::vector<sock_filter> program(static_cast<size_t>(size) / sizeof(sock_filter));
    const ssize_t got = ::pread(file.get(), program.data(), static_cast<size_t>(size), 0);
    must(got == size && size > 0 ? 0 : -1, "read a filter");
    return program;
}

void print(const char* name, base::Profile profile, uint32_t otherwise) {
    const Filter filter{::seccomp_init(otherwise), ::seccomp_release};
    must(filter ? 0 : -1, "make a filter");
    must(::seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS), name);
    // A tree: a call far down the list costs no more than the first.
    must(::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2), name);
    for (const base::CallGroup& group : base::allowed_calls()) {
        for (const base::Profile wanted : group.profiles) {
            for (const base::AllowedCall& call : group.calls) {
                if (wanted == profile)
                    add(filter.get(), call);
            }
        }
    }
    std::printf("constexpr sock_filter %s[] = {\n", name);
    for (const sock_filter& line : program_of(filter.get()))
        std::printf("    {%u, %u, %u, %uU},\n", line.code, line.jt, line.jf, line.k);
    std::printf("};\n");
}
}  // namespace

int main() {
    std::puts("// Made by confine_generator of confine_calls.cc.");
    print("kHookOrKill", base::Profile::Hook, SCMP_ACT_KILL_PROCESS);
    print("kLookOrKill", base::Profile::Look, SCMP_ACT_KILL_PROCESS);
    print("kServeOrKill", base::Profile::Serve, SCMP_ACT_KILL_PROCESS);
    print("kHookOrLog", base::Profile::Hook, SCMP_ACT_LOG);
    print("kLookOrLog", base::Profile::Look, SCMP_ACT_LOG);
    print("kServeOrLog", base::Profile::Serve, SCMP_ACT_LOG);
    return 0;
}
