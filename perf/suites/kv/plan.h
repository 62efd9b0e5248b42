// SPDX-License-Identifier: Apache-2.0
// What the key-value exercise does.
#pragma once

#include "perf/protocol/plan.h"
#include "perf/suites/kv/table.h"

namespace perf::kv {

struct Plan {
    Shape shape;
    double skew = 0;       // draws.h
    uint32_t time_ms = 0;  // of each trial, without its warm-up
    uint32_t reps = 1;     // of each method
    Poll poll;
};

}  // namespace perf::kv
