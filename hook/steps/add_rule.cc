// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/add_rule.h"

#include <fmt/format.h>

namespace hook {

Result<std::unique_ptr<Step>> AddRule::load(const Json& json) {
    const auto source = netns::parse_ip(TRY(base::required<std::string>(json, "source")));
    if (!source)
        return base::make_error(base::Code::Internal, "add_rule: broken source");
    return make_step<AddRule>(Args{.source = *source,
                                   .table = TRY(base::required<uint32_t>(json, "table")),
                                   .priority = TRY(base::required<uint32_t>(json, "priority"))});
}

std::string AddRule::describe() const {
    return fmt::format(
        "route what comes from {} by table {}", netns::ip_string(args_.source), args_.table);
}

Result<> AddRule::apply(Site& site) const {
    return site.host.routes.add_rule(*site.container, args_);
}

Result<Undo> AddRule::undo(Site& site) const {
    if (!site.container)
        return Undo::gone();
    return undone_by(site.host.routes.remove_rule(*site.container, args_));
}

Json AddRule::save() const {
    return base::object({{"source", netns::ip_string(args_.source)},
                         {"table", args_.table},
                         {"priority", args_.priority}});
}

}  // namespace hook
