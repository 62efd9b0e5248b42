// SPDX-License-Identifier: Apache-2.0
#include "perf/report/outputs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "perf/system/reading.h"

namespace perf {

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

std::string text_of(const Json& value) {
    if (value.is_null())
        return "";
    return csv_field(value.is_string() ? value.get<std::string>() : base::dump_json(value));
}

std::string cell(const Json& result, std::string_view group, std::string_view name) {
    const auto found = group.empty() ? result.end() : result.find(group);
    if (!group.empty() && (found == result.end() || !found->is_object()))
        return "";
    const Json& holder = group.empty() ? result : *found;
    const auto value = holder.find(name);
    return value == holder.end() ? "" : text_of(*value);
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
    outputs.json_ = options.json;
    outputs.out_ = out;
    outputs.csv_ = TRY(Sink::open(options.csv, out));
    outputs.jsonl_ = TRY(Sink::open(options.jsonl, out));
    return outputs;
}

Result<> Outputs::begin(const Report& report) const {
    TRY(csv_.write(csv_header()));
    return jsonl_.write(line_of("run", json_head(report)));
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

Result<> Outputs::conclude(const Report& report) const {
    TRY(jsonl_.write(line_of("end", json_tail(report))));
    if (json_.empty())
        return {};
    // Only now: what an earlier run left there is kept until there is something better.
    return write_document(to_json(report), json_, out_);
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
