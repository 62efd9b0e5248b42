// SPDX-License-Identifier: Apache-2.0
#include "perf/measure/metrics.h"

#include <fmt/format.h>

namespace perf {

std::optional<double> rate_of(const PointResult& result) {
    if (!result.bandwidth)
        return std::nullopt;
    return messages_per_second(*result.bandwidth);
}

std::optional<double> bandwidth_of(const PointResult& result) {
    if (!result.bandwidth)
        return std::nullopt;
    return messages_per_second(*result.bandwidth) * result.point.size;
}

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

constexpr Metric kMetrics[] = {
    {"bandwidth", "bandwidth_bytes_per_s", Better::Higher, true, bandwidth_of},
    {"bandwidth", "rate_messages_per_s", Better::Higher, false, rate_of},
    {"cpu", "core_s_per_gb", Better::Lower, false, cost_of},
    {"latency", "p50_ns", Better::Lower, true, latency_of<&LatencySummary::p50_ns>},
    {"latency", "p99_ns", Better::Lower, true, latency_of<&LatencySummary::p99_ns>},
};
}  // namespace

std::span<const Metric> all_metrics() {
    return kMetrics;
}

std::string human_value(const Metric& metric, double value) {
    // Values of foreign files may be anything; beyond what a link can do digits are of no use.
    if (value >= 1e15)
        return fmt::format("{:.3g}", value);
    if (metric.name.ends_with("_bytes_per_s"))
        return fmt::format("{:.1f} MiB/s", value / (1024.0 * 1024.0));
    if (metric.name.ends_with("_messages_per_s"))
        return fmt::format("{:.2f} kmsg/s", value / 1000);
    if (metric.name == "core_s_per_gb")
        return fmt::format("{:.2f} core s/GB", value);
    return fmt::format("{:.2f} us", value / 1000);
}

}  // namespace perf
