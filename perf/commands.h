// SPDX-License-Identifier: Apache-2.0
// The commands: what the program does with its options. Tests call them with a fake provider.
#pragma once

#include <cstdio>
#include <functional>

#include "perf/exit_code.h"
#include "perf/options.h"

namespace perf {

// What a command works with besides its options.
struct Surroundings {
    Verbs& verbs;
    Stop& stop;
    std::FILE* out;  // results
    std::FILE* err;  // everything else
    // What a server does once it listens, before it hears anybody. main gives up there what it does
    // not need (netns/base/confine.h).
    std::function<base::Result<>()> settle_down = [] { return base::Result<>{}; };
};

Exit serve(const ServeOptions& options, const Surroundings& around);
Exit run(const RunOptions& options, const Surroundings& around);
Exit loop(const LoopOptions& options, const Surroundings& around);
Exit compare(const CompareOptions& options, const Surroundings& around);
Exit compare_perftest(const PerftestOptions& options, const Surroundings& around);
Exit thesis(const ThesisOptions& options, const Surroundings& around);
Exit kv_exercise(const KvOptions& options, const Surroundings& around);
Exit gids(const GidsOptions& options, const Surroundings& around);
Exit doctor(const DoctorOptions& options, const Surroundings& around);
Exit isolate(const IsolateOptions& options, const Surroundings& around);

// The one that the command line asked for.
Exit run_command(const Command& command, const Surroundings& around);

}  // namespace perf
