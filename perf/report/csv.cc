// SPDX-License-Identifier: Apache-2.0
#include "perf/report/csv.h"

#include "perf/report/report.h"

namespace perf {

namespace {
struct Column {
    std::string_view name;
    std::string_view group;  // the member of the result that has it; empty: the result itself
};

// New columns go to the end: who reads by number must not be surprised.
constexpr Column kColumns[] = {
    {"rep", ""},
    {"verb", "point"},
    {"mode", "point"},
    {"transport", "point"},
    {"size_bytes", "point"},
    {"depth", "point"},
    {"batch", "point"},
    {"mtu_bytes", "point"},
    {"poll", "point"},
    {"server_poll", "point"},
    {"inline_bytes", "point"},
    {"verify", "point"},
    {"seed", "point"},
    {"data_ok", "verify"},
    {"messages", "bandwidth"},
    {"window_s", "bandwidth"},
    {"bandwidth_bytes_per_s", "bandwidth"},
    {"rate_messages_per_s", "bandwidth"},
    {"kind", "latency"},
    {"samples", "latency"},
    {"min_ns", "latency"},
    {"mean_ns", "latency"},
    {"p50_ns", "latency"},
    {"p90_ns", "latency"},
    {"p99_ns", "latency"},
    {"p99_9_ns", "latency"},
    {"p99_99_ns", "latency"},
    {"max_ns", "latency"},
    {"qps", "point"},
    {"threads", "point"},
    {"clients", "point"},
    {"direction", "point"},
    {"rate_per_s", "point"},
    {"connect", "point"},
    {"ordering", "point"},
    {"server_ordering", "point"},
    {"traffic_class", "point"},
    {"service_level", "point"},
    {"flow_label", "point"},
    {"pkey_index", "point"},
    {"reads", "point"},
    {"signal", "point"},
};

std::string text_of(const Json& value) {
    if (value.is_null())
        return "";
    return csv_field(value.is_string() ? value.get<std::string>() : base::dump_json(value));
}

std::string cell(const Json& result, const Column& column) {
    const Json* holder = &result;
    if (!column.group.empty()) {
        const auto group = result.find(column.group);
        if (group == result.end() || !group->is_object())
            return "";
        holder = &*group;
    }
    const auto value = holder->find(column.name);
    return value == holder->end() ? "" : text_of(*value);
}

template <class Cell>
std::string line(Cell cell_of) {
    std::string out;
    for (const Column& column : kColumns) {
        if (&column != &kColumns[0])
            out += ',';
        out += cell_of(column);
    }
    return out + "\r\n";
}
}  // namespace

std::string csv_header() {
    return line([](const Column& column) { return std::string(column.name); });
}

std::string csv_row(const PointResult& result) {
    const Json json = to_json(result);
    return line([&](const Column& column) { return cell(json, column); });
}

std::string csv_field(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos)
        return std::string(text);
    std::string out = "\"";
    for (const char c : text)
        out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + '"';
}

}  // namespace perf
