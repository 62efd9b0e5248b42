// SPDX-License-Identifier: Apache-2.0
#include "perf/report/plan_file.h"

#include <algorithm>

#include <fmt/format.h>

#include "perf/report/document.h"
#include "perf/system/input.h"

namespace perf {

using base::Code;
using base::Json;
using base::make_error;
using base::Result;

namespace {
constexpr size_t kPlanLimit = 64U << 20U;  // bytes: a report may come as well

template <class T, class Name>
Json word_list(const std::vector<T>& values, Name&& name) {
    Json words = Json::array();
    for (const T& value : values)
        words.push_back(name(value));
    return words;
}

// One member of a plan, and how it gets there.
struct PlanMember {
    std::string_view name;
    Result<> (*read)(const Json& value, Plan& plan);
};

// `out` gets what `parse` makes of each element.
template <class T, class Element, class Parse>
Result<> read_list(const Json& value, std::vector<T>& out, Parse&& parse) {
    if (!value.is_array() || value.empty() || value.size() > kMaxValues)
        return make_error(Code::BadInput,
                          fmt::format("it is no array of 1 to {} values", kMaxValues));
    out.clear();
    for (const Json& element : value)
        out.push_back(TRY(parse(TRY(base::as<Element>(element, "a value")))));
    return {};
}

template <auto kList>
Result<> read_numbers(const Json& value, Plan& plan) {
    return read_list<uint32_t, uint32_t>(
        value, plan.*kList, [](uint32_t number) { return Result<uint32_t>(number); });
}

template <auto kMember>
Result<> read_number(const Json& value, Plan& plan) {
    using Number = std::remove_reference_t<decltype(plan.*kMember)>;
    plan.*kMember = TRY(base::as<Number>(value, "it"));
    return {};
}

template <auto kMember, auto kParse>
Result<> read_word(const Json& value, Plan& plan) {
    plan.*kMember = TRY(kParse(TRY(base::as<std::string>(value, "it"))));
    return {};
}

template <auto kList, auto kParse>
Result<> read_words(const Json& value, Plan& plan) {
    return read_list<typename std::remove_reference_t<decltype(plan.*kList)>::value_type,
                     std::string>(value, plan.*kList, kParse);
}

template <auto kMark>
Result<> read_mark(const Json& value, Plan& plan) {
    plan.marks.*kMark = TRY(base::as<uint32_t>(value, "it"));
    return {};
}

Result<> read_inline(const Json& value, Plan& plan) {
    plan.inline_bytes.reset();
    if (value != "auto")
        plan.inline_bytes = TRY(base::as<uint32_t>(value, "it"));
    return {};
}

constexpr PlanMember kPlanMembers[] = {
    {"verbs", read_words<&Plan::verbs, parse_verb>},
    {"modes", read_words<&Plan::modes, parse_mode>},
    {"sizes_bytes", read_numbers<&Plan::sizes>},
    {"iterations", read_number<&Plan::iterations>},
    {"time_ms", read_number<&Plan::time_ms>},
    {"qps", read_numbers<&Plan::qps>},
    {"depths", read_numbers<&Plan::depths>},
    {"batches", read_numbers<&Plan::batches>},
    {"polls", read_words<&Plan::polls, parse_poll>},
    {"threads", read_number<&Plan::threads>},
    {"direction", read_word<&Plan::direction, parse_direction>},
    {"rate_per_s", read_number<&Plan::rate>},
    {"mtu_bytes", read_number<&Plan::mtu>},
    {"verify", read_word<&Plan::verify, parse_verify>},
    {"transports", read_words<&Plan::transports, parse_transport>},
    {"connect", read_word<&Plan::connect, parse_connect>},
    {"hosts", read_word<&Plan::hosts, parse_hosts>},
    {"orderings", read_words<&Plan::orderings, parse_ordering>},
    {"traffic_class", read_mark<&Marks::traffic_class>},
    {"service_level", read_mark<&Marks::service_level>},
    {"flow_label", read_mark<&Marks::flow_label>},
    {"pkey_index", read_mark<&Marks::pkey_index>},
    {"reads", read_number<&Plan::reads>},
    {"inline_bytes", read_inline},
    {"signal", read_number<&Plan::signal>},
    {"ring_bytes", read_number<&Plan::ring_bytes>},
    {"seed", read_number<&Plan::seed>},
    {"reps", read_number<&Plan::reps>},
};

Plan default_plan() {
    return {.verbs = {Verb::Write, Verb::Read, Verb::Send},
            .modes = {Mode::Bandwidth, Mode::Latency},
            .sizes = {64, 4096, 65536},
            .seed = random_seed()};
}

Result<Plan> plan_within(const std::string& path) {
    const Json root =
        TRY(base::parse_json(TRY(read_file(path, kPlanLimit, "the plan")), "the plan"));
    if (!root.is_object() || !root.contains("schema"))
        return parse_plan(root);
    const auto schema = TRY(base::required<std::string>(root, "schema"));
    if (schema != kSchema || !root.contains("plan"))
        return make_error(
            Code::BadInput,
            fmt::format(
                "schema '{}' has no plan to run (known: {})", base::printable(schema), kSchema));
    return parse_plan(root["plan"]);
}
}  // namespace

Json to_json(const Plan& plan) {
    return {{"verbs", word_list(plan.verbs, [](Verb v) { return name_of(v); })},
            {"modes", word_list(plan.modes, [](Mode m) { return name_of(m); })},
            {"sizes_bytes", plan.sizes},
            {"iterations", plan.iterations},
            {"time_ms", plan.time_ms},
            {"qps", plan.qps},
            {"depths", plan.depths},
            {"batches", plan.batches},
            {"polls", word_list(plan.polls, [](const Poll& p) { return name_of(p); })},
            {"threads", plan.threads},
            {"direction", name_of(plan.direction)},
            {"rate_per_s", plan.rate},
            {"mtu_bytes", plan.mtu},
            {"verify", name_of(plan.verify)},
            {"transports", word_list(plan.transports, [](Transport t) { return name_of(t); })},
            {"connect", name_of(plan.connect)},
            {"hosts", name_of(plan.hosts)},
            {"orderings", word_list(plan.orderings, [](Ordering o) { return name_of(o); })},
            {"traffic_class", plan.marks.traffic_class},
            {"service_level", plan.marks.service_level},
            {"flow_label", plan.marks.flow_label},
            {"pkey_index", plan.marks.pkey_index},
            {"reads", plan.reads},
            {"inline_bytes", plan.inline_bytes ? Json(*plan.inline_bytes) : Json("auto")},
            {"signal", plan.signal},
            {"ring_bytes", plan.ring_bytes},
            {"seed", plan.seed},
            {"reps", plan.reps}};
}

Result<Plan> parse_plan(const Json& json) {
    if (!json.is_object())
        return make_error(Code::BadInput, "a plan is a JSON object");
    Plan plan = default_plan();
    for (const auto& [name, value] : json.items()) {
        const auto* member = std::ranges::find(kPlanMembers, name, &PlanMember::name);
        if (member == std::end(kPlanMembers))
            return make_error(
                Code::BadInput,
                fmt::format("'{}' is no member of a plan", base::printable(name, 40)));
        TRY(member->read(value, plan).context(name));
    }
    if (plan.iterations != 0 && plan.time_ms != 0)
        return make_error(Code::BadInput, "a plan has iterations or time_ms, not both");
    if (plan.iterations == 0 && plan.time_ms == 0)
        plan.time_ms = kDefaultTimeMs;
    return plan;
}

Result<Plan> read_plan(const std::string& path) {
    auto plan = plan_within(path);
    if (plan)
        return plan;
    plan.error().code = Code::Usage;
    return std::move(plan)
        .context(base::printable(path))
        .advise("pass --plan a report that --json wrote, or only its \"plan\"");
}

}  // namespace perf
