// SPDX-License-Identifier: Apache-2.0
// Summary: what the repetitions of each point say together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "perf/base/names.h"
#include "perf/measure/metrics.h"

namespace perf {

struct SummaryRow {
    const PointResult* first = nullptr;  // of the point's results; of the caller's vector
    const Metric* metric = nullptr;
    MedianEstimate estimate;
};

// In the order in which points first appear; metrics that a point does not have are left out.
std::vector<SummaryRow> summarize(const std::vector<PointResult>& results, uint64_t seed);

// The results of equal points, by the first of them.
std::vector<std::vector<const PointResult*>> by_point(const std::vector<PointResult>& results);

// What these results have of a value.
std::vector<double> sample_of(const std::vector<const PointResult*>& repetitions,
                              std::optional<double> (*value)(const PointResult& result));

// [{"metric", "median", "ci95": [low, high] or null, "n"}] without the point.
Json json_of(const SummaryRow& row);

// The end of the table.
std::string summary_table(const std::vector<SummaryRow>& rows, uint32_t reps);

// ---- what RDMA gains over plain TCP, where a plan had both --------------------------------------
// Median over median of the TCP row of equal verb, mode, size, queue pairs, threads, direction and
// rate; nothing for a row of TCP itself, or without its like.
std::optional<double> ratio_to_tcp(const SummaryRow& row, const std::vector<SummaryRow>& rows);

// The lines behind the table; empty without any ratio.
std::string tcp_table(const std::vector<SummaryRow>& rows);

}  // namespace perf
