// SPDX-License-Identifier: Apache-2.0
#include "perf/suites/kv/options.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "perf/measure/schedule.h"

namespace perf::kv {

void add_options(CLI::App& app, Words& words) {
    app.add_option("--keys", words.keys, "number of keys in the table")->capture_default_str();
    app.add_option("--value", words.value, "bytes of each value, up to 4096")
        ->capture_default_str();
    app.add_option("--zipf", words.skew, "skew of the keys that are asked for; 0: uniform")
        ->capture_default_str();
    app.add_option("--time", words.time, "time of each trial")->capture_default_str();
    app.add_option("--reps", words.reps, "trials of each method, in turn")->capture_default_str();
    app.add_option("--poll", words.poll, "auto, spin, yield, event, hybrid or hybrid:Nus")
        ->capture_default_str();
    app.add_option("--seed", words.seed, "seed of values, hash and draws (default: random)");
}

Result<Plan> parse_plan(const Words& words, uint64_t seed) {
    Plan plan;
    plan.shape = {.keys = words.keys,
                  .value = TRY(parse_size(words.value).context("--value")),
                  .seed = words.seed.value_or(seed)};
    TRY(check_limits(plan.shape));
    // Not a number is neither.
    if (!(words.skew >= 0 && words.skew <= kMaxSkew))
        return make_error(Code::Usage,
                          fmt::format("--zipf {} is not from 0 to {}", words.skew, kMaxSkew));
    plan.skew = words.skew;
    plan.time_ms = TRY(parse_time_ms(words.time));
    plan.reps = words.reps;
    TRY(check_reps(plan.reps, 2));
    plan.poll = TRY(parse_poll(words.poll));
    return plan;
}

}  // namespace perf::kv
