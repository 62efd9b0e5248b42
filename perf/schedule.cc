// SPDX-License-Identifier: Apache-2.0
#include "perf/schedule.h"

#include <algorithm>

#include <fmt/format.h>

namespace perf {

using base::Code;
using base::make_error;

std::vector<Turn> schedule(const Plan& plan) {
    std::vector<Point> points = expand(plan);
    std::vector<Turn> turns;
    turns.reserve(points.size() * plan.reps);
    for (uint32_t rep = 1; rep <= plan.reps; ++rep) {
        for (const Point& point : points)
            turns.push_back({.rep = rep, .point = point});
        std::ranges::reverse(points);
    }
    return turns;
}

base::Result<> check_reps(const Plan& plan, size_t points) {
    if (plan.reps < 1 || plan.reps > kMaxReps)
        return make_error(Code::Usage,
                          fmt::format("--reps {} is not from 1 to {}", plan.reps, kMaxReps));
    if (points * plan.reps > kMaxRuns)
        return make_error(
            Code::Usage,
            fmt::format("{} points, --reps {}: more than {} results", points, plan.reps, kMaxRuns));
    return {};
}

}  // namespace perf
