// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <span>
#include <tuple>

#include <fmt/format.h>

#include "perf/report/report.h"

namespace perf {

namespace {
// What the lines of both tables begin with.
std::string columns_of(const SummaryRow& row, uint32_t qps, std::string_view unit) {
    const Point& point = row.first->point;
    return fmt::format("{:<10}{:<5}{:<5}{:>9} {:>4}{}  {:<22}",
                       name_of(point.verb),
                       name_of(point.transport),
                       name_of(point.mode),
                       human_size(point.size),
                       qps,
                       unit,
                       row.metric->name);
}

const SummaryRow* like_over_tcp(const SummaryRow& row, const std::vector<SummaryRow>& rows) {
    const auto key = [](const SummaryRow& of) {
        const Point& point = of.first->point;
        return std::tuple(of.metric,
                          point.verb,
                          point.mode,
                          point.size,
                          point.qps,
                          of.first->clients,
                          point.threads,
                          point.direction,
                          point.rate);
    };
    if (row.first->point.transport == Transport::Tcp)
        return nullptr;
    const auto tcp = std::ranges::find_if(rows, [&](const SummaryRow& other) {
        return other.first->point.transport == Transport::Tcp && key(row) == key(other);
    });
    return tcp == rows.end() || tcp->estimate.median <= 0 ? nullptr : &*tcp;
}

// The results of equal points, by the first of them.
std::vector<std::vector<const PointResult*>> by_point(const std::vector<PointResult>& results) {
    std::vector<std::vector<const PointResult*>> groups;
    std::map<std::string, size_t> places;
    for (const PointResult& result : results) {
        const auto [place, added] = places.emplace(
            std::to_string(result.clients) + base::dump_json(to_json(result.point)), groups.size());
        if (added)
            groups.emplace_back();
        groups[place->second].push_back(&result);
    }
    return groups;
}

std::vector<double> sample_of(const std::vector<const PointResult*>& repetitions,
                              std::optional<double> (*value)(const PointResult& result)) {
    std::vector<double> sample;
    for (const PointResult* result : repetitions) {
        if (const auto number = value(*result))
            sample.push_back(*number);
    }
    return sample;
}
}  // namespace

std::vector<SummaryRow> summarize(const std::vector<PointResult>& results) {
    std::vector<SummaryRow> rows;
    for (const auto& group : by_point(results)) {
        for (const Metric& metric : all_metrics()) {
            std::vector<double> sample = sample_of(group, metric.value);
            if (!sample.empty())
                rows.push_back({group.front(), &metric, estimate_median(std::move(sample))});
        }
    }
    return rows;
}

Json to_json(const std::optional<Interval>& interval) {
    return interval ? Json::array({interval->low, interval->high}) : Json();
}

std::string summary_table(const std::vector<SummaryRow>& rows, uint32_t reps) {
    std::string out = fmt::format("\nmedian of {} repetitions and its 95 % interval\n", reps);
    for (const SummaryRow& row : rows) {
        const auto text = [&](double value) { return human_value(*row.metric, value); };
        const auto& interval = row.estimate.interval;
        out += fmt::format("{}{:>15}  {:<30} n {}\n",
                           columns_of(row, row.first->point.qps * row.first->clients, " qps"),
                           text(row.estimate.median),
                           interval ? text(interval->low) + " to " + text(interval->high) : "-",
                           row.estimate.n);
    }
    return out;
}

std::optional<double> ratio_to_tcp(const SummaryRow& row, const std::vector<SummaryRow>& rows) {
    const SummaryRow* tcp = like_over_tcp(row, rows);
    return tcp != nullptr ? std::optional(row.estimate.median / tcp->estimate.median)
                          : std::nullopt;
}

std::string tcp_table(const std::vector<SummaryRow>& rows) {
    std::string lines;
    for (const SummaryRow& row : rows) {
        const SummaryRow* tcp = like_over_tcp(row, rows);
        if (tcp == nullptr || !row.metric->compared)
            continue;
        const Point& point = row.first->point;
        const Poll& poll = tcp->first->point.poll;
        lines += fmt::format("{}{:>8.2f} x tcp",
                             columns_of(row, point.qps, ""),
                             row.estimate.median / tcp->estimate.median);
        // Threads that sleep are slower, and leave the processor to others: no small part of it.
        if (point.poll != poll)
            lines += fmt::format("  ({} against {})", name_of(point.poll), name_of(poll));
        lines += "\n";
    }
    return lines.empty() ? lines : "\nRDMA against TCP\n" + lines;
}

// ---- expectations -------------------------------------------------------------------------------
struct ExpectedMetric {
    struct Unit {
        std::string_view name;
        double factor;
    };

