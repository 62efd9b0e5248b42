// SPDX-License-Identifier: Apache-2.0
// Plans as JSON: as a report carries its own, so that it can be run again, or by themselves. A file
// is input from outside: bounded, and every value checked.
//
//     {"verbs": ["write"], "modes": ["bw"], "sizes_bytes": [65536], "time_ms": 500, "qps": [1, 4]}
//
// What is missing has the command line's default; a member that is not known is an error.
#pragma once

#include <string>

#include "perf/base/names.h"
#include "perf/protocol/plan.h"

namespace perf {

Json to_json(const Plan& plan);

// Of a plan or point: a number, or "forever".
Json time_json(uint32_t time_ms);

// Code::BadInput that names the member. The caller checks its limits (schedule.h).
Result<Plan> parse_plan(const Json& json);

// Of a report ("plan" beside "schema"), or of a file that is a plan. Code::Usage that names it.
Result<Plan> read_plan(const std::string& path);

}  // namespace perf
