// SPDX-License-Identifier: Apache-2.0
// Schedule: the order in which points run. With repetitions the whole list runs round by round, so
// that drift (heat, neighbours) meets all points alike, and every second round runs backwards, so
// that no point is always the one after the heaviest.
#pragma once

#include <vector>

#include "perf/protocol/plan.h"

namespace perf {

struct Turn {
    uint32_t rep = 1;  // 1 to Plan::reps
    Point point;
};

std::vector<Turn> schedule(const Plan& plan);

// Code::Usage or BadInput if it has too many points or results, or one beyond its limits.
base::Result<> check_plan(const Plan& plan);

// Code::Usage if `points` points, repeated so often, are too many.
base::Result<> check_reps(uint32_t reps, size_t points);

}  // namespace perf
