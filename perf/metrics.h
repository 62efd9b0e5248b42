// SPDX-License-Identifier: Apache-2.0
// Metrics: the numbers of a result that are summarized over repetitions and compared between
// reports. One table for both, so that a metric has one name and one direction everywhere.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "perf/client.h"
#include "perf/statistics.h"

namespace perf {

struct Metric {
    std::string_view group;  // the member of a result: "bandwidth" or "latency"
    std::string_view name;   // the member of the group, with its unit
    Better better;
    bool compared;  // rate says the same as bandwidth between points of one size
    std::optional<double> (*value)(const PointResult& result);
};

std::span<const Metric> all_metrics();

double messages_per_second(const Bandwidth& bandwidth);

// "966.4 MiB/s", "15.46 kmsg/s", "4.2 us".
std::string human_value(const Metric& metric, double value);

}  // namespace perf
