// SPDX-License-Identifier: Apache-2.0
#include "perf/measure/result.h"

#include <algorithm>

#include <fmt/format.h>

namespace perf {

namespace {
// Ten ticks: what is shorter has no figure worth a column.
constexpr double kShortestWindow = 0.1;

Counters counters_of(const CounterSource& source) {
    auto counters = read_counters(source);
    return counters ? std::move(*counters) : Counters{};
}

double per_second(uint64_t messages, uint64_t elapsed_ns) {
    return elapsed_ns == 0
               ? 0
               : static_cast<double>(messages) / (static_cast<double>(elapsed_ns) / 1e9);
}
}  // namespace

Bandwidth sum_of(std::vector<Part> parts, bool one_window) {
    Bandwidth all;
    all.one_window = one_window;
    for (const Part& part : parts) {
        all.messages += part.messages;
        all.elapsed_ns = std::max(all.elapsed_ns, part.elapsed_ns);
        all.warmup_messages += part.warmup_messages;
        all.lost += part.lost;
    }
    if (parts.size() > 1)
        all.parts = std::move(parts);
    return all;
}

std::optional<Slices> slices_of(std::span<const Reading> readings, uint64_t at_once) {
    constexpr size_t kFewest = 5;
    constexpr uint64_t kCompletions = 10;  // in each slice
    if (readings.size() <= kFewest)
        return std::nullopt;
    const Reading& first = readings.front();
    const Reading& last = readings.back();
    const uint64_t messages = last.count - first.count;
    const size_t count = readings.size() - 1;
    if (messages < count * kCompletions * at_once)
        return std::nullopt;
    std::vector<double> rates;
    for (size_t i = 0; i < count; ++i)
        rates.push_back(per_second(readings[i + 1].count - readings[i].count,
                                   readings[i + 1].at_ns - readings[i].at_ns));
    std::ranges::sort(rates);
    return Slices{.count = count,
                  .least = rates.front(),
                  .p1 = rates[count / 100],
                  .mean = per_second(messages, last.at_ns - first.at_ns),
                  .most = rates.back()};
}

double messages_per_second(const Bandwidth& bandwidth) {
    if (bandwidth.parts.empty() || !bandwidth.one_window)
        return per_second(bandwidth.messages, bandwidth.elapsed_ns);
    double sum = 0;
    for (const Part& part : bandwidth.parts)
        sum += per_second(part.messages, part.elapsed_ns);
    return sum;
}

// ---- account ------------------------------------------------------------------------------------
void Account::begin_idle() {
    if (!idle_done_)
        idle_begin_ = sample_cpu();
}

void Account::end_idle() {
    if (idle_done_ || !idle_begin_)
        return;
    idle_done_ = true;
    if (const auto end = sample_cpu())
        idle_ = idle_load(*idle_begin_, *end);
}

void Account::look(const DeviceInfo& device) {
    source_ = {.device = device.device, .port = device.port, .netdev = device.netdev};
    before_ = counters_of(source_);
}

void Account::begin(const DeviceInfo& device) {
    look(device);
    begin();
}

Usage Account::end() {
    Usage usage;
    const auto end = sample_cpu();
    if (begin_ && end)
        usage.cpu = cpu_use(*begin_, *end, idle_);
    usage.counters = grown(before_, counters_of(source_));
    begin_.reset();
    before_.clear();
    return usage;
}

Json to_json(const Usage& usage) {
    Json out = Json::object();
    if (usage.cpu)
        out["cpu"] = to_json(*usage.cpu);
    out["counters"] = usage.counters;
    return out;
}

Result<Usage> parse_usage(const Json& frame) {
    Usage usage;
    if (!frame.is_object())
        return make_error(Code::BadInput, "'stopped' must be an object");
    if (const auto cpu = frame.find("cpu"); cpu != frame.end())
        usage.cpu = TRY(parse_cpu_use(*cpu).context("cpu"));
    if (const auto counters = frame.find("counters"); counters != frame.end())
        usage.counters = TRY(parse_counters(*counters));
    return usage;
}

std::optional<double> busy_cores(const Usage& usage) {
    if (!usage.cpu || usage.cpu->window_s < kShortestWindow)
        return std::nullopt;
    return usage.cpu->machine_busy_s / usage.cpu->window_s;
}

std::vector<std::string> flags_of(const PointUsage& usage, const std::optional<LimitShare>& share) {
    Counters both = usage.client.counters;
    both.insert(usage.server.counters.begin(), usage.server.counters.end());
    std::vector<std::string> flags = flags_of(both);
    if (share && share->exceeds())
        flags.emplace_back("limit_exceeded");
    return flags;
}

void describe(Json& result, const PointUsage& usage, const std::optional<LimitShare>& share) {
    result["cpu"] = {{"client", usage.client.cpu ? to_json(*usage.client.cpu) : Json()},
                     {"server", usage.server.cpu ? to_json(*usage.server.cpu) : Json()},
                     {"payload_bytes", usage.payload_bytes}};
    result["counters"] = {{"client", usage.client.counters}, {"server", usage.server.counters}};
    result["flags"] = flags_of(usage, share);
}

std::string remarks(const PointUsage& usage, const std::optional<LimitShare>& share) {
    std::string out;
    if (share)
        out += fmt::format("  {:.1f} % of limit", share->percent);
    const auto client = busy_cores(usage.client);
    const auto server = busy_cores(usage.server);
    if (client && server)
        out += fmt::format("  cpu {:.2f}/{:.2f}", *client, *server);
    const auto flags = flags_of(usage, share);
    if (!flags.empty())
        out += fmt::format("  [{}]", joined(flags));
    return out;
}

// ---- metrics ------------------------------------------------------------------------------------
namespace {
// Core-seconds per gigabyte, of both machines and with the warm-up in both. Of windows long enough
// for the machines' clocks.
std::optional<double> cost_of(const PointResult& result) {
    const PointUsage& usage = result.usage;
    if (!result.bandwidth || !busy_cores(usage.client) || !busy_cores(usage.server) ||
        usage.payload_bytes == 0)
        return std::nullopt;
    return (usage.client.cpu->machine_busy_s + usage.server.cpu->machine_busy_s) /
           (static_cast<double>(usage.payload_bytes) / 1e9);
}

std::string human_cost(double core_s_per_gb) {
    return fmt::format("{:.2f} core s/GB", core_s_per_gb);
}

constexpr Metric kMetrics[] = {
    {"bandwidth", "bandwidth_bytes_per_s", Better::Higher, true, bandwidth_of, human_bandwidth},
    {"bandwidth", "rate_messages_per_s", Better::Higher, false, rate_of, human_rate},
    {"cpu", "core_s_per_gb", Better::Lower, false, cost_of, human_cost},
    {"latency", "p50_ns", Better::Lower, true, latency_of<&LatencySummary::p50_ns>, human_time},
    {"latency", "p99_ns", Better::Lower, true, latency_of<&LatencySummary::p99_ns>, human_time},
};

// Two decimals, and of a number below 1 up to six, so that three digits say something.
std::string short_number(double value) {
    int decimals = 2;
    for (double left = value; left < 1 && decimals < 6; ++decimals)
        left *= 10;
    return fmt::format("{:.{}f}", value, decimals);
}
}  // namespace

std::span<const Metric> all_metrics() {
    return kMetrics;
}

std::string human_bandwidth(double bytes_per_s) {
    return short_number(bytes_per_s * 8 / 1e9) + " Gb/s";
}

std::string human_rate(double messages_per_s) {
    return short_number(messages_per_s / 1e6) + " Mpps";
}

std::string human_time(double ns) {
    return fmt::format("{:.2f} us", ns / 1000);
}

std::string human_value(const Metric& metric, double value) {
    // Values of foreign files may be anything; beyond what a link can do digits are of no use.
    return value >= 1e15 ? fmt::format("{:.3g}", value) : metric.text(value);
}

}  // namespace perf
