// SPDX-License-Identifier: Apache-2.0
#include "perf/report/report.h"

#include <algorithm>

#include <fmt/format.h>

#include "perf/suites/kv/kv.h"

namespace perf::kv {

namespace {
constexpr Method kMethods[] = {Method::Send, Method::Read};

struct Column {
    std::string_view name;  // with its unit
    std::string_view head;
    double scale;  // from the unit of the name to that of the head
    int digits;
    std::optional<double> (*value)(const Trial& trial);
};

std::optional<double> rate(const Trial& trial) {
    return static_cast<double>(trial.gets) / (static_cast<double>(trial.elapsed_ns) / 1e9);
}

template <auto kTime>  // of LatencySummary
std::optional<double> latency(const Trial& trial) {
    return static_cast<double>(trial.latency.*kTime);
}

template <auto kSide>  // of PointUsage
std::optional<double> cores(const Trial& trial) {
    return busy_cores(trial.usage.*kSide);
}

std::optional<double> reads_per_get(const Trial& trial) {
    if (trial.method != Method::Read)
        return std::nullopt;
    return static_cast<double>(trial.reads) / static_cast<double>(trial.gets);
}

constexpr Column kColumns[] = {
    {"gets_per_s", "gets/s", 1, 0, rate},
    {"p50_ns", "p50 us", 1e-3, 2, latency<&LatencySummary::p50_ns>},
    {"p99_ns", "p99 us", 1e-3, 2, latency<&LatencySummary::p99_ns>},
    {"client_cores", "client cores", 1, 2, cores<&PointUsage::client>},
    {"server_cores", "server cores", 1, 2, cores<&PointUsage::server>},
    {"reads_per_get", "reads/get", 1, 2, reads_per_get},
};

// Of the trials that count.
std::vector<double> sample_of(const Findings& findings, Method method, const Column& column) {
    std::vector<double> sample;
    for (const Trial& trial : findings.trials) {
        if (trial.method != method || trial.wrong)
            continue;
        if (const auto value = column.value(trial))
            sample.push_back(*value);
    }
    return sample;
}

// GETs per second by READ over those by SEND, of the repetitions that both have.
RatioEstimate read_over_send(const Findings& findings) {
    return estimate_ratio(sample_of(findings, Method::Send, kColumns[0]),
                          sample_of(findings, Method::Read, kColumns[0]),
                          findings.plan.shape.seed);
}

std::optional<MedianEstimate> estimate(const Findings& findings,
                                       Method method,
                                       const Column& column) {
    auto sample = sample_of(findings, method, column);
    if (sample.empty())
        return std::nullopt;
    return estimate_median(std::move(sample), findings.plan.shape.seed);
}

std::string cell(const Column& column, const std::optional<MedianEstimate>& estimate) {
    if (!estimate)
        return "-";
    const auto number = [&](double value) {
        return fmt::format("{:.{}f}", value * column.scale, column.digits);
    };
    if (!estimate->interval)
        return number(estimate->median);
    return fmt::format("{} ({} to {})",
                       number(estimate->median),
                       number(estimate->interval->low),
                       number(estimate->interval->high));
}

std::string ratio_text(const RatioEstimate& ratio) {
    const auto verdict = name_of(judge(ratio, Better::Higher));
    if (!ratio.interval)
        return fmt::format("{:.3f}: {}", ratio.ratio, verdict);
    return fmt::format("{:.3f} ({:.3f} to {:.3f}): {}",
                       ratio.ratio,
                       ratio.interval->low,
                       ratio.interval->high,
                       verdict);
}

Json json_of(const Trial& trial) {
    Json out = {{"method", name_of(trial.method)}, {"rep", trial.rep}, {"data_ok", !trial.wrong}};
    if (trial.wrong) {
        out["wrong"] = {{"key", trial.wrong->key},
                        {"version", trial.wrong->version},
                        {"what", trial.wrong->what}};
        return out;
    }
    out["gets"] = trial.gets;
    out["reads"] = trial.reads;
    out["window_s"] = static_cast<double>(trial.elapsed_ns) / 1e9;
    for (const Column& column : kColumns) {
        const auto value = column.value(trial);
        out[std::string(column.name)] = value ? Json(*value) : Json();
    }
    out["max_ns"] = trial.latency.max_ns;
    describe(out, trial.usage, std::nullopt);
    return out;
}

Json summary_of(const Findings& findings, Method method) {
    Json out = Json::object();
    for (const Column& column : kColumns) {
        if (const auto found = estimate(findings, method, column))
            out[std::string(column.name)] = {{"median", found->median},
                                             {"ci95", perf::to_json(found->interval)},
                                             {"n", found->n}};
    }
    return out;
}

Json json_of(const Plan& plan) {
    return {{"keys", plan.shape.keys},
            {"value_bytes", plan.shape.value},
            {"slots", plan.shape.slots()},
            {"slot_bytes", plan.shape.slot_bytes()},
            {"zipf", plan.skew},
            {"time_ms", plan.time_ms},
            {"reps", plan.reps},
            {"seed", plan.shape.seed}};
}

Json env_of(const Findings& findings) {
    if (!findings.server)
        return {};
    return {{"client", side_json(own_hello(), findings.client_device)},
            {"server", side_json(*findings.server, findings.server_device)},
            {"mtu_bytes", findings.agreed.mtu},
            {"poll", perf::name_of(findings.agreed.poll)},
            {"server_poll", perf::name_of(findings.agreed.server_poll)}};
}
}  // namespace

bool Findings::corrupt() const {
    return std::ranges::any_of(trials, [](const Trial& trial) { return trial.wrong.has_value(); });
}

std::string trial_line(const Trial& trial) {
    const std::string head = fmt::format("{:<5} rep {:<4}", name_of(trial.method), trial.rep);
    if (trial.wrong)
        return fmt::format("{}WRONG value of key {} at version {}: {}\n",
                           head,
                           trial.wrong->key,
                           trial.wrong->version,
                           trial.wrong->what);
    return fmt::format("{}{:>10.0f} gets/s  p50 {:.2f} us  p99 {:.2f} us{}\n",
                       head,
                       *rate(trial),
                       static_cast<double>(trial.latency.p50_ns) / 1e3,
                       static_cast<double>(trial.latency.p99_ns) / 1e3,
                       remarks(trial.usage, std::nullopt));
}

std::string table_of(const Findings& findings) {
    const Plan& plan = findings.plan;
    std::string out = fmt::format(
        "\n{} keys, values of {} bytes, zipf {}; median of {} repetitions (95 % interval)\n{:<6}",
        plan.shape.keys,
        plan.shape.value,
        plan.skew,
        plan.reps,
        "get by");
    for (const Column& column : kColumns)
        out += fmt::format("  {:>24}", column.head);
    for (const Method method : kMethods) {
        out += fmt::format("\n{:<6}", name_of(method));
        for (const Column& column : kColumns)
            out += fmt::format("  {:>24}", cell(column, estimate(findings, method, column)));
    }
    return out +
           fmt::format("\nread/send, gets per second: {}\n", ratio_text(read_over_send(findings)));
}

Json to_json(const Findings& findings) {
    const RatioEstimate ratio = read_over_send(findings);
    Json out = {{"plan", json_of(findings.plan)},
                {"env", env_of(findings)},
                {"results", Json::array()},
                {"summary",
                 {{"send", summary_of(findings, Method::Send)},
                  {"read", summary_of(findings, Method::Read)},
                  {"read_over_send",
                   {{"ratio", ratio.ratio},
                    {"ci95", perf::to_json(ratio.interval)},
                    {"verdict", perf::name_of(judge(ratio, Better::Higher))}}}}}};
    for (const Trial& trial : findings.trials)
        out["results"].push_back(json_of(trial));
    return out;
}

}  // namespace perf::kv
