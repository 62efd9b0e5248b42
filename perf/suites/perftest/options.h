// SPDX-License-Identifier: Apache-2.0
// The command line of `compare perftest`.
#pragma once

#include <string>

#include "perf/report/compare.h"
#include "perf/suites/perftest/plan.h"

namespace perf::perftest {

// The words as they are given; parse_plan() makes values of them.
struct Words {
    std::string host;
    uint16_t port = 0;
    std::string verbs = "write,read,send";
    std::string modes = "bw,lat";
    std::string sizes = "64,4K,64K";
    std::string time = "1s";
    uint32_t iterations = 1000;
    std::string pairs = "6..12";
    bool defaults = false;
    std::string expect;
    std::string json;
};

// `words` must live until the command line is parsed.
void add_options(CLI::App& app, Words& words);

// Code::Usage or Code::BadInput that names option, value and what is allowed.
base::Result<Plan> parse_plan(const Words& words, uint64_t seed);

}  // namespace perf::perftest
