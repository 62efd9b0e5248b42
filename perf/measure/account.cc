// SPDX-License-Identifier: Apache-2.0
#include "perf/measure/account.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace perf {

namespace {
// Ten ticks: what is shorter has no figure worth a column.
constexpr double kShortestWindow = 0.1;

Counters counters_of(const CounterSource& source) {
    auto counters = read_counters(source);
    return counters ? std::move(*counters) : Counters{};
}

Json json_of(const std::optional<CpuUse>& use) {
    return use ? to_json(*use) : Json();
}
}  // namespace

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

void Account::begin() {
    begin_ = sample_cpu();
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
    result["cpu"] = {{"client", json_of(usage.client.cpu)},
                     {"server", json_of(usage.server.cpu)},
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
        out += fmt::format("  [{}]", fmt::join(flags, ", "));
    return out;
}

}  // namespace perf
