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

// Turns of so many clients, over connections of their own: a server does not wait long for a client
// that is silent.
struct Batch {
    size_t clients = 1;
    std::vector<Turn> turns = {};
};

// One batch; of a ramp, in each repetition one for each number of clients. All are in the first,
// and every second repetition goes from one to all.
std::vector<Batch> batches(const Plan& plan, size_t hosts);

// Code::Usage or BadInput if it has too many points or results, or one beyond its limits.
Result<> check_plan(const Plan& plan);

// Code::Usage if `points` points, repeated so often, are too many.
Result<> check_reps(uint32_t reps, size_t points);

}  // namespace perf
