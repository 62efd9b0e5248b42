// SPDX-License-Identifier: Apache-2.0
// What is compared with perftest, and for how long.
#pragma once

#include <vector>

#include "perf/measure/paired_ratio.h"
#include "perf/protocol/plan.h"

namespace perf::perftest {

inline constexpr size_t kMaxPairs = 1000;
inline constexpr double kNarrow = 0.03;  // of the ratio, to either side

struct Plan {
    std::vector<Verb> verbs;
    std::vector<Mode> modes;
    std::vector<uint32_t> sizes;  // bytes
    uint32_t seconds = 1;         // of each bw run
    uint32_t iterations = 1000;   // of each lat run
    size_t least_pairs = kEnoughPairs;
    size_t most_pairs = 12;
    bool defaults = false;  // neither side gets any setting but verb, size and length
    uint64_t seed = 0;
};

}  // namespace perf::perftest
