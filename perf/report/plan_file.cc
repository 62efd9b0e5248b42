// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "perf/protocol/fields.h"
#include "perf/report/report.h"
#include "perf/system/reading.h"

namespace perf {

namespace {
template <auto kList>
constexpr auto list(std::string_view name) {
    return field<kList>(name, Told::May, 1, kMaxValues);
}

constexpr Field<Plan> kTime = {
    .name = "time_ms",
    .told = Told::May,
    .write = [](const Plan& plan) { return time_json(plan.time_ms); },
    .read = [](const Json& object, const Field<Plan>& row, Plan& plan) -> Result<> {
        const bool forever = *object.find(row.name) == "forever";
        plan.time_ms = forever ? kForever : TRY(read_member<uint32_t>(object, row.name));
        return {};
    }};
}  // namespace

template <>
inline constexpr auto kFields<Plan> =
    std::array{list<&Plan::verbs>("verbs"),
               list<&Plan::modes>("modes"),
               list<&Plan::sizes>("sizes_bytes"),
               field<&Plan::iterations>("iterations", Told::May),
               kTime,
               field<&Plan::interval_ms>("interval_ms", Told::May),
               list<&Plan::qps>("qps"),
               list<&Plan::depths>("depths"),
               list<&Plan::batches>("batches"),
               list<&Plan::polls>("polls"),
               field<&Plan::threads>("threads", Told::May),
               field<&Plan::direction>("direction", Told::May),
               field<&Plan::rate>("rate_per_s", Told::May),
               field<&Plan::load>("with", Told::May),
               field<&Plan::mtu>("mtu_bytes", Told::May),
               field<&Plan::verify>("verify", Told::May),
               list<&Plan::transports>("transports"),
               field<&Plan::connect>("connect", Told::May),
               field<&Plan::hosts>("hosts", Told::May),
               list<&Plan::orderings>("orderings"),
               field<&Plan::marks, &Marks::traffic_class>("traffic_class", Told::May),
               field<&Plan::marks, &Marks::service_level>("service_level", Told::May),
               field<&Plan::marks, &Marks::flow_label>("flow_label", Told::May),
               field<&Plan::marks, &Marks::pkey_index>("pkey_index", Told::May),
               field<&Plan::reads>("reads", Told::May),
               field<&Plan::inline_bytes>("inline_bytes", Told::May),
               field<&Plan::signal>("signal", Told::May),
               field<&Plan::ring_bytes>("ring_bytes", Told::May),
               field<&Plan::seed>("seed", Told::May),
               field<&Plan::reps>("reps", Told::May)};

Json to_json(const Plan& plan) {
    return encode(plan);
}

Result<Plan> parse_plan(const Json& json) {
    if (!json.is_object())
        return make_error(Code::BadInput, "a plan is a JSON object");
    Plan plan{.seed = random_seed()};
    for (const auto& [name, ignored] : json.items()) {
        if (std::ranges::count(kFields<Plan>, name, &Field<Plan>::name) == 0)
            return make_error(Code::BadInput, "'{}' is no member of a plan", printable(name, 40));
    }
    TRY(read_fields(json, plan));
    if (plan.iterations != 0 && plan.time_ms != 0)
        return make_error(Code::BadInput, "a plan has iterations or time_ms, not both");
    if (plan.iterations == 0 && plan.time_ms == 0)
        plan.time_ms = kDefaultTimeMs;
    return plan;
}

Result<Plan> read_plan(const std::string& path) {
    const auto read = [&]() -> Result<Plan> {
        const Json root =
            TRY(base::parse_json(TRY(read_file(path, kReportLimit, "the plan")), "the plan"));
        if (!root.is_object() || !root.contains("schema"))
            return parse_plan(root);
        const auto schema = TRY(base::required<std::string>(root, "schema"));
        if (schema != kSchema || !root.contains("plan"))
            return make_error(Code::BadInput,
                              "schema '{}' has no plan to run (known: {})",
                              printable(schema),
                              kSchema);
        return parse_plan(root["plan"]);
    };
    return about_file(read(), path, "pass --plan a report that --json wrote, or only its \"plan\"");
}

}  // namespace perf
