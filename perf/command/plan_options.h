// SPDX-License-Identifier: Apache-2.0
// The options of a plan: what run and loop measure, by words or by a file that has it already.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perf/protocol/plan.h"

namespace CLI {
class App;
}

namespace perf {

// The words as they are given; parse_plan() makes values of them.
struct PlanWords {
    std::string verbs = "write,read,send";
    std::string transports = "rc";
    std::string modes = "bw,lat";
    std::string sizes = "64,4K,64K";
    std::string time;
    std::string interval;
    uint64_t iterations = 0;
    std::string depth = "auto";
    std::string batch = "auto";
    std::string qps = "1";
    uint32_t threads = 1;
    std::string direction = "forward";
    uint32_t rate = 0;
    std::string load = "none";
    bool cm = false;
    std::string mtu = "auto";
    std::string poll = "auto";
    std::string verify = "edges";
    std::string ordering = "relaxed";
    uint32_t dscp = 0;
    Marks marks = {};
    std::string reads = "auto";
    std::string inline_bytes = "auto";
    std::string signal = "auto";
    std::string ring = "auto";
    std::optional<uint64_t> seed;
    uint32_t reps = 1;
    std::string file;  // instead of all these
};

// `words` must live until the command line is parsed.
void add_plan_options(CLI::App& app, PlanWords& words);

// Code::Usage or BadInput that names option or file, value and what is allowed.
Result<Plan> parse_plan(const PlanWords& words);

// "auto", "16", "auto,16,32": auto is 0, and a 0 that is written is an error.
Result<std::vector<uint32_t>> parse_counts(std::string_view option,
                                           std::string_view text,
                                           uint32_t limit);
Result<uint32_t> parse_count(std::string_view option, std::string_view text, uint32_t limit);

}  // namespace perf
