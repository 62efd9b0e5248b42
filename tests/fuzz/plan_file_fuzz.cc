// SPDX-License-Identifier: Apache-2.0
// Plans as JSON. What is accepted makes points that every server accepts, and comes back as it was.
#include <string_view>

#include "perf/measure/schedule.h"
#include "perf/report/report.h"
#include "tests/fuzz/expect.h"

FUZZ_TARGET(plan_file) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto json = base::parse_json(text, "the plan");
    if (!json)
        return;
    const auto plan = perf::parse_plan(*json);
    if (!plan)
        return;
    const auto again = perf::parse_plan(to_json(*plan));
    fuzz::expect(again.has_value(), "a plan that was written can be read");
    fuzz::expect(to_json(*again) == to_json(*plan), "and is the same");
    if (!check_plan(*plan))
        return;
    for (const perf::Point& point : expand(*plan))
        fuzz::expect(check_limits(point).has_value(), "a plan's point is within the limits");
}