    std::string_view name;
    std::span<const Unit> units;
    std::string (*text)(double value);
    std::optional<double> (*value)(const PointResult& result);
};

namespace {
using Unit = ExpectedMetric::Unit;

constexpr double kKi = 1024;
constexpr Unit kBandwidthUnits[] = {{"Gb/s", 1e9 / 8},
                                    {"Gbit/s", 1e9 / 8},
                                    {"Mbit/s", 1e6 / 8},
                                    {"B/s", 1},
                                    {"KiB/s", kKi},
                                    {"MiB/s", kKi* kKi},
                                    {"GiB/s", kKi* kKi* kKi}};
constexpr Unit kRateUnits[] = {{"Mpps", 1e6}, {"Mmsg/s", 1e6}, {"kmsg/s", 1e3}, {"msg/s", 1}};
constexpr Unit kTimeUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

std::optional<double> latency_p999(const PointResult& result) {
    return result.latency && result.latency->carries_p999()
               ? latency_of<&LatencySummary::p999_ns>(result)
               : std::nullopt;
}

constexpr ExpectedMetric kExpectedMetrics[] = {
    {"bw", kBandwidthUnits, human_bandwidth, bandwidth_of},
    {"rate", kRateUnits, human_rate, rate_of},
    {"min", kTimeUnits, human_time, latency_of<&LatencySummary::min_ns>},
    {"avg", kTimeUnits, human_time, latency_of<&LatencySummary::mean_ns>},
    {"p50", kTimeUnits, human_time, latency_of<&LatencySummary::p50_ns>},
    {"p90", kTimeUnits, human_time, latency_of<&LatencySummary::p90_ns>},
    {"p99", kTimeUnits, human_time, latency_of<&LatencySummary::p99_ns>},
    {"p99.9", kTimeUnits, human_time, latency_p999},
    {"max", kTimeUnits, human_time, latency_of<&LatencySummary::max_ns>},
};

Error not_known(std::string_view text, const std::string& why) {
    return make_error(Code::Usage, "--expect '{}': {}", printable(text), why)
        .advise("write it as in: --expect 'bw>=90Gb/s,p99<=60us'");
}
}  // namespace

Result<std::vector<Expectation>> parse_expectations(std::string_view text) {
    std::vector<Expectation> all;
    if (text.empty())
        return all;
    for (const std::string_view part : split(text, ',')) {
        const size_t sign = part.find_first_of("<>");
        if (sign == std::string_view::npos || part.substr(sign + 1, 1) != "=")
            return not_known(part, "it has neither >= nor <=");
        const auto* metric =
            std::ranges::find(kExpectedMetrics, part.substr(0, sign), &ExpectedMetric::name);
        if (metric == std::end(kExpectedMetrics))
            return not_known(
                part, "the metric is none of " + joined(kExpectedMetrics, &ExpectedMetric::name));
        const std::string_view value = part.substr(sign + 2);
        double number = 0;
        const char* last = value.data() + value.size();
        const auto [end, error] = std::from_chars(value.data(), last, number);
        if (error != std::errc() || !std::isfinite(number) || number < 0)
            return not_known(part, "there is no number");
        const std::string_view word = value.substr(static_cast<size_t>(end - value.data()));
        const auto unit = std::ranges::find(metric->units, word, &Unit::name);
        if (unit == metric->units.end())
            return not_known(part, "the unit is none of " + joined(metric->units, &Unit::name));
        all.push_back({.metric = metric,
                       .at_least = part[sign] == '>',
                       .limit = number * unit->factor,
                       .text = std::string(part)});
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
            std::vector<double> sample = sample_of(repetitions, expected.metric->value);
            if (sample.empty())
                continue;
            asked = true;
            const double value = median(std::move(sample));
            if (expected.at_least ? value < expected.limit : value > expected.limit)
                lines.push_back(fmt::format("expected {}, but {} has {}",
                                            expected.text,
                                            describe(repetitions.front()->point),
                                            expected.metric->text(value)));
        }
        if (!asked)
            lines.push_back(
                fmt::format("expected {}, but no point has measured it", expected.text));
    }
    return lines;
}

}  // namespace perf
