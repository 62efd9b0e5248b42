// SPDX-License-Identifier: Apache-2.0
// kv: the key-value exercise against a server.
#pragma once

#include <string>

#include "perf/measure/side_options.h"
#include "perf/measure/surroundings.h"
#include "perf/report/exit_code.h"
#include "perf/suites/kv/plan.h"

namespace perf {

struct KvOptions {
    std::string host;
    uint16_t port = 0;
    kv::Plan plan;
    std::string json;  // file, "-" for standard output, empty: none
    SideOptions side;
};

Exit kv_exercise(const KvOptions& options, const Surroundings& around);

}  // namespace perf
