// SPDX-License-Identifier: Apache-2.0
#include "perf/measure/schedule.h"

#include <algorithm>

namespace perf {

std::vector<Batch> batches(const Plan& plan, size_t hosts) {
    const bool ramp = plan.hosts == Hosts::Ramp;
    std::vector<Point> points = expand(plan);
    std::vector<Batch> out;
    for (uint32_t rep = 1; rep <= plan.reps; ++rep) {
        for (size_t i = 0; i < (ramp ? hosts : 1); ++i) {
            if (ramp || rep == 1)
                out.push_back({.clients = ramp && rep % 2 == 0 ? i + 1 : hosts - i});
            for (const Point& point : points)
                out.back().turns.push_back({.rep = rep, .point = point});
        }
        std::ranges::reverse(points);
    }
    return out;
}

namespace {
// What expand() must not even be asked for. Latency has fewer points than combinations.
Result<> check_lists(const Plan& plan) {
    constexpr size_t kMaxCombinations = 64 * kMaxPoints;
    size_t combinations = 1;
    for (const size_t list : {plan.verbs.size(),
                              plan.modes.size(),
                              plan.sizes.size(),
                              plan.qps.size(),
                              plan.depths.size(),
                              plan.batches.size(),
                              plan.polls.size(),
                              plan.transports.size()}) {
        combinations *= list;
        if (combinations == 0 || combinations > kMaxCombinations)
            return make_error(Code::Usage,
                              "the plan has a list that is empty, or more than {} combinations",
                              kMaxCombinations);
    }
    if (std::ranges::find(plan.sizes, 0U) != plan.sizes.end() ||
        std::ranges::find(plan.qps, 0U) != plan.qps.end())
        return make_error(Code::Usage, "a size or a number of queue pairs is 0");
    return {};
}

Result<> check_interval(const Plan& plan, size_t runs) {
    if (plan.interval_ms != 0 && plan.time_ms == 0)
        return make_error(Code::Usage, "--interval is of points by time")
            .advise("use --time instead of --iterations");
    if (plan.interval_ms != 0 &&
        (plan.interval_ms < kMinIntervalMs || plan.interval_ms > kMaxIntervalMs))
        return make_error(Code::Usage,
                          "--interval is {} ms, not from {} to {}",
                          plan.interval_ms,
                          kMinIntervalMs,
                          kMaxIntervalMs);
    if (plan.time_ms != kForever)
        return {};
    if (plan.interval_ms == 0)
        return make_error(Code::Usage, "--time forever needs --interval")
            .advise("add --interval 1");
    if (plan.verify == Verify::Full)
        return make_error(Code::Usage, "--verify full lasts as long as --time forever")
            .advise("use --verify edges");
    if (runs != 1 || plan.hosts == Hosts::Ramp)
        return make_error(Code::Usage, "--time forever is of one point, and the plan has {}", runs)
            .advise("name one --verb, --mode and --size, and no --reps");
    return {};
}
}  // namespace

Result<> check_plan(const Plan& plan) {
    TRY(check_lists(plan));
    const auto points = expand(plan);
    if (points.size() > kMaxPoints)
        return make_error(Code::Usage, "{} points are more than {}", points.size(), kMaxPoints);
    for (const Point& point : points) {
        TRY(check_limits(point).context(describe(point)));
        if (point.load)
            TRY(check_limits(load_point(point)).context("the load of " + describe(point)));
    }
    if (plan.load && std::ranges::find(plan.modes, Mode::Latency) == plan.modes.end())
        return make_error(Code::Usage, "--with is a load beside latency, and the plan has none")
            .advise("use --mode lat");
    TRY(check_reps(plan.reps, points.size()));
    return check_interval(plan, points.size() * plan.reps);
}

Result<> check_reps(uint32_t reps, size_t points) {
    if (reps < 1 || reps > kMaxReps)
        return make_error(Code::Usage, "--reps {} is not from 1 to {}", reps, kMaxReps);
    if (points * reps > kMaxRuns)
        return make_error(
            Code::Usage, "{} points, --reps {}: more than {} results", points, reps, kMaxRuns);
    return {};
}

}  // namespace perf
