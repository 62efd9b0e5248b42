// SPDX-License-Identifier: Apache-2.0
// The commands: their options, parsed once into values that nothing changes afterwards, and what
// the program does with them. Tests call them with a fake provider.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "perf/report/compare.h"
#include "perf/report/report.h"
#include "perf/report/suite.h"

namespace perf {

struct ServeOptions {
    std::vector<std::string> bind;  // addresses; none: loopback only
    uint16_t port = 0;
    bool once = false;
    bool explain_gid = false;
    uint32_t max_threads = 0;  // that measure, of all clients; 0: by the machine's processors
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
    const Suite* suite = nullptr;
    LookOptions look;
    SuiteRun run;
};

// --help and --version: to be printed, then done.
struct HelpText {
    std::string text;
};

using Command =
    std::variant<ServeOptions, RunOptions, LoopOptions, CompareOptions, SuiteCommand, HelpText>;

std::span<const Suite* const> all_suites();

// Code::Usage that names option, value and what is allowed. `argv` as main has it.
Result<Command> parse_command_line(int argc,
                                   const char* const* argv,
                                   std::span<const Suite* const> suites = all_suites());

Exit run_command(const Command& command, const Surroundings& around);

Exit serve(const ServeOptions& options, const Surroundings& around);
Exit run(const RunOptions& options, const Surroundings& around);
Exit loop(const LoopOptions& options, const Surroundings& around);
Exit compare(const CompareOptions& options, const Surroundings& around);

// ---- the server's side of one control connection (session.cc) -----------------------------------
// What a session did so far.
struct Served {
    uint64_t points = 0;
    // Once the client said what it wants to reach: the table of GID candidates, and the note for
    // the user.
    std::string explanation = {};
    std::string note = {};
};

// Serves from hello until the client closes. An error has been told to the client where that was
// possible.
Result<> serve_session(Verbs& verbs,
                       Control control,
                       const SideOptions& options,
                       Served& served,
                       std::span<const Suite* const> suites = all_suites());

}  // namespace perf
