// SPDX-License-Identifier: Apache-2.0
#include "perf/suites/perftest/options.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "perf/suites/perftest/duel.h"
#include "perf/system/reading.h"

namespace perf::perftest {

using base::Code;
using base::make_error;
using base::Result;

namespace {
// perftest knows whole seconds only.
Result<uint32_t> parse_seconds(const std::string& text) {
    constexpr uint32_t kSecond = 1000;
    const uint32_t time_ms = TRY(parse_time_ms(text));
    if (time_ms % kSecond != 0 || time_ms > kMaxSeconds * kSecond)
        return make_error(Code::Usage,
                          fmt::format("--time '{}' is not from 1s to {}s in whole seconds",
                                      base::printable(text),
                                      kMaxSeconds));
    return time_ms / kSecond;
}

// "6..60", or the most alone.
Result<> parse_pairs(const std::string& text, Plan& plan) {
    const size_t dots = text.find("..");
    const bool both = dots != std::string::npos;
    const auto least = both ? number_of(std::string_view(text).substr(0, dots)) : kEnoughPairs;
    const auto most = number_of(both ? std::string_view(text).substr(dots + 2) : text);
    if (!least || !most || *least < kEnoughPairs || *most < *least || *most > kMaxPairs)
        return make_error(Code::Usage,
                          fmt::format("--pairs '{}' is neither N nor LEAST..MOST from {} to {}",
                                      base::printable(text),
                                      kEnoughPairs,
                                      kMaxPairs));
    plan.least_pairs = *least;
    plan.most_pairs = *most;
    return {};
}
}  // namespace

void add_options(CLI::App& app, Words& words) {
    app.add_option("host", words.host, "server: rdma-perf serve --allow-perftest")->required();
    app.add_option("--port", words.port, "TCP port")->capture_default_str();
    app.add_option("--verb", words.verbs, "list of write, read, send")->capture_default_str();
    app.add_option("--mode", words.modes, "list of bw, lat")->capture_default_str();
    app.add_option("--size", words.sizes, "4096 | 64,4K,64K | 2..8M:*2 | 1K..8K:+1K")
        ->capture_default_str();
    app.add_option("--time", words.time, "time of each run (bw), in whole seconds")
        ->capture_default_str();
    app.add_option("--iterations", words.iterations, "messages of each run (lat)")
        ->capture_default_str();
    app.add_option("--pairs",
                   words.pairs,
                   "paired runs per point: N, or MIN..MAX to stop early at a 3 % interval")
        ->capture_default_str();
    app.add_flag("--defaults",
                 words.defaults,
                 "use each tool's own defaults; only verb, size and duration are set");
    app.add_option("--expect",
                   words.expect,
                   "exit with 4 unless all results are: equal, not-slower or faster");
    app.add_option("--json", words.json, "file for the comparison as JSON; - for stdout");
}

Result<Plan> parse_plan(const Words& words, uint64_t seed) {
    Plan plan;
    plan.verbs = TRY(parse_list(words.verbs, parse_verb));
    plan.modes = TRY(parse_list(words.modes, parse_mode));
    plan.sizes = TRY(parse_sizes(words.sizes));
    plan.seconds = TRY(parse_seconds(words.time));
    plan.iterations = words.iterations;
    plan.defaults = words.defaults;
    plan.seed = seed;
    TRY(parse_pairs(words.pairs, plan));
    for (const Point& point : points_of(plan)) {
        TRY(check_limits(point).context(describe(point)));
        TRY(check_limits(trial_of(point)));
    }
    return plan;
}

}  // namespace perf::perftest
