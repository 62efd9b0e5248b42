// SPDX-License-Identifier: Apache-2.0
// The command line, parsed once into values that nothing changes afterwards.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "perf/compare_options.h"
#include "perf/expect.h"
#include "perf/kv/plan.h"
#include "perf/perftest/plan.h"
#include "perf/plan.h"
#include "perf/side_options.h"
#include "perf/thesis.h"

namespace perf {

// What run and loop have in common.
struct MeasureOptions {
    Plan plan;
    SideOptions side;
    // Each a file, "-" for standard output (at most one of them), empty: none.
    std::string json;
    std::string csv;
    std::string jsonl;
    std::string markdown;
    std::vector<Expectation> expectations;
    bool explain_gid = false;
};

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

struct KvOptions {
    std::string host;
    uint16_t port = 0;
    kv::Plan plan;
    std::string json;  // as in MeasureOptions
    SideOptions side;
};

struct PerftestOptions {
    std::string host;
    uint16_t port = 0;
    perftest::Plan plan;
    std::string json;  // as in MeasureOptions
    Expect expect = Expect::Nothing;
    SideOptions side;
};

// Commands that look and change nothing.
struct LookOptions {
    std::string peer;  // empty: none
    uint16_t port = 0;
    std::string json;  // as in MeasureOptions
    SideOptions side;
};

struct GidsOptions {
    LookOptions look;
};

struct DoctorOptions {
    LookOptions look;
};

// Negative tests between this side and a server that agreed to them.
struct IsolateOptions {
    LookOptions look;
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
