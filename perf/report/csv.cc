// SPDX-License-Identifier: Apache-2.0
#include "perf/report/csv.h"

#include <utility>
#include <vector>

#include "perf/report/report.h"
#include "perf/system/reading.h"

namespace perf {

namespace {
struct Column {
    std::string_view name;
    std::string_view group;  // the member of the result that has it; empty: the result itself
};

// Groups, and the columns of each. New ones go to the end, because programs read columns by number.
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

const std::vector<Column>& all_columns() {
    static const auto kColumns = [] {
        std::vector<Column> columns;
        for (const auto& [group, names] : kGroups) {
            for (const std::string_view name : words_of(names))
                columns.push_back({name, group});
        }
        return columns;
    }();
    return kColumns;
}

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
    for (const Column& column : all_columns())
        out += (out.empty() ? "" : ",") + cell_of(column);
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
