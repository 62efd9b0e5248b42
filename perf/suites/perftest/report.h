// SPDX-License-Identifier: Apache-2.0
// What is said of a comparison with perftest: a line for each cell as it completes, and JSON of the
// schema "rdma-perf-compare-perftest/1".
#pragma once

#include <string>
#include <vector>

#include "perf/report/compare.h"
#include "perf/suites/perftest/duel.h"

namespace perf::perftest {

inline constexpr std::string_view kReportSchema = "rdma-perf-compare-perftest/1";

struct Findings {
    std::string started;  // ISO 8601, UTC
    Plan plan;
    // Once a server was reached.
    std::optional<Hello> server = {};
    DeviceInfo client_device = {};
    DeviceInfo server_device = {};
    // Once both sides were found to have perftest.
    Version client_perftest = {};
    Version server_perftest = {};
    std::vector<Cell> cells = {};
    std::optional<base::Error> error = {};  // why the rest is missing

    [[nodiscard]] bool corrupt() const;

    // Whether every cell is as demanded. One that is missing is not.
    [[nodiscard]] bool meets(Expect expect) const;
};

std::string table_head(const Findings& findings);

std::string table_row(const Cell& cell);

base::Json to_json(const Findings& findings);

}  // namespace perf::perftest
