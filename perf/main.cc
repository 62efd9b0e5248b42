// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>

#include "netns/base/confine.h"
#include "perf/command/commands.h"

namespace {
int fail(const base::Error& error) {
    (void)std::fputs(("rdma-perf: " + error.message() + "\n").c_str(), stderr);
    return static_cast<int>(perf::exit_of(error));
}
}  // namespace

int main(int argc, char** argv) {
    try {
        const auto command = perf::parse_command_line(argc, argv);
        if (!command)
            return fail(command.error());
        static perf::Stop stop;  // for the signal handler as well: never destroyed before it
        if (auto done = perf::stop_on_signals(stop); !done)
            return fail(done.error());
        perf::Surroundings around{perf::system_verbs(), stop, stdout, stderr};
        // A GPU's driver makes calls of its own, which no list here has.
        const auto* serve = std::get_if<perf::ServeOptions>(&*command);
        if (serve != nullptr && !serve->side.memory->kind.has_driver)
            around.settle_down = [] { return base::confine(base::Profile::Serve); };
        return static_cast<int>(perf::run_command(*command, around));
    } catch (const std::exception& error) {
        return fail(base::make_error(base::Code::Internal, error.what()));
    }
}
