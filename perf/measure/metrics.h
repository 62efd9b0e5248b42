// SPDX-License-Identifier: Apache-2.0
// Metrics: the numbers of a result that are summarized over repetitions and compared between
// reports. One table for both, so that a metric has one name and one direction everywhere.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "perf/measure/result.h"
#include "perf/measure/statistics.h"

namespace perf {

struct Metric {
    std::string_view group;  // the member of a result: "bandwidth", "latency" or "cpu"
    std::string_view name;   // the member of the group, with its unit
    Better better;
    // Between reports. Rate says the same as bandwidth between points of one size; cost says as much
    // of how threads wait as of the payload.
    bool compared;
    std::optional<double> (*value)(const PointResult& result);
};

std::span<const Metric> all_metrics();

// What a result has of each kind; nothing if its point measures the other. Messages/s, bytes/s, ns.
std::optional<double> rate_of(const PointResult& result);
std::optional<double> bandwidth_of(const PointResult& result);

template <auto kMember>  // of LatencySummary
std::optional<double> latency_of(const PointResult& result) {
    if (!result.latency)
        return std::nullopt;
    return static_cast<double>((*result.latency).*kMember);
}

// "966.4 MiB/s", "15.46 kmsg/s", "4.20 us".
std::string human_value(const Metric& metric, double value);

}  // namespace perf
