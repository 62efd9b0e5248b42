// SPDX-License-Identifier: Apache-2.0
#include "perf/report/expect.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "perf/measure/statistics.h"
#include "perf/report/report.h"

namespace perf {

struct ExpectedMetric {
    struct Unit {
        std::string_view name;
        double factor;
    };

    std::string_view name;
    std::span<const Unit> units;
    Unit shown;  // in what is printed
    std::optional<double> (*value)(const PointResult& result);
};

namespace {
using Unit = ExpectedMetric::Unit;

constexpr double kKi = 1024;
constexpr Unit kBandwidthUnits[] = {{"B/s", 1},
                                    {"KiB/s", kKi},
                                    {"MiB/s", kKi* kKi},
                                    {"GiB/s", kKi* kKi* kKi},
                                    {"Mbit/s", 1e6 / 8},
                                    {"Gbit/s", 1e9 / 8}};
constexpr Unit kRateUnits[] = {{"msg/s", 1}, {"kmsg/s", 1e3}, {"Mmsg/s", 1e6}};
constexpr Unit kTimeUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

std::optional<double> latency_p999(const PointResult& result) {
    return result.latency && result.latency->carries_p999()
               ? latency_of<&LatencySummary::p999_ns>(result)
               : std::nullopt;
}

constexpr ExpectedMetric kExpectedMetrics[] = {
    {"bw", kBandwidthUnits, kBandwidthUnits[2], bandwidth_of},
    {"rate", kRateUnits, kRateUnits[1], rate_of},
    {"p50", kTimeUnits, kTimeUnits[1], latency_of<&LatencySummary::p50_ns>},
    {"p90", kTimeUnits, kTimeUnits[1], latency_of<&LatencySummary::p90_ns>},
    {"p99", kTimeUnits, kTimeUnits[1], latency_of<&LatencySummary::p99_ns>},
    {"p99.9", kTimeUnits, kTimeUnits[1], latency_p999},
    {"max", kTimeUnits, kTimeUnits[1], latency_of<&LatencySummary::max_ns>},
};

template <class Rows>
std::string names_of(const Rows& rows) {
    std::string names;
    for (const auto& row : rows)
        names += (names.empty() ? "" : ", ") + std::string(row.name);
    return names;
}

Error not_known(std::string_view text, const std::string& why) {
    return make_error(Code::Usage, fmt::format("--expect '{}': {}", printable(text), why))
        .advise("write it as in: --expect 'bw>=900MiB/s,p99<=60us'");
}

Result<Expectation> parse_one(std::string_view text) {
    const size_t sign = text.find_first_of("<>");
    if (sign == std::string_view::npos || text.substr(sign + 1, 1) != "=")
        return not_known(text, "it has neither >= nor <=");
    const auto* metric =
        std::ranges::find(kExpectedMetrics, text.substr(0, sign), &ExpectedMetric::name);
    if (metric == std::end(kExpectedMetrics))
        return not_known(text, "the metric is none of " + names_of(kExpectedMetrics));
    const std::string_view value = text.substr(sign + 2);
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || !std::isfinite(number) || number < 0)
        return not_known(text, "there is no number");
    const std::string_view word = value.substr(static_cast<size_t>(end - value.data()));
    const auto unit = std::ranges::find(metric->units, word, &Unit::name);
    if (unit == metric->units.end())
        return not_known(text, "the unit is none of " + names_of(metric->units));
    return Expectation{.metric = metric,
                       .at_least = text[sign] == '>',
                       .limit = number * unit->factor,
                       .text = std::string(text)};
}

// The median over the repetitions of a point; nothing if it has not the metric.
std::optional<double> median_of(const ExpectedMetric& metric,
                                const std::vector<const PointResult*>& repetitions) {
    std::vector<double> sample = sample_of(repetitions, metric.value);
    return sample.empty() ? std::nullopt : std::optional(median(std::move(sample)));
}

std::string line_of(const Expectation& expected, const Point& point, double value) {
    return fmt::format("expected {}, but {} has {:.2f} {}",
                       expected.text,
                       describe(point),
                       value / expected.metric->shown.factor,
                       expected.metric->shown.name);
}
}  // namespace

Result<std::vector<Expectation>> parse_expectations(std::string_view text) {
    std::vector<Expectation> all;
    if (text.empty())
        return all;
    for (const std::string_view part : split(text, ',')) {
        all.push_back(TRY(parse_one(part)));
        if (all.size() > kMaxValues)
            return not_known(part, fmt::format("there are more than {}", kMaxValues));
    }
    return all;
}

std::vector<std::string> unmet(const std::vector<Expectation>& expectations,
                               const std::vector<PointResult>& results) {
    std::vector<std::string> lines;
    const auto points = by_point(results);
    for (const Expectation& expected : expectations) {
        bool asked = false;
        for (const auto& repetitions : points) {
            const auto value = median_of(*expected.metric, repetitions);
            if (!value)
                continue;
            asked = true;
            if (expected.at_least ? *value < expected.limit : *value > expected.limit)
                lines.push_back(line_of(expected, repetitions.front()->point, *value));
        }
        if (!asked)
            lines.push_back(
                fmt::format("expected {}, but no point has measured it", expected.text));
    }
    return lines;
}

}  // namespace perf
