// SPDX-License-Identifier: Apache-2.0
// isolate: all checks in one arena, and their layout for people and programs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "perf/report/suite.h"
#include "perf/suites/isolate/check.h"

namespace perf {

// The table of checks, in the order in which they run: first what only looks at this side.
std::span<const IsolationCheck> isolation_checks();

struct Trial {
    const IsolationCheck* check = nullptr;
    Outcome outcome;
};

// As far as they could be carried out.
struct Trials {
    std::vector<Trial> done;
    std::optional<Error> error;  // why not further
};

Trials try_isolation(Arena& arena);

bool any_violation(const Trials& trials);

std::string to_text(const Trials& trials);
Json to_json(const Trials& trials, const std::string& peer);  // members of the document

// Negative tests between this side and a server that agreed to them. The server's half is in
// target.cc: one page is exposed until the client releases it.
extern const Suite kIsolate;
extern const ServedSuite kServedIsolation;

Exit isolate(const LookOptions& look, const Surroundings& around);

}  // namespace perf
