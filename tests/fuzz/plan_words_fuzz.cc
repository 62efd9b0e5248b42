// SPDX-License-Identifier: Apache-2.0
// The words of rdma-perf's plan: sizes and sweeps, times, names, and expectations. What is accepted
// makes points that every server accepts.
#include <string_view>

#include "perf/protocol/plan.h"
#include "perf/report/report.h"
#include "tests/fuzz/expect.h"

namespace {
template <class T>
void check_name(base::Result<T> (*parse)(std::string_view), std::string_view text) {
    if (const auto value = parse(text))
        fuzz::expect(perf::name_of(*value) == text, "a name is that of its value");
}

void check_sizes(const std::vector<uint32_t>& sizes) {
    fuzz::expect(!sizes.empty() && sizes.size() <= perf::kMaxSizes, "as many sizes as allowed");
    perf::Plan plan{.verbs = {perf::Verb::Write, perf::Verb::Send, perf::Verb::FetchAdd},
                    .modes = {perf::Mode::Bandwidth, perf::Mode::Latency},
                    .sizes = sizes,
                    .time_ms = 1};
    for (const uint32_t depth : {0U, 7U, perf::kMaxDepth}) {
        plan.depths = {depth};
        for (const perf::Point& point : expand(plan))
            fuzz::expect(check_limits(point).has_value(), "a plan's point is within the limits");
    }
}
}  // namespace

FUZZ_TARGET(plan_words) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto one = perf::parse_size(text)) {
        fuzz::expect(*one >= 1 && *one <= perf::kMaxSize, "a size is within the limits");
    }
    if (const auto sizes = perf::parse_sizes(text))
        check_sizes(*sizes);
    if (const auto ms = perf::parse_time_ms(text))
        fuzz::expect(*ms >= 1 && *ms <= perf::kMaxTimeMs, "a time is within the limits");
    if (const auto expectations = perf::parse_expectations(text))
        fuzz::expect(expectations->size() <= perf::kMaxValues, "as many expectations as allowed");
    check_name(perf::parse_word<perf::Verb>, text);
    check_name(perf::parse_word<perf::Mode>, text);
    if (const auto poll = perf::parse_poll(text))
        fuzz::expect(*perf::parse_poll(name_of(*poll)) == *poll, "a name leads to its value");
    if (const auto load = perf::parse_load(text))
        fuzz::expect(*perf::parse_load(name_of(*load)) == *load, "a name leads to its load");
    check_name(perf::parse_word<perf::Direction>, text);
    check_name(perf::parse_word<perf::Connect>, text);
    check_name(perf::parse_word<perf::Verify>, text);
    check_name(perf::parse_word<perf::Transport>, text);
}
