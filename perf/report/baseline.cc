// SPDX-License-Identifier: Apache-2.0
#include "perf/report/baseline.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "perf/report/report.h"

namespace perf {

namespace {
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
        lines += fmt::format("{:<10}{:<5}{:<5}{:>9} {:>4}  {:<22}{:>8.2f} x tcp{}\n",
                             name_of(point.verb),
                             name_of(point.transport),
                             name_of(point.mode),
                             human_size(point.size),
                             point.qps,
                             row.metric->name,
                             *ratio,
                             polls_of(point, like_over_tcp(row, rows)->first->point));
    }
    return lines.empty() ? lines : "\nRDMA against TCP\n" + lines;
}

}  // namespace perf
