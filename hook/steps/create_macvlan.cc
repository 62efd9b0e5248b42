// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/create_macvlan.h"

#include <fmt/format.h>

namespace hook {

Result<std::unique_ptr<Step>> CreateMacvlan::load(const Json& json) {
    const auto mac = netns::parse_mac(TRY(base::required<std::string>(json, "mac")));
    if (!mac)
        return base::make_error(base::Code::Internal, "create_macvlan: broken MAC");
    return make_step<CreateMacvlan>(Args{.parent = TRY(base::required<uint32_t>(json, "parent")),
                                         .index = TRY(base::required<uint32_t>(json, "index")),
                                         .name = TRY(base::required<std::string>(json, "name")),
                                         .mac = *mac,
                                         .mtu = TRY(base::required<uint32_t>(json, "mtu"))});
}

std::string CreateMacvlan::describe() const {
    return fmt::format("create macvlan {} ({}, mtu {}) on host link {}",
                       args_.name,
                       netns::to_string(args_.mac),
                       args_.mtu,
                       args_.parent);
}

Result<> CreateMacvlan::apply(Site& site) const {
    return site.host.links.create_macvlan(site.host_ns, *site.container, args_);
}

Result<> CreateMacvlan::undo(Site& site) const {
    if (!site.container)
        return {};
    // An index that we drew at random, in a namespace that we hold: it is ours or nobody's.
    const auto link = TRY(site.host.links.find(*site.container, args_.index));
    if (!link || link->kind != "macvlan")
        return {};
    return site.host.links.remove(*site.container, args_.index);
}

Json CreateMacvlan::save() const {
    return {{"parent", args_.parent},
            {"index", args_.index},
            {"name", args_.name},
            {"mac", netns::to_string(args_.mac)},
            {"mtu", args_.mtu}};
}

}  // namespace hook
