// SPDX-License-Identifier: Apache-2.0
// kv: what the key-value exercise does, its command line, and the command.
#pragma once

#include <optional>
#include <string>

#include "perf/protocol/plan.h"
#include "perf/report/suite.h"
#include "perf/suites/kv/table.h"

namespace perf {

extern const Suite kKv;

namespace kv {

struct Plan {
    Shape shape;
    double skew = 0;       // table.h
    uint32_t time_ms = 0;  // of each trial, without its warm-up
    uint32_t reps = 1;     // of each method
    Poll poll;
};

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

extern const ServedSuite kServedExercise;  // server.cc, by the messages of message.h
}  // namespace kv

Exit kv_exercise(const LookOptions& look, const kv::Plan& plan, const Surroundings& around);

}  // namespace perf
