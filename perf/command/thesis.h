// SPDX-License-Identifier: Apache-2.0
// Thesis: the four measurements of a well-known comparison of container RDMA modes (latency and
// bandwidth over sizes, processor cost, several devices, several queue pairs), with what that one
// lacked: repetitions in alternating order with intervals, one common window for all that runs
// together, bandwidth and processor time of the same run, and the path MTU of every line.
#pragma once

#include <string>
#include <vector>

#include "perf/measure/result.h"
#include "perf/measure/statistics.h"

namespace perf {

enum class Suite { Basic, Cpu, MultiDevice, MultiQp };

std::string_view name_of(Suite suite);
base::Result<Suite> parse_suite(std::string_view word);

struct ThesisPlan {
    std::vector<Suite> suites;
    std::vector<uint32_t> sizes;  // of basic and cpu, bytes
    std::vector<uint32_t> qps;    // of multi_qp
    uint32_t time_ms = 0;         // of each point
    uint32_t reps = 1;
    size_t hosts = 1;  // of multi_dev: 1 to so many clients together
    uint32_t mtu = 0;  // path MTU in bytes; 0: the best of both ports
    uint64_t seed = 0;
};

base::Json to_json(const ThesisPlan& plan);

// Points that run over the same connections.
struct ThesisTrial {
    size_t clients = 1;
    std::vector<Point> points;
};

std::vector<ThesisTrial> trials_of(Suite suite, const ThesisPlan& plan);

// One number of a table.
struct ThesisCell {
    std::string_view name;  // with its unit: "bandwidth_bytes_per_s"
    MedianEstimate estimate;
};

// All repetitions of one point.
struct ThesisRow {
    const PointResult* first = nullptr;
    std::vector<ThesisCell> cells;  // what the suite shows and the point has
};

std::vector<ThesisRow> rows_of(Suite suite, const std::vector<PointResult>& results, uint64_t seed);

// Title, head and lines. A note where the lines do not have all the same path MTU: then they do not
// compare what the suite is for.
std::string thesis_table(Suite suite, const std::vector<ThesisRow>& rows);

base::Json json_of(Suite suite, const std::vector<ThesisRow>& rows);

}  // namespace perf
