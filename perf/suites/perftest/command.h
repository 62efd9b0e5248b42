// SPDX-License-Identifier: Apache-2.0
// compare perftest: programs of perftest beside ours, in turn.
#pragma once

#include <string>

#include "perf/measure/side_options.h"
#include "perf/measure/surroundings.h"
#include "perf/report/compare.h"
#include "perf/report/exit_code.h"
#include "perf/suites/perftest/plan.h"

namespace perf {

struct PerftestOptions {
    std::string host;
    uint16_t port = 0;
    perftest::Plan plan;
    std::string json;  // file, "-" for standard output, empty: none
    Expect expect = Expect::Nothing;
    SideOptions side;
};

Exit compare_perftest(const PerftestOptions& options, const Surroundings& around);

}  // namespace perf
