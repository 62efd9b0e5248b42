// SPDX-License-Identifier: Apache-2.0
#include "perf/suites/perftest/report.h"

#include <algorithm>

#include <fmt/format.h>

#include "perf/report/compare.h"
#include "perf/report/report.h"

namespace perf::perftest {

using base::Json;

namespace {
double middle_of(const Cell& cell, double RunPair::*side) {
    std::vector<double> values;
    for (const RunPair& pair : cell.pairs)
        values.push_back(pair.*side);
    return median(std::move(values));
}

std::string interval_text(const RatioEstimate& ratio) {
    if (!ratio.interval)
        return "-";
    return fmt::format("{:.3f} to {:.3f}", ratio.interval->low, ratio.interval->high);
}

std::string cell_name(const Cell& cell) {
    return fmt::format("{} {} {}",
                       name_of(cell.point.verb),
                       name_of(cell.point.mode),
                       human_size(cell.point.size));
}

Json json_of(const Plan& plan) {
    Json out = {{"verbs", Json::array()},
                {"modes", Json::array()},
                {"sizes_bytes", plan.sizes},
                {"seconds", plan.seconds},
                {"iterations", plan.iterations},
                {"least_pairs", plan.least_pairs},
                {"most_pairs", plan.most_pairs},
                {"defaults", plan.defaults},
                {"seed", plan.seed}};
    for (const Verb verb : plan.verbs)
        out["verbs"].push_back(name_of(verb));
    for (const Mode mode : plan.modes)
        out["modes"].push_back(name_of(mode));
    return out;
}

Json env_of(const Findings& findings) {
    if (!findings.server)
        return {};
    const auto side = [](const Hello& hello, const DeviceInfo& device, const Version& version) {
        return Json{{"host", hello.host},
                    {"kernel", hello.kernel},
                    {"version", hello.version},
                    {"perftest", version.version.empty() ? Json() : Json(version.version)},
                    {"device", perf::to_json(device)}};
    };
    return {{"client", side(own_hello(), findings.client_device, findings.client_perftest)},
            {"server", side(*findings.server, findings.server_device, findings.server_perftest)}};
}

Json json_of(const Cell& cell) {
    Json out = {{"verb", name_of(cell.point.verb)},
                {"mode", name_of(cell.point.mode)},
                {"size_bytes", cell.point.size},
                {"data_ok", !cell.wrong},
                {"metric", metric_of(cell).name},
                {"poll", perf::name_of(cell.poll)},
                {"settings", cell.trial.settings ? to_json(*cell.trial.settings) : Json()},
                {"pairs", Json::array()},
                {"ratio", cell.ratio.ratio == 0 ? Json() : Json(cell.ratio.ratio)},
                {"ci95", Json()},
                {"verdict", perf::name_of(cell.verdict)},
                {"perftest_failures", cell.failures}};
    for (const RunPair& pair : cell.pairs)
        out["pairs"].push_back({{"rdma_perf", pair.b}, {"perftest", pair.a}});
    if (cell.ratio.interval)
        out["ci95"] = {cell.ratio.interval->low, cell.ratio.interval->high};
    return out;
}
}  // namespace

bool Findings::corrupt() const {
    return std::ranges::any_of(cells, &Cell::wrong);
}

bool Findings::meets(Expect expect) const {
    if (expect == Expect::Nothing)
        return true;
    return cells.size() == points_of(plan).size() &&
           std::ranges::all_of(
               cells, [&](const Cell& cell) { return is_as_expected(cell.verdict, expect); });
}

std::string table_head(const Findings& findings) {
    return fmt::format("{} here against {} at {}, perftest {} and {}, {}\n",
                       findings.client_device.device,
                       findings.server_device.device,
                       findings.server ? findings.server->host : "?",
                       findings.client_perftest.version,
                       findings.server_perftest.version,
                       findings.plan.defaults ? "each with its own defaults"
                                              : "equal settings, both spinning") +
           fmt::format("{:<20}{:>14}{:>14}  {:>6}  {:<16}{:>5}  {}\n",
                       "verb mode size",
                       "rdma-perf",
                       "perftest",
                       "ratio",
                       "95 % interval",
                       "pairs",
                       "verdict");
}

std::string table_row(const Cell& cell) {
    if (cell.wrong)
        return fmt::format("{:<20}WRONG data: not measured, see rdma-perf run\n", cell_name(cell));
    const Metric& metric = metric_of(cell);
    const std::string row = fmt::format("{:<20}{:>14}{:>14}  {:>6.3f}  {:<16}{:>5}  {}\n",
                                        cell_name(cell),
                                        human_value(metric, middle_of(cell, &RunPair::b)),
                                        human_value(metric, middle_of(cell, &RunPair::a)),
                                        cell.ratio.ratio,
                                        interval_text(cell.ratio),
                                        cell.pairs.size(),
                                        perf::name_of(cell.verdict));
    if (cell.failures == 0)
        return row;
    return row + fmt::format("  perftest failed {} time{} and was run again: {}\n",
                             cell.failures,
                             cell.failures == 1 ? "" : "s",
                             cell.failure);
}

Json to_json(const Findings& findings) {
    Json out = {{"schema", kReportSchema},
                {"tool", {{"name", "rdma-perf"}, {"version", RDMA_VERSION}}},
                {"started", findings.started},
                {"plan", json_of(findings.plan)},
                {"env", env_of(findings)},
                {"results", Json::array()},
                {"errors", errors_json(findings.error)}};
    for (const Cell& cell : findings.cells)
        out["results"].push_back(json_of(cell));
    return out;
}

}  // namespace perf::perftest
