// SPDX-License-Identifier: Apache-2.0
// The commands: what the program does with its options. Tests call them with a fake provider.
#pragma once

#include "perf/command/options.h"
#include "perf/measure/options.h"
#include "perf/report/document.h"

namespace perf {

Exit serve(const ServeOptions& options, const Surroundings& around);
Exit run(const RunOptions& options, const Surroundings& around);
Exit loop(const LoopOptions& options, const Surroundings& around);
Exit compare(const CompareOptions& options, const Surroundings& around);

// The one that the command line asked for.
Exit run_command(const Command& command, const Surroundings& around);

}  // namespace perf
