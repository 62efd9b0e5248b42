// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/plan.h"

#include "hook/steps/codec.h"

namespace hook {

namespace {
// Returns the step of the first type, from alternative I on, that has this kind.
template <size_t I = 0>
Result<AnyStep> load_kind(const std::string& kind, const base::JsonView& json) {
    if constexpr (I == std::variant_size_v<AnyStep>) {
        return base::make_error(base::Code::Internal,
                                "unknown step '" + base::printable(kind) + "'")
            .advise("undo it with the version of rdma-hook that wrote the journal");
    } else {
        using S = std::variant_alternative_t<I, AnyStep>;
        if constexpr (kIsJournaled<S>) {
            if (kind == S::kKind)
                return AnyStep(TRY(decode<S>(json, kind).context("step " + kind)));
        }
        return load_kind<I + 1>(kind, json);
    }
}
}  // namespace

std::string_view kind_of(const AnyStep& step) {
    return std::visit([]<class S>(const S&) { return S::kKind; }, step);
}

std::string describe(const AnyStep& step) {
    return std::visit([](const auto& s) { return s.describe(); }, step);
}

bool is_journaled(const AnyStep& step) {
    return std::visit([]<class S>(const S&) { return kIsJournaled<S>; }, step);
}

Result<> apply(const AnyStep& step, Site& site) {
    return std::visit([&](const auto& s) { return s.apply(site); }, step);
}

Result<Undo> undo(const AnyStep& step, Site& site) {
    return std::visit(
        [&]<class S>(const S& s) -> Result<Undo> {
            if constexpr (kIsJournaled<S>)
                return s.undo(site);
            else
                return Undo::gone();
        },
        step);
}

std::string step_text(const AnyStep& step) {
    return std::visit(
        []<class S>(const S& s) {
            std::string text = "{";
            base::append_member(text, "kind", S::kKind);
            codec::put_fields(text, s);
            text += '}';
            return text;
        },
        step);
}

Json save_step(const AnyStep& step) {
    return base::parse_json(step_text(step), "a step").value();
}

Result<AnyStep> load_step(const base::JsonView& json) {
    return load_kind(TRY(base::required<std::string>(json, "kind")), json);
}

Result<AnyStep> load_step(const Json& json) {
    const std::string text = base::dump_json(json);
    const auto nodes = TRY(base::scan_json(text, "a step"));
    return load_step(base::JsonView(text, nodes));
}

}  // namespace hook
