// SPDX-License-Identifier: Apache-2.0
// What RDMA gains over plain TCP: where a plan had both, each of the one over its like of the
// other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "perf/report/summary.h"

namespace perf {

// Median over median of the TCP row of equal verb, mode, size, queue pairs, threads, direction and
// rate; nothing for a row of TCP itself, or without its like.
std::optional<double> ratio_to_tcp(const SummaryRow& row, const std::vector<SummaryRow>& rows);

// The lines behind the table; empty without any ratio.
std::string tcp_table(const std::vector<SummaryRow>& rows);

}  // namespace perf
