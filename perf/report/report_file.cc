// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "perf/report/compare.h"
#include "perf/report/report.h"
#include "perf/system/reading.h"

namespace perf {

namespace {
// Members of a point that neither name it nor change what is measured.
constexpr std::string_view kIgnored[] = {"iterations", "time_ms", "verify", "seed"};

// Members that the label has in a form of its own.
constexpr std::string_view kNamed[] = {"verb", "mode", "size_bytes"};

// What is not worth a word in the label.
const std::pair<std::string_view, Json> kOrdinary[] = {{"qps", 1},
                                                       {"threads", 1},
                                                       {"clients", 1},
                                                       {"direction", "forward"},
                                                       {"connect", "exchange"},
                                                       {"rate_per_s", 0}};

Result<const Json*> member(const Json& object, std::string_view name, Json::value_t type) {
    if (!object.is_object() || !object.contains(name))
        return make_error(Code::BadInput, "'{}' is missing", name);
    const auto it = object.find(name);
    if (it->type() != type)
        return make_error(Code::BadInput,
                          "'{}' must be an {}, not {}",
                          name,
                          type == Json::value_t::array ? "array" : "object",
                          printable(base::dump_json(*it), 40));
    return &*it;
}

std::string value_of(const Json& point, const Setting& setting) {
    auto value = point.find(setting.member);
    if (value == point.end() && setting.before.starts_with('@'))
        value = point.find(setting.before.substr(1));
    else if (value == point.end() && !setting.before.empty())
        return std::string(setting.before);
    return value == point.end() ? "missing" : base::dump_json(*value);
}

// Identity and label are made of whatever the point has, so that points of newer programs, with
// members unknown here, are not taken for one another.
Result<Series> new_series(const Json& point) {
    Series series;
    const auto verb = TRY(base::required<std::string>(point, "verb"));
    const auto mode = TRY(base::required<std::string>(point, "mode"));
    const auto size = TRY(base::required<uint64_t>(point, "size_bytes"));
    series.label =
        fmt::format("{} {} {}", printable(verb, 20), printable(mode, 20), human_size(size));
    Json identity = Json::object();
    for (const auto& [name, value] : point.items()) {
        if (std::ranges::count(kPointSettings, name, &Setting::member) != 0 ||
            std::ranges::count(kIgnored, name) != 0)
            continue;
        // What older programs could not vary is what they did.
        if (std::ranges::count(kOrdinary, std::pair<std::string_view, Json>(name, value)) != 0)
            continue;
        identity[name] = value;
        if (std::ranges::count(kNamed, name) == 0)
            series.label +=
                fmt::format(" {} {}", printable(name, 40), printable(base::dump_json(value), 40));
    }
    // The order of members means nothing.
    series.identity = nlohmann::json(identity).dump();
    for (const Setting& setting : kPointSettings)
        series.settings.push_back(value_of(point, setting));
    for (const Metric& metric : all_metrics())
        series.samples[metric.name] = {};
    series.point = point;
    return series;
}

Result<> add_result(const Json& result, std::map<std::string, size_t>& places, ReportFile& file) {
    Series candidate = TRY(new_series(*TRY(member(result, "point", Json::value_t::object))));
    std::string key = candidate.identity;
    for (const std::string& setting : candidate.settings)
        key += '\n' + setting;
    const auto [place, added] = places.emplace(std::move(key), file.series.size());
    if (added)
        file.series.push_back(std::move(candidate));
    Series& series = file.series[place->second];
    if (++series.repetitions > kMaxReps)
        return make_error(Code::BadInput, "more than {} repetitions of {}", kMaxReps, series.label);
    const Json& verify = *TRY(member(result, "verify", Json::value_t::object));
    if (!TRY(base::optional_member<bool>(verify, "data_ok", true)))
        ++series.wrong;
    for (const Metric& metric : all_metrics()) {
        if (!metric.compared)
            continue;
        const auto group = result.find(metric.group);
        if (group == result.end() || group->is_null())
            continue;
        if (!group->is_object())
            return make_error(Code::BadInput, "'{}' must be an object", metric.group);
        const auto value = TRY(base::required<double>(*group, metric.name));
        if (!std::isfinite(value) || value < 0)
            return make_error(Code::BadInput, "'{}' is no measurement: {}", metric.name, value);
        series.samples[metric.name].push_back(value);
    }
    return {};
}

// A side's kSideSettings.
Result<std::vector<std::string>> values_of_side(const Json& env, std::string_view name) {
    const Json& side = *TRY(member(env, name, Json::value_t::object));
    const auto found = side.find("device");
    const bool none = found == side.end() || found->is_null();
    const Json device = none ? Json::object() : *found;
    std::vector<std::string> values;
    values.push_back(TRY(base::required<std::string>(side, "kernel")));
    values.push_back(none ? "none" : TRY(base::required<std::string>(device, "gid_type")));
    // Older programs do not tell these.
    for (const std::string_view identity : {"part", "firmware", "pcie"})
        values.push_back(TRY(base::optional_member<std::string>(device, identity, "")));
    for (const std::string_view platform : {"cpu_model", "governor", "rdma_core"})
        values.push_back(TRY(base::optional_member<std::string>(side, platform, "")));
    // They had all buffers in the host's.
    values.push_back(none ? "" : TRY(base::optional_member<std::string>(device, "memory", "host")));
    return values;
}

// Points that differ in a setting only would have the same label.
void tell_apart(std::vector<Series>& all) {
    std::map<std::string, std::vector<Series*>> groups;
    for (Series& series : all)
        groups[series.identity].push_back(&series);
    for (const auto& entry : groups) {
        const auto& group = entry.second;  // clang before 16 captures no structured binding
        for (size_t i = 0; i < std::size(kPointSettings); ++i) {
            const auto same = [&](const Series* other) {
                return other->settings[i] == group.front()->settings[i];
            };
            if (std::ranges::all_of(group, same))
                continue;
            for (Series* series : group)
                series->label += fmt::format(
                    " {} {}", kPointSettings[i].member, printable(series->settings[i], 40));
        }
    }
}

constexpr char kCompareAdvice[] = "compare takes two files that --json of run or loop wrote";

Result<ReportFile> report_of(std::string_view text, const std::string& name) {
    const Json root = TRY(base::parse_json(text, "the report"));
    const auto schema = TRY(base::required<std::string>(root, "schema"));
    // Reports of older programs have no kind.
    const auto kind = TRY(base::optional_member<std::string>(root, "kind", "run"));
    if (schema != kSchema)
        return make_error(
            Code::BadInput, "schema '{}' is not known (known: {})", printable(schema), kSchema);
    if (kind != "run")
        return make_error(Code::BadInput, "it is of kind '{}', not a report", printable(kind));
    ReportFile file;
    file.name = name;
    file.started = TRY(base::optional_member<std::string>(root, "started", "?"));
    const Json& env = *TRY(member(root, "env", Json::value_t::object));
    const auto client = TRY(values_of_side(env, "client").context("env.client"));
    const auto server = TRY(values_of_side(env, "server").context("env.server"));
    for (size_t i = 0; i < client.size(); ++i)
        file.settings.insert(file.settings.end(), {client[i], server[i]});
    const Json& results = *TRY(member(root, "results", Json::value_t::array));
    if (results.size() > kMaxRuns)
        return make_error(Code::BadInput, "more than {} results", kMaxRuns);
    std::map<std::string, size_t> places;
    for (size_t i = 0; i < results.size(); ++i)
        TRY(add_result(results[i], places, file).context(fmt::format("result {}", i)));
    tell_apart(file.series);
    return file;
}
}  // namespace

std::vector<std::string_view> allow_words() {
    std::vector<std::string_view> words;
    using Settings = std::span<const Setting>;
    for (const Settings list : {Settings(kPointSettings), Settings(kSideSettings)}) {
        for (const Setting& setting : list) {
            if (std::ranges::find(words, setting.allow) == words.end())
                words.push_back(setting.allow);
        }
    }
    return words;
}

Result<ReportFile> parse_report(std::string_view text, const std::string& name) {
    return about_file(report_of(text, name), name, kCompareAdvice);
}

Result<ReportFile> read_report(const std::string& path) {
    auto text = read_file(path, kReportLimit, "the report");
    return parse_report(TRY(about_file(std::move(text), path, kCompareAdvice)), path);
}

}  // namespace perf
