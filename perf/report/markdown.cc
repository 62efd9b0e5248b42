// SPDX-License-Identifier: Apache-2.0
#include "perf/report/markdown.h"

#include <initializer_list>

#include <fmt/format.h>

#include "perf/report/baseline.h"
#include "perf/report/summary.h"

namespace perf {

namespace {
// A cell: what would end it, or the line, is escaped; the table's own padding is left out.
std::string cell(std::string_view text) {
    const size_t first = text.find_first_not_of(' ');
    if (first == std::string_view::npos)
        return "";
    text = text.substr(first, text.find_last_not_of(' ') + 1 - first);
    std::string out;
    for (const char c : text) {
        if (c == '|' || c == '\\')
            out += '\\';
        out += c == '\n' ? ' ' : c;
    }
    return out;
}

std::string line(std::initializer_list<std::string> cells) {
    std::string out = "|";
    for (const std::string& each : cells)
        out += " " + cell(each) + " |";
    return out + "\n";
}

std::string head(std::initializer_list<std::string> cells) {
    std::string rule = "|";
    for (size_t i = 0; i < cells.size(); ++i)
        rule += " --- |";
    return line(cells) + rule + "\n";
}

std::string results_table(const Report& report) {
    std::string out =
        head({"verb", "via", "mode", "size", "QPs", "depth", "MTU", "data", "result", "remarks"});
    for (const PointResult& result : report.results) {
        const Point& point = result.point;
        out += line({std::string(name_of(point.verb)),
                     std::string(name_of(point.transport)),
                     std::string(name_of(point.mode)),
                     human_size(point.size),
                     std::to_string(point.qps * result.clients),
                     std::to_string(point.depth),
                     result.mtu == 0 ? "-" : std::to_string(result.mtu),
                     data_text(result),
                     result_text(result),
                     remarks(result.usage, result.share_of_limit)});
    }
    return out;
}

std::string medians_table(const std::vector<SummaryRow>& rows) {
    std::string out = head({"point", "via", "metric", "median", "95 % interval", "n", "x tcp"});
    for (const SummaryRow& row : rows) {
        const auto ratio = ratio_to_tcp(row, rows);
        out += line({describe(row.first->point),
                     std::string(name_of(row.first->point.transport)),
                     std::string(row.metric->name),
                     human_value(*row.metric, row.estimate.median),
                     interval_text(row),
                     std::to_string(row.estimate.n),
                     ratio ? fmt::format("{:.2f}", *ratio) : "-"});
    }
    return out;
}
}  // namespace

std::string to_markdown(const Report& report) {
    std::string out = fmt::format("## rdma-perf {}, {}\n\n", RDMA_VERSION, report.started);
    for (const std::string& side : sides_text(report))
        out += "- " + cell(side) + "\n";
    out += fmt::format(
        "- kernels: {} and {}\n\n", cell(report.client.kernel), cell(report.server.kernel));
    out += results_table(report);
    out += "\n" + medians_table(summarize(report.results, report.plan.seed));
    if (report.error)
        out += "\nIt ended early: " + cell(report.error->message()) + "\n";
    return out;
}

}  // namespace perf
