// SPDX-License-Identifier: Apache-2.0
// rdma-hook: the program that engines and runtimes call. It reads the container's state
// (config.json for precreate) from stdin.
#include <climits>
#include <csignal>
#include <cstdio>

#include <malloc.h>
#include <unistd.h>

#include "hook/command.h"
#include "netns/base/confine.h"
#include "netns/base/files.h"
#include "netns/base/log.h"
#include "netns/kernel_host.h"
#include "runtime-config/oci/state.h"

int main(int argc, char** argv) {
    // The process lives for milliseconds: it takes memory in one piece and returns it at its end.
    (void)::mallopt(M_TOP_PAD, 1 << 20);
    (void)::mallopt(M_TRIM_THRESHOLD, INT_MAX);
    base::clean_surroundings();
    // Ignore SIGPIPE: a failed write then returns EPIPE, and rdma-hook undoes the unused
    // attachments.
    (void)std::signal(SIGPIPE, SIG_IGN);
    const std::vector<std::string> args(argv + 1, argv + argc);
    if (args == std::vector<std::string>{"--version"})
        return std::puts("rdma-hook " RDMA_VERSION) < 0 ? 1 : 0;
    const auto command = hook::parse_command(args);
    if (!command)
        return hook::usage(args, command.error());
    netns::KernelHost kernel;
    netns::Host host = kernel.host();
    hook::Call call = hook::call_of(*command, host);
    base::log::open_later([&call] { return hook::log_of(call); });
    const auto done = hook::guarded([&]() -> base::Result<> {
        const std::string input = TRY(base::read_all(STDIN_FILENO, oci::kMaxStateBytes, "stdin"));
        if (::chdir("/") != 0)
            return base::sys_error("enter /");
        TRY(base::confine(base::Profile::Hook));
        return command->stage->run(input, call);
    });
    return done ? 0 : hook::report(*command, call, done.error());
}
