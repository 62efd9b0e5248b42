// SPDX-License-Identifier: Apache-2.0
// The options of a plan: what run and loop measure, by words or by a file that has it already.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "perf/protocol/plan.h"

namespace CLI {
class App;
}

namespace perf {

// The words as they are given; parse_plan() makes values of them.
struct PlanWords {
    Plan plan;  // of options that are plain numbers
    std::string verbs = "write,read,send";
    std::string transports = "rc";
    std::string modes = "bw,lat";
    std::string sizes = "64,4K,64K";
    std::string time;
    std::string interval;
    std::string depth = "auto";
    std::string batch = "auto";
    std::string qps = "1";
    std::string direction = "forward";
    std::string load = "none";
    bool cm = false;
    std::string mtu = "auto";
    std::string poll = "auto";
    std::string verify = "edges";
    std::string ordering = "relaxed";
    uint32_t dscp = 0;
    std::string reads = "auto";
    std::string inline_bytes = "auto";
    std::string signal = "auto";
    std::string ring = "auto";
    std::optional<uint64_t> seed;
    std::string file;  // instead of all these
};

// `words` must live until the command line is parsed.
void add_plan_options(CLI::App& app, PlanWords& words);

// Code::Usage or BadInput that names option or file, value and what is allowed.
Result<Plan> parse_plan(const PlanWords& words);

Result<uint32_t> parse_count(std::string_view option, std::string_view text, uint32_t limit);

}  // namespace perf
