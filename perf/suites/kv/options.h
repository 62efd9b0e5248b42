// SPDX-License-Identifier: Apache-2.0
// The command line of `kv`.
#pragma once

#include <optional>
#include <string>

#include "perf/base/names.h"
#include "perf/suites/kv/plan.h"

namespace CLI {
class App;
}

namespace perf::kv {

// The words as they are given; parse_plan() makes values of them.
struct Words {
    uint32_t keys = 10'000;
    std::string value = "64";
    double skew = 0.99;
    std::string time = "500ms";
    uint32_t reps = 6;  // from here on the intervals cover 95 %
    std::string poll = "auto";
    std::optional<uint64_t> seed;
};

// `words` must live until the command line is parsed.
void add_options(CLI::App& app, Words& words);

// `seed`: where the words name none. Code::Usage or Code::BadInput that names option, value and
// what is allowed.
Result<Plan> parse_plan(const Words& words, uint64_t seed);

}  // namespace perf::kv
