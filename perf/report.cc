// SPDX-License-Identifier: Apache-2.0
#include "perf/report.h"

#include <algorithm>
#include <ctime>

#include <fmt/format.h>

#include "perf/summary.h"

namespace perf {

using base::Json;

namespace {
constexpr double kMiB = 1024.0 * 1024.0;

double seconds(const Bandwidth& bandwidth) {
    return static_cast<double>(bandwidth.elapsed_ns) / 1e9;
}

double bytes_per_second(const PointResult& result) {
    return messages_per_second(*result.bandwidth) * result.point.size;
}

std::string device_text(const DeviceInfo& info) {
    return fmt::format("{} ({}GID {} {} {}, MTU {})",
                       info.device,
                       info.netdev.empty() ? "" : info.netdev + ", ",
                       info.gid_index,
                       info.gid.text(),
                       name_of(info.gid_type),
                       info.active_mtu);
}

std::string numbers(const PointResult& result) {
    if (result.bandwidth)
        return fmt::format("{:>10.1f} MiB/s {:>10.2f} kmsg/s",
                           bytes_per_second(result) / kMiB,
                           messages_per_second(*result.bandwidth) / 1000);
    if (!result.latency)
        return "not measured";
    const LatencySummary& l = *result.latency;
    const auto us = [](uint64_t ns, bool carried = true) {
        return carried ? fmt::format("{:.1f}", static_cast<double>(ns) / 1000) : "-";
    };
    return fmt::format("p50 {}  p90 {}  p99 {}  p99.9 {}  p99.99 {}  max {} us",
                       us(l.p50_ns),
                       us(l.p90_ns),
                       us(l.p99_ns),
                       us(l.p999_ns, l.carries_p999()),
                       us(l.p9999_ns, l.carries_p9999()),
                       us(l.max_ns));
}

std::string data_word(const PointResult& result) {
    if (result.checked.wrong)
        return "WRONG";
    return result.point.verify == Verify::Off ? "not checked"
                                              : "ok " + human_size(result.checked.bytes);
}

Json json_of(const Bandwidth& bandwidth, uint32_t size) {
    return {{"messages", bandwidth.messages},
            {"warmup_messages", bandwidth.warmup_messages},
            {"lost_messages", bandwidth.lost},
            {"window_s", seconds(bandwidth)},
            {"bandwidth_bytes_per_s", messages_per_second(bandwidth) * size},
            {"rate_messages_per_s", messages_per_second(bandwidth)}};
}

Json json_of(const LatencySummary& latency, const Point& point) {
    return {{"kind", is_ping_pong(point) ? "half_round_trip" : "round_trip"},
            {"loop", "closed"},
            {"samples", latency.samples},
            {"min_ns", latency.min_ns},
            {"mean_ns", latency.mean_ns},
            {"p50_ns", latency.p50_ns},
            {"p90_ns", latency.p90_ns},
            {"p99_ns", latency.p99_ns},
            {"p99_9_ns", latency.carries_p999() ? Json(latency.p999_ns) : Json()},
            {"p99_99_ns", latency.carries_p9999() ? Json(latency.p9999_ns) : Json()},
            {"max_ns", latency.max_ns}};
}

// The point as it was run, with what both sides agreed on.
Json point_json(const PointResult& result) {
    Json point = to_json(result.point);
    point["mtu_bytes"] = result.mtu;
    point["server_poll"] = name_of(result.server_poll);
    point["inline_bytes"] = result.inline_bytes;
    return point;
}

Json json_of(const Plan& plan) {
    Json out = {{"verbs", Json::array()},
                {"modes", Json::array()},
                {"sizes_bytes", plan.sizes},
                {"iterations", plan.iterations},
                {"time_ms", plan.time_ms},
                {"depth", plan.depth},
                {"mtu_bytes", plan.mtu},
                {"poll", name_of(plan.poll)},
                {"verify", name_of(plan.verify)},
                {"transport", name_of(plan.transport)},
                {"seed", plan.seed},
                {"reps", plan.reps}};
    for (const Verb verb : plan.verbs)
        out["verbs"].push_back(name_of(verb));
    for (const Mode mode : plan.modes)
        out["modes"].push_back(name_of(mode));
    return out;
}

Json side_of(const Hello& hello, const std::optional<DeviceInfo>& device) {
    return {{"host", hello.host},
            {"kernel", hello.kernel},
            {"version", hello.version},
            {"device", device ? to_json(*device) : Json()}};
}
}  // namespace

bool Report::corrupt() const {
    return std::ranges::any_of(results, [](const auto& r) { return r.checked.wrong.has_value(); });
}

Json to_json(const PointResult& result) {
    const Json point = point_json(result);
    Json verify = to_json(result.checked);
    verify["mode"] = name_of(result.point.verify);
    verify["data_ok"] = result.point.verify == Verify::Off ? Json() : Json(!result.checked.wrong);
    Json out = {{"rep", result.rep}, {"point", point}, {"verify", verify}};
    out["bandwidth"] = result.bandwidth ? json_of(*result.bandwidth, result.point.size) : Json();
    out["latency"] = result.latency ? json_of(*result.latency, result.point) : Json();
    out["percent_of_payload_limit"] =
        result.percent_of_limit ? Json(*result.percent_of_limit) : Json();
    describe(out, result.usage, result.percent_of_limit);
    return out;
}

Json json_head(const Report& report) {
    return {{"schema", kSchema},
            {"tool", {{"name", "rdma-perf"}, {"version", RDMA_VERSION}}},
            {"started", report.started},
            {"plan", json_of(report.plan)},
            {"env",
             {{"client", side_of(report.client, report.client_device)},
              {"server", side_of(report.server, report.server_device)}}}};
}

Json json_tail(const Report& report) {
    Json out = {{"summary", Json::array()}, {"errors", Json::array()}};
    for (const SummaryRow& row : summarize(report.results, report.plan.seed)) {
        Json entry = {{"point", point_json(*row.first)}};
        entry.update(json_of(row));
        out["summary"].push_back(std::move(entry));
    }
    if (report.error)
        out["errors"].push_back({{"code", base::code_name(report.error->code)},
                                 {"text", report.error->message()},
                                 {"fix", report.error->fix}});
    return out;
}

Json to_json(const Report& report) {
    Json out = json_head(report);
    out["results"] = Json::array();
    for (const PointResult& result : report.results)
        out["results"].push_back(to_json(result));
    out.update(json_tail(report));
    return out;
}

std::string table_head(const Report& report) {
    std::string out;
    if (report.client_device && report.server_device)
        out = fmt::format("client {} on {}\nserver {} on {}\n",
                          device_text(*report.client_device),
                          report.client.host,
                          device_text(*report.server_device),
                          report.server.host);
    return out + fmt::format("{:<10}{:<5}{:>9} {:>6} {:>5}  {:<15}{}\n",
                             "verb",
                             "mode",
                             "size",
                             "depth",
                             "mtu",
                             "data",
                             "result");
}

std::string table_row(const PointResult& result) {
    std::string row = fmt::format("{:<10}{:<5}{:>9} {:>6} {:>5}  {:<15}{}{}\n",
                                  name_of(result.point.verb),
                                  name_of(result.point.mode),
                                  human_size(result.point.size),
                                  result.point.depth,
                                  result.mtu,
                                  data_word(result),
                                  numbers(result),
                                  remarks(result.usage, result.percent_of_limit));
    if (result.checked.wrong) {
        const auto& wrong = *result.checked.wrong;
        row += fmt::format(
            "      wrong data, seen by the {}: message {}, {} {}: expected {:#04x}, got {:#04x} "
            "({})\n",
            wrong.side,
            wrong.message,
            wrong.guard ? "guard band byte" : "byte",
            wrong.mismatch.offset,
            wrong.mismatch.expected,
            wrong.mismatch.got,
            wrong.mismatch.kind);
    }
    return row;
}

std::string human_size(uint64_t bytes) {
    constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB"};
    size_t unit = 0;
    auto value = static_cast<double>(bytes);
    while (value >= 1024 && unit + 1 < std::size(kUnits)) {
        value /= 1024;
        ++unit;
    }
    return fmt::format("{:.{}f} {}",
                       value,
                       value == static_cast<double>(static_cast<uint64_t>(value)) ? 0 : 1,
                       kUnits[unit]);
}

std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    if (::gmtime_r(&now, &parts) == nullptr)
        return "?";
    char text[32] = "";
    const size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return {text, length};
}

}  // namespace perf
