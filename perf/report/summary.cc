// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
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

bool is_like(const SummaryRow& a, const SummaryRow& b) {
    const auto key = [](const SummaryRow& row) {
        const Point& point = row.first->point;
        return std::tuple(row.metric,
                          point.verb,
                          point.mode,
                          point.size,
                          point.qps,
                          row.first->clients,
                          point.threads,
                          point.direction,
                          point.rate);
    };
    return key(a) == key(b);
}

const SummaryRow* like_over_tcp(const SummaryRow& row, const std::vector<SummaryRow>& rows) {
    if (row.first->point.transport == Transport::Tcp)
        return nullptr;
    const auto tcp = std::ranges::find_if(rows, [&](const SummaryRow& other) {
        return other.first->point.transport == Transport::Tcp && is_like(row, other);
    });
    return tcp == rows.end() || tcp->estimate.median <= 0 ? nullptr : &*tcp;
}

// Threads that sleep are slower, and leave the processor to others: no small part of a ratio.
std::string polls_of(const Point& point, const Point& tcp) {
    return point.poll == tcp.poll
               ? ""
               : fmt::format("  ({} against {})", name_of(point.poll), name_of(tcp.poll));
}
}  // namespace

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

std::vector<SummaryRow> summarize(const std::vector<PointResult>& results, uint64_t seed) {
    std::vector<SummaryRow> rows;
    for (const auto& group : by_point(results)) {
        for (const Metric& metric : all_metrics()) {
            std::vector<double> sample = sample_of(group, metric.value);
            if (!sample.empty())
                rows.push_back({group.front(), &metric, estimate_median(std::move(sample), seed)});
        }
    }
    return rows;
}

Json json_of(const SummaryRow& row) {
    return {{"metric", row.metric->name},
            {"median", row.estimate.median},
            {"ci95", to_json(row.estimate.interval)},
            {"n", row.estimate.n}};
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
        const auto ratio = ratio_to_tcp(row, rows);
        if (!ratio || !row.metric->compared)
            continue;
        const Point& point = row.first->point;
        lines += fmt::format("{}{:>8.2f} x tcp{}\n",
                             columns_of(row, point.qps, ""),
                             *ratio,
                             polls_of(point, like_over_tcp(row, rows)->first->point));
    }
    return lines.empty() ? lines : "\nRDMA against TCP\n" + lines;
}

}  // namespace perf
