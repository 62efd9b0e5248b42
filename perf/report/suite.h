// SPDX-License-Identifier: Apache-2.0
// Suite: a command with a folder of its own below perf/suites: what the command line, the server and
// the program's help know of it. A new one is its folder and a line of perf/command/suites.cc.
#pragma once

#include <functional>
#include <string_view>

#include "perf/measure/server_half.h"
#include "perf/measure/surroundings.h"
#include "perf/report/document.h"

namespace CLI {
class App;
}

namespace perf {

using SuiteRun = std::function<Exit(const LookOptions& look, const Surroundings& around)>;

struct Suite {
    std::string_view name;  // of the command
    std::string_view help;
    std::string_view host = {};  // help of the server that must be named; empty: --peer may be
    std::string_view port = {};  // help of --port; empty: there is none
    Exit (*run)(const LookOptions& look, const Surroundings& around) = nullptr;
    // Instead of `run`, with options of its own: declares them. What it returns reads them, once the
    // command line is parsed.
    std::function<Result<SuiteRun>()> (*declare)(CLI::App& app) = nullptr;
    const ServedSuite* served = nullptr;  // its half of a server
};

}  // namespace perf
