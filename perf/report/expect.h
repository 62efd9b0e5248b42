// SPDX-License-Identifier: Apache-2.0
// Expectations: what a script demands of what was measured (--expect).
//
//     bw>=900MiB/s,p99<=60us        all of them, of each point that has the metric
//
// Metrics: bw, rate (bandwidth); p50, p90, p99, p99.9, max (latency). Units: B/s, KiB/s, MiB/s,
// GiB/s, Mbit/s, Gbit/s; msg/s, kmsg/s, Mmsg/s; ns, us, ms, s. With repetitions the median counts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "perf/measure/result.h"

namespace perf {

struct ExpectedMetric;

struct Expectation {
    const ExpectedMetric* metric = nullptr;  // of a table
    bool at_least = true;                    // else at most
    double limit = 0;                        // bytes/s, messages/s or ns
    std::string text;                        // as it was given
};

// Code::Usage that names what is wrong and what is allowed. An empty text is no expectation.
Result<std::vector<Expectation>> parse_expectations(std::string_view text);

// A line for each expectation that a point does not meet, or that no point could.
std::vector<std::string> unmet(const std::vector<Expectation>& expectations,
                               const std::vector<PointResult>& results);

}  // namespace perf
