// SPDX-License-Identifier: Apache-2.0
#include "perf/report/report.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "perf/system/reading.h"
#include "perf/verbs/memory.h"

namespace perf {

namespace {
std::string device_text(const DeviceInfo& info) {
    return fmt::format("{} ({}GID {} {} {}, MTU {}{})",
                       info.device,
                       info.netdev.empty() ? "" : info.netdev + ", ",
                       info.gid_index,
                       info.gid.text(),
                       name_of(info.gid_type),
                       info.active_mtu,
                       info.memory == "host" ? "" : ", memory " + info.memory);
}

// As far as it is known. Software devices have a vendor that is none of PCI's.
std::string adapter_text(const Identity& it) {
    constexpr size_t kPciVendor = 4;
    std::string text;
    if (it.part.find(':') == kPciVendor)
        text += "  " + it.part + (it.firmware.empty() ? "" : "  firmware " + it.firmware);
    return text + (it.pcie.empty() ? "" : "  " + it.pcie);
}

Json rate_json(const Bandwidth& bandwidth, uint32_t size) {
    Json out = {{"messages", bandwidth.messages},
                {"bandwidth_bytes_per_s", messages_per_second(bandwidth) * size},
                {"rate_messages_per_s", messages_per_second(bandwidth)},
                {"slices", Json()}};
    if (const auto& slices = bandwidth.slices)
        out["slices"] = {{"count", slices->count},
                         {"min_bytes_per_s", slices->least * size},
                         {"p1_bytes_per_s", slices->p1 * size},
                         {"max_bytes_per_s", slices->most * size}};
    return out;
}

Json load_json(const std::optional<Bandwidth>& load, const Point& point) {
    return load ? rate_json(*load, point.load->size) : Json();
}

Json json_of(const Bandwidth& bandwidth, uint32_t size) {
    Json out = rate_json(bandwidth, size);
    out["warmup_messages"] = bandwidth.warmup_messages;
    out["lost_messages"] = bandwidth.lost;
    out["window_s"] = static_cast<double>(bandwidth.elapsed_ns) / 1e9;
    out["parts"] = Json::array();
    for (const Part& part : bandwidth.parts)
        out["parts"].push_back(
            {{"client", part.client},
             {"direction", name_of(part.direction)},
             {"messages", part.messages},
             {"lost_messages", part.lost},
             {"window_s", static_cast<double>(part.elapsed_ns) / 1e9},
             {"bandwidth_bytes_per_s", messages_per_second(sum_of({part})) * size}});
    return out;
}

Json json_of(const LatencySummary& latency, const Point& point) {
    const bool open = point.rate != 0;
    return {{"kind", is_ping_pong(point) && !open ? "half_round_trip" : "round_trip"},
            {"loop", open ? "open" : "closed"},
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

Json json_of(const std::optional<DeviceInfo>& device) {
    return device ? to_json(*device) : Json();
}

Json side_json(const Hello& hello, const std::optional<DeviceInfo>& device) {
    Json side = {{"host", hello.host},
                 {"kernel", hello.kernel},
                 {"version", hello.version},
                 {"device", json_of(device)}};
    side.update(to_json(hello.platform));
    return side;
}

// What a point has that is not ordinary, and no column of its own.
std::string settings_text(const Point& point) {
    std::string text = point.ordering == Ordering::Strict ? "  strict ordering" : "";
    const auto add = [&](std::string_view name, uint32_t value) {
        if (value != 0)
            text += fmt::format("  {} {}", name, value);
    };
    add("tclass", point.marks.traffic_class);
    add("sl", point.marks.service_level);
    add("flow label", point.marks.flow_label);
    add("pkey index", point.marks.pkey_index);
    add("reads", point.reads);
    add("signal", point.signal);
    return text;
}

// In lines of at most 100 columns, broken between two of the values at the end.
std::string fold(std::string row) {
    constexpr size_t kLongest = 100;
    constexpr std::string_view kIndent = "\n      ";
    for (size_t begin = 0; row.size() - begin > kLongest;) {
        const size_t gap = row.rfind("  ", begin + kLongest);
        if (gap == std::string::npos || gap <= begin + kIndent.size())
            break;
        row.replace(gap, 2, kIndent);
        begin = gap + 1;
    }
    return row;
}

std::string rate_text(const Bandwidth& bandwidth, uint32_t size) {
    constexpr double kFar = 0.8;
    const double rate = messages_per_second(bandwidth);
    std::string text = fmt::format("{:>13} {:>13}", human_bandwidth(rate * size), human_rate(rate));
    // The slowest slice, where it is far from the mean.
    if (const auto& slices = bandwidth.slices; slices && slices->least < kFar * slices->mean)
        text +=
            fmt::format("  slowest {} ms {:.0f} %", kSliceMs, 100 * slices->least / slices->mean);
    return text;
}

std::string latency_text(const LatencySummary& l) {
    const auto us = [](auto ns, bool carried = true) {
        return carried ? fmt::format("{:.2f}", static_cast<double>(ns) / 1000) : "-";
    };
    return fmt::format("min {}  avg {}  p50 {}  p90 {}  p99 {}  p99.9 {}  p99.99 {}  max {} us",
                       us(l.min_ns),
                       us(l.mean_ns),
                       us(l.p50_ns),
                       us(l.p90_ns),
                       us(l.p99_ns),
                       us(l.p999_ns, l.carries_p999()),
                       us(l.p9999_ns, l.carries_p9999()),
                       us(l.max_ns));
}

template <class Measured>  // PointResult or Interim
std::string result_text(const Measured& measured, const Point& point) {
    std::string text = measured.bandwidth ? rate_text(*measured.bandwidth, point.size)
                       : measured.latency ? latency_text(*measured.latency)
                                          : "not measured";
    if (measured.load)
        text +=
            fmt::format("  beside {} {} {}",
                        name_of(point.load->verb),
                        human_size(point.load->size),
                        human_bandwidth(messages_per_second(*measured.load) * point.load->size));
    return text;
}

Json point_json(const PointResult& result) {
    Json point = to_json(result.point);
    point.erase("credit");  // no setting
    point["time_ms"] = time_json(result.point.time_ms);
    point["with"] = name_of(result.point.load);
    point["clients"] = result.clients;
    point["mtu_bytes"] = result.mtu;
    point["server_poll"] = name_of(result.server_poll);
    point["server_ordering"] = name_of(result.server_ordering);
    point["inline_bytes"] = result.inline_bytes;
    point["reads"] = result.reads;
    point["signal"] = signal_of(result.point);
    point.update(to_json(result.means));
    const Json server = to_json(result.server_means);
    for (const auto& [name, value] : server.items())
        point["server_" + name] = value;
    return point;
}

// What is known before the first result.
Json json_head(const Report& report) {
    Json out = {{"plan", to_json(report.plan)},
                {"env", sides_json(report.client, report.pairs.front())}};
    for (const Pairing& pair : std::span(report.pairs).subspan(1))
        out["env"]["more_pairs"].push_back(
            {{"client_device", json_of(pair.client_device)},
             {"server", side_json(pair.server, pair.server_device)}});
    return out;
}

Json summary_json(const Report& report) {
    Json out = Json::array();
    const auto rows = summarize(report.results);
    for (const SummaryRow& row : rows) {
        Json entry = {{"point", point_json(*row.first)},
                      {"metric", row.metric->name},
                      {"median", row.estimate.median},
                      {"ci95", to_json(row.estimate.interval)},
                      {"n", row.estimate.n}};
        if (const auto ratio = ratio_to_tcp(row, rows))
            entry["ratio_to_tcp"] = *ratio;
        out.push_back(std::move(entry));
    }
    return out;
}
}  // namespace

Json to_json(const PointResult& result) {
    const Json point = point_json(result);
    Json verify = to_json(result.checked);
    verify["mode"] = name_of(result.point.verify);
    verify["data_ok"] = result.point.verify == Verify::Off ? Json() : Json(!result.checked.wrong);
    Json out = {
        {"rep", result.rep}, {"point", point}, {"complete", result.complete}, {"verify", verify}};
    out["bandwidth"] = result.bandwidth ? json_of(*result.bandwidth, result.point.size) : Json();
    out["latency"] = result.latency ? json_of(*result.latency, result.point) : Json();
    out["load"] = load_json(result.load, result.point);
    out["intervals"] = Json::array();
    for (const Interim& interim : result.intervals)
        out["intervals"].push_back(to_json(interim, result.point));
    out["percent_of_payload_limit"] =
        result.share_of_limit ? Json(result.share_of_limit->percent) : Json();
    describe(out, result.usage, result.share_of_limit);
    return out;
}

Json to_json(const Interim& interim, const Point& point) {
    return {{"begin_s", static_cast<double>(interim.begin_ns) / 1e9},
            {"end_s", static_cast<double>(interim.end_ns) / 1e9},
            {"bandwidth", interim.bandwidth ? rate_json(*interim.bandwidth, point.size) : Json()},
            {"latency", interim.latency ? json_of(*interim.latency, point) : Json()},
            {"load", load_json(interim.load, point)}};
}

Json to_json(const Report& report) {
    Json out = json_head(report);
    out["results"] = Json::array();
    for (const PointResult& result : report.results)
        out["results"].push_back(to_json(result));
    out["summary"] = summary_json(report);
    return out;
}

Pairing pairing_of(const Client& client) {
    Pairing pair{.client_device = {}, .server = client.server(), .server_device = {}};
    if (client.has_device()) {
        pair.client_device = client.device().info;
        pair.server_device = client.server_device();
    }
    return pair;
}

std::string side_text(std::string_view role,
                      const Hello& hello,
                      const std::optional<DeviceInfo>& device) {
    const std::string& cpu = hello.platform.cpu;
    return fold(fmt::format("{} {} on {}{}{}",
                            role,
                            device ? device_text(*device) : "without a device",
                            hello.host,
                            device ? adapter_text(device->identity) : "",
                            cpu.empty() ? "" : "  " + cpu)) +
           "\n";
}

std::string sides_text(const Hello& client, const Pairing& pair) {
    return side_text("client", client, pair.client_device) +
           side_text("server", pair.server, pair.server_device);
}

Json sides_json(const Hello& client, const Pairing& pair) {
    return {{"client", side_json(client, pair.client_device)},
            {"server", side_json(pair.server, pair.server_device)}};
}

std::string table_head(const Report& report) {
    std::string out;
    for (const Pairing& pair : report.pairs)
        out += sides_text(report.client, pair);
    return out + "verb      via mode   size qps depth  mtu  data         result\n";
}

std::string table_row(const PointResult& result) {
    const std::string data = result.checked.wrong ? "WRONG"
                             : result.point.verify == Verify::Off
                                 ? "not checked"
                                 : "ok " + human_size(result.checked.bytes);
    std::string row = fmt::format("{:<10}{:<4}{:<4}{:>7} {:>3} {:>5} {:>4}  {:<12} {}{}",
                                  name_of(result.point.verb),
                                  name_of(result.point.transport),
                                  name_of(result.point.mode),
                                  human_size(result.point.size),
                                  result.point.qps * result.clients,
                                  result.point.depth,
                                  result.mtu == 0 ? "-" : std::to_string(result.mtu),
                                  data,
                                  result_text(result, result.point) + settings_text(result.point) +
                                      (result.complete ? "" : "  interrupted"),
                                  remarks(result.usage, result.share_of_limit));
    row = fold(std::move(row)) + "\n";
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

std::string interim_row(const Point& point, const Interim& interim) {
    return fold(fmt::format("  {}  {:.1f} to {:.1f} s  {}",
                            describe(point),
                            static_cast<double>(interim.begin_ns) / 1e9,
                            static_cast<double>(interim.end_ns) / 1e9,
                            result_text(interim, point))) +
           "\n";
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

// ---- outputs ------------------------------------------------------------------------------------
namespace {
// The columns by the member of a result that has them; empty: the result itself. New ones go to the
// end, because programs read columns by number.
constexpr std::pair<std::string_view, std::string_view> kGroups[] = {
    {"", "rep"},
    {"point",
     "verb mode transport size_bytes depth batch mtu_bytes poll server_poll inline_bytes verify "
     "seed"},
    {"verify", "data_ok"},
    {"bandwidth", "messages window_s bandwidth_bytes_per_s rate_messages_per_s"},
    {"latency", "kind samples min_ns mean_ns p50_ns p90_ns p99_ns p99_9_ns p99_99_ns max_ns"},
    {"point",
     "qps threads clients direction rate_per_s connect ordering server_ordering traffic_class "
     "service_level flow_label pkey_index reads signal"},
    {"", "complete"},
    {"point", "with"}};

// Of what to_json() makes of a result: each group is there, null where nothing was measured.
std::string cell(const Json& result, std::string_view group, std::string_view name) {
    const Json& holder = group.empty() ? result : *result.find(group);
    const auto value = holder.find(name);
    if (value == holder.end() || value->is_null())
        return "";
    return csv_field(value->is_string() ? value->get<std::string>() : base::dump_json(*value));
}

template <class Cell>
std::string csv_line(Cell cell_of) {
    std::string out;
    for (const auto& [group, names] : kGroups) {
        for (const std::string_view name : words_of(names))
            out += (out.empty() ? "" : ",") + cell_of(group, name);
    }
    return out + "\r\n";
}

std::string line_of(std::string_view type, const Json& members) {
    Json line = {{"type", type}};
    line.update(members);
    return base::dump_json(line) + "\n";
}

std::array<std::string_view, 3> places(const MeasureOptions& options) {
    return {options.json, options.csv, options.jsonl};
}
}  // namespace

std::string csv_header() {
    return csv_line([](std::string_view, std::string_view name) { return std::string(name); });
}

std::string csv_row(const PointResult& result) {
    const Json json = to_json(result);
    return csv_line(
        [&](std::string_view group, std::string_view name) { return cell(json, group, name); });
}

std::string csv_field(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos)
        return std::string(text);
    std::string out = "\"";
    for (const char c : text)
        out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + '"';
}

Result<Outputs> Outputs::open(const MeasureOptions& options, std::FILE* out) {
    Outputs outputs;
    outputs.csv_ = TRY(Sink::open(options.csv, out));
    outputs.jsonl_ = TRY(Sink::open(options.jsonl, out));
    return outputs;
}

Result<> Outputs::begin(const Document& document, const Report& report) const {
    TRY(csv_.write(csv_header()));
    Json line = document.head();
    line.update(json_head(report));
    return jsonl_.write(line_of("run", line));
}

Result<> Outputs::add(const Turn& turn, const Interim& interim) const {
    Json line = {{"rep", turn.rep}, {"of", describe(turn.point)}};
    line.update(to_json(interim, turn.point));
    return jsonl_.write(line_of("interval", line));
}

Result<> Outputs::add(const PointResult& result) const {
    TRY(csv_.write(csv_row(result)));
    return jsonl_.write(line_of("result", to_json(result)));
}

Result<> Outputs::conclude(const Report& report, const Result<>& done) const {
    return jsonl_.write(
        line_of("end", {{"summary", summary_json(report)}, {"errors", errors_json(done)}}));
}

bool data_on_stdout(const MeasureOptions& options) {
    return std::ranges::count(places(options), "-") > 0;
}

Result<> check_outputs(const MeasureOptions& options) {
    if (std::ranges::count(places(options), "-") <= 1)
        return {};
    return make_error(Code::Usage,
                      "of --json, --csv and --jsonl only one can be standard output ('-')")
        .advise("name a file for the others");
}

}  // namespace perf
