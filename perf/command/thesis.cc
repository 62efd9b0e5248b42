// SPDX-License-Identifier: Apache-2.0
#include "perf/command/thesis.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "perf/report/report.h"

namespace perf {

using base::Code;
using base::Json;
using base::make_error;
using base::Result;

namespace {
constexpr uint32_t kLargestLatency = 64U << 10U;  // bytes
constexpr uint32_t kManySize = 64U << 10U;        // of multi_dev and multi_qp
const std::vector<Verb> kThesisVerbs = {Verb::Read, Verb::Write, Verb::Send};

struct ThesisColumn {
    std::string_view name;
    std::string_view head;
    double scale;  // from the unit of the name to that of the head
    std::optional<double> (*value)(const PointResult& result);
};

std::optional<double> thesis_bytes_per_s(const PointResult& result) {
    if (!result.bandwidth)
        return std::nullopt;
    return messages_per_second(*result.bandwidth) * result.point.size;
}

std::optional<double> thesis_median_ns(const PointResult& result) {
    if (!result.latency)
        return std::nullopt;
    return static_cast<double>(result.latency->p50_ns);
}

std::optional<double> thesis_tail_ns(const PointResult& result) {
    if (!result.latency)
        return std::nullopt;
    return static_cast<double>(result.latency->p99_ns);
}

std::optional<double> thesis_cores(const Usage& usage) {
    if (!usage.cpu || usage.cpu->window_s <= 0)
        return std::nullopt;
    return usage.cpu->machine_busy_s / usage.cpu->window_s;
}

std::optional<double> client_cores(const PointResult& result) {
    return thesis_cores(result.usage.client);
}

std::optional<double> server_cores(const PointResult& result) {
    return thesis_cores(result.usage.server);
}

// Both sides' processors for what was transferred meanwhile, the warm-up included on both sides of
// the division.
std::optional<double> core_s_per_gb(const PointResult& result) {
    const PointUsage& usage = result.usage;
    if (!usage.client.cpu || !usage.server.cpu || usage.payload_bytes == 0)
        return std::nullopt;
    return (usage.client.cpu->machine_busy_s + usage.server.cpu->machine_busy_s) /
           (static_cast<double>(usage.payload_bytes) / 1e9);
}

constexpr double kThesisMiB = 1024.0 * 1024.0;
constexpr ThesisColumn kThesisBandwidth = {
    "bandwidth_bytes_per_s", "MiB/s", 1 / kThesisMiB, thesis_bytes_per_s};
constexpr ThesisColumn kMedianLatency = {"p50_ns", "p50 us", 1e-3, thesis_median_ns};
constexpr ThesisColumn kTailLatency = {"p99_ns", "p99 us", 1e-3, thesis_tail_ns};
constexpr ThesisColumn kClientCores = {"client_cores", "client cores", 1, client_cores};
constexpr ThesisColumn kServerCores = {"server_cores", "server cores", 1, server_cores};
constexpr ThesisColumn kCost = {"core_s_per_gb", "core s/GB", 1, core_s_per_gb};

constexpr ThesisColumn kBasicColumns[] = {kThesisBandwidth, kMedianLatency, kTailLatency};
constexpr ThesisColumn kCostColumns[] = {kThesisBandwidth, kClientCores, kServerCores, kCost};

struct SuiteEntry {
    Suite suite;
    std::string_view name;
    std::string_view title;
    std::span<const ThesisColumn> columns;
};

constexpr SuiteEntry kThesisSuites[] = {
    {Suite::Basic, "basic", "latency and bandwidth over sizes", kBasicColumns},
    {Suite::Cpu, "cpu", "processors over sizes (machine-wide, idle load taken off)", kCostColumns},
    {Suite::MultiDevice, "multi_dev", "several clients, one window", kCostColumns},
    {Suite::MultiQp, "multi_qp", "several queue pairs", kCostColumns},
};

const SuiteEntry& entry_of(Suite suite) {
    return *std::ranges::find(kThesisSuites, suite, &SuiteEntry::suite);
}

Plan plan_for(const ThesisPlan& thesis, std::vector<Mode> modes, std::vector<uint32_t> sizes) {
    return {.verbs = kThesisVerbs,
            .modes = std::move(modes),
            .sizes = std::move(sizes),
            .time_ms = thesis.time_ms,
            .mtu = thesis.mtu,
            .seed = thesis.seed};
}

// What a thread that polls burns says nothing of the payload: here threads sleep.
Plan cost_plan(const ThesisPlan& thesis, std::vector<uint32_t> sizes) {
    Plan plan = plan_for(thesis, {Mode::Bandwidth}, std::move(sizes));
    plan.polls = {Poll{.mode = PollMode::Event}};
    return plan;
}

std::vector<Point> basic_points(const ThesisPlan& thesis) {
    auto points = expand(plan_for(thesis, {Mode::Bandwidth, Mode::Latency}, thesis.sizes));
    std::erase_if(points, [](const Point& point) {
        return point.mode == Mode::Latency && point.size > kLargestLatency;
    });
    return points;
}

std::string cell_text(const ThesisColumn& column, const MedianEstimate& estimate) {
    const double value = estimate.median * column.scale;
    if (!estimate.interval)
        return fmt::format("{:.2f}", value);
    return fmt::format("{:.2f} ({:.2f} to {:.2f})",
                       value,
                       estimate.interval->low * column.scale,
                       estimate.interval->high * column.scale);
}

constexpr std::string_view kThesisLine = "{:<8}{:<5}{:>9} {:>7} {:>4} {:>5}";

std::string line_of(const SuiteEntry& entry, const ThesisRow& row) {
    const Point& point = row.first->point;
    std::string line = fmt::format(fmt::runtime(kThesisLine),
                                   name_of(point.verb),
                                   name_of(point.mode),
                                   human_size(point.size),
                                   row.first->clients,
                                   point.qps,
                                   row.first->mtu);
    for (const ThesisColumn& column : entry.columns) {
        const auto cell = std::ranges::find(row.cells, column.name, &ThesisCell::name);
        line += fmt::format("  {:>28}",
                            cell == row.cells.end() ? "-" : cell_text(column, cell->estimate));
    }
    return line + "\n";
}
}  // namespace

std::string_view name_of(Suite suite) {
    return entry_of(suite).name;
}

Result<Suite> parse_suite(std::string_view word) {
    const auto* entry = std::ranges::find(kThesisSuites, word, &SuiteEntry::name);
    if (entry != std::end(kThesisSuites))
        return entry->suite;
    return make_error(
        Code::BadInput,
        fmt::format("suite '{}' is not known (allowed: basic, cpu, multi_dev, multi_qp)",
                    base::printable(word)));
}

Json to_json(const ThesisPlan& plan) {
    Json suites = Json::array();
    for (const Suite suite : plan.suites)
        suites.push_back(name_of(suite));
    return {{"suites", std::move(suites)},
            {"sizes_bytes", plan.sizes},
            {"qps", plan.qps},
            {"time_ms", plan.time_ms},
            {"reps", plan.reps},
            {"hosts", plan.hosts},
            {"mtu_bytes", plan.mtu},
            {"seed", plan.seed}};
}

std::vector<ThesisTrial> trials_of(Suite suite, const ThesisPlan& thesis) {
    std::vector<ThesisTrial> trials;
    switch (suite) {
        case Suite::Basic:
            return {{.clients = 1, .points = basic_points(thesis)}};
        case Suite::Cpu:
            return {{.clients = 1, .points = expand(cost_plan(thesis, thesis.sizes))}};
        case Suite::MultiDevice:
            for (size_t clients = 1; clients <= thesis.hosts; ++clients)
                trials.push_back(
                    {.clients = clients,
                     .points = expand(plan_for(thesis, {Mode::Bandwidth}, {kManySize}))});
            return trials;
        case Suite::MultiQp:
            break;
    }
    Plan plan = plan_for(thesis, {Mode::Bandwidth}, {kManySize});
    plan.qps = thesis.qps;
    return {{.clients = 1, .points = expand(plan)}};
}

std::vector<ThesisRow> rows_of(Suite suite,
                               const std::vector<PointResult>& results,
                               uint64_t seed) {
    std::vector<std::vector<const PointResult*>> groups;
    std::map<std::string, size_t> places;
    for (const PointResult& result : results) {
        const auto key =
            fmt::format("{} {}", result.clients, base::dump_json(to_json(result.point)));
        const auto [place, added] = places.emplace(key, groups.size());
        if (added)
            groups.emplace_back();
        groups[place->second].push_back(&result);
    }
    std::vector<ThesisRow> rows;
    for (const auto& group : groups) {
        ThesisRow row{.first = group.front(), .cells = {}};
        for (const ThesisColumn& column : entry_of(suite).columns) {
            std::vector<double> sample;
            for (const PointResult* result : group) {
                if (const auto value = column.value(*result))
                    sample.push_back(*value);
            }
            if (!sample.empty())
                row.cells.push_back({column.name, estimate_median(std::move(sample), seed)});
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

std::string thesis_table(Suite suite, const std::vector<ThesisRow>& rows) {
    const SuiteEntry& entry = entry_of(suite);
    std::string out = fmt::format("\n{}: {}; median (95 % interval)\n", entry.name, entry.title);
    out += fmt::format(fmt::runtime(kThesisLine), "verb", "mode", "size", "clients", "qps", "mtu");
    for (const ThesisColumn& column : entry.columns)
        out += fmt::format("  {:>28}", column.head);
    out += "\n";
    for (const ThesisRow& row : rows)
        out += line_of(entry, row);
    const auto other_mtu = std::ranges::find_if(
        rows, [&](const ThesisRow& row) { return row.first->mtu != rows.front().first->mtu; });
    if (other_mtu != rows.end())
        out += fmt::format("note: path MTU {} and {}: these lines do not compare like with like\n",
                           rows.front().first->mtu,
                           other_mtu->first->mtu);
    return out;
}

Json json_of(Suite suite, const std::vector<ThesisRow>& rows) {
    Json out = {{"name", name_of(suite)}, {"rows", Json::array()}};
    for (const ThesisRow& row : rows) {
        Json metrics = Json::object();
        for (const ThesisCell& cell : row.cells) {
            const auto& interval = cell.estimate.interval;
            metrics[std::string(cell.name)] = {
                {"median", cell.estimate.median},
                {"ci95", interval ? Json::array({interval->low, interval->high}) : Json()},
                {"n", cell.estimate.n}};
        }
        out["rows"].push_back({{"point", point_json(*row.first)}, {"metrics", std::move(metrics)}});
    }
    return out;
}

}  // namespace perf
