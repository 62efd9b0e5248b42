// SPDX-License-Identifier: Apache-2.0
// The command line, parsed once into values that nothing changes afterwards.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "perf/command/suites.h"
#include "perf/measure/options.h"
#include "perf/report/compare.h"
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

struct CompareOptions {
    std::string a;
    std::string b;
    std::vector<std::string> allow;  // settings that may differ, by the names of compare.h
    std::string json;                // file, "-" for standard output, empty: none
    std::optional<Expect> expect;
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

// ---- the command line of `compare` (compare_command.cc) -----------------------------------------
// The words as they are given; parse_compare() makes values of them.
struct CompareWords {
    CompareOptions options;  // but for these:
    std::string allow;
    std::string expect;
};

// `words` must live until the command line is parsed.
void add_compare_options(CLI::App& app, CompareWords& words);

// Code::Usage or BadInput that names option, value and what is allowed.
Result<CompareOptions> parse_compare(const CompareWords& words);

}  // namespace perf
