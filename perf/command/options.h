// SPDX-License-Identifier: Apache-2.0
// The command line, parsed once into values that nothing changes afterwards.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "perf/command/compare_command.h"
#include "perf/command/suites.h"
#include "perf/measure/options.h"
#include "perf/report/outputs.h"

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

struct SuiteCommand {
    LookOptions look;
    SuiteRun run;
};

// --help and --version: to be printed, then done.
struct HelpText {
    std::string text;
};

using Command =
    std::variant<ServeOptions, RunOptions, LoopOptions, CompareOptions, SuiteCommand, HelpText>;

// Code::Usage that names option, value and what is allowed. `argv` as main has it.
Result<Command> parse_command_line(int argc,
                                   const char* const* argv,
                                   std::span<const Suite* const> suites = all_suites());

}  // namespace perf
