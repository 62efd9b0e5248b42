// SPDX-License-Identifier: Apache-2.0
// The command line, parsed once into values that nothing changes afterwards.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "perf/compare_options.h"
#include "perf/doctor/doctor.h"
#include "perf/gids.h"
#include "perf/isolate/isolate.h"
#include "perf/kv/command.h"
#include "perf/outputs.h"
#include "perf/perftest/command.h"
#include "perf/side_options.h"
#include "perf/thesis.h"

namespace perf {

struct ServeOptions {
    std::vector<std::string> bind;  // addresses; none: loopback only
    uint16_t port = 0;
    bool once = false;
    bool explain_gid = false;
    SideOptions side;
};

struct RunOptions {
    std::vector<std::string> hosts;  // a client for each, measured together
    uint16_t port = 0;
    MeasureOptions measure;
};

struct LoopOptions {
    MeasureOptions measure;
};

struct ThesisOptions {
    std::vector<std::string> hosts;
    uint16_t port = 0;
    ThesisPlan plan;
    std::string json;  // as in MeasureOptions
    SideOptions side;
};

// --help and --version: to be printed, then done.
struct HelpText {
    std::string text;
};

using Command = std::variant<ServeOptions,
                             RunOptions,
                             LoopOptions,
                             CompareOptions,
                             PerftestOptions,
                             ThesisOptions,
                             KvOptions,
                             GidsOptions,
                             DoctorOptions,
                             IsolateOptions,
                             HelpText>;

// Code::Usage that names option, value and what is allowed. `argv` as main has it.
base::Result<Command> parse_command_line(int argc, const char* const* argv);

}  // namespace perf
