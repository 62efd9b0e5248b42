// SPDX-License-Identifier: Apache-2.0
// Plans as JSON. What is accepted makes points that every server accepts, and comes back as it was.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "perf/plan_file.h"
#include "perf/schedule.h"
#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto json = base::parse_json(text, "the plan");
    if (!json)
        return 0;
    const auto plan = perf::parse_plan(*json);
    if (!plan)
        return 0;
    const auto again = perf::parse_plan(to_json(*plan));
    fuzz::expect(again.has_value(), "a plan that was written can be read");
    fuzz::expect(to_json(*again) == to_json(*plan), "and is the same");
    if (!check_plan(*plan))
        return 0;
    for (const perf::Point& point : expand(*plan))
        fuzz::expect(check_limits(point).has_value(), "a plan's point is within the limits");
    return 0;
}
