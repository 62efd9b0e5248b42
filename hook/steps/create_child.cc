// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/create_child.h"

#include <fmt/format.h>

namespace hook {

using base::Code;
using base::make_error;
using netns::ChildKind;

namespace {
std::string type_text(const netns::ChildType& type) {
    std::string text{netns::to_string(type.kind)};
    if (type.kind == ChildKind::Macvlan)
        text += fmt::format(" ({})", netns::to_string(type.macvlan_mode));
    if (type.kind == ChildKind::Vlan)
        text += fmt::format(" {}", type.vlan);
    return text;
}

Result<netns::ChildType> type_from_json(const Json& json) {
    const auto kind = netns::parse_child_kind(TRY(base::required<std::string>(json, "type")));
    const auto mode =
        netns::parse_macvlan_mode(TRY(base::required<std::string>(json, "macvlan_mode")));
    if (!kind || !mode)
        return make_error(Code::Internal, "create_child: unknown type");
    return netns::ChildType{*kind, *mode, TRY(base::required<uint16_t>(json, "vlan"))};
}
}  // namespace

Result<std::unique_ptr<Step>> CreateChild::load(const Json& json) {
    const auto mac = netns::parse_mac(TRY(base::required<std::string>(json, "mac")));
    if (!mac)
        return make_error(Code::Internal, "create_child: broken MAC");
    Args args;
    args.parent = TRY(base::required<uint32_t>(json, "parent"));
    args.index = TRY(base::required<uint32_t>(json, "index"));
    args.name = TRY(base::required<std::string>(json, "name"));
    args.mac = *mac;
    args.mtu = TRY(base::required<uint32_t>(json, "mtu"));
    args.type = TRY(type_from_json(json));
    return make_step<CreateChild>(std::move(args));
}

std::string CreateChild::describe() const {
    return fmt::format("create {} {} ({}, mtu {}) on host link {}",
                       type_text(args_.type),
                       args_.name,
                       netns::to_string(args_.mac),
                       args_.mtu,
                       args_.parent);
}

Result<> CreateChild::apply(Site& site) const {
    return site.host.links.create_child(site.host_ns, *site.container, args_);
}

Result<> CreateChild::undo(Site& site) const {
    if (!site.container)
        return {};
    // An index far above what the kernel gives itself, in a namespace that we hold: it is ours or
    // nobody's.
    const auto link = TRY(site.host.links.find(*site.container, args_.index));
    if (!link || link->kind != netns::to_string(args_.type.kind))
        return {};
    return site.host.links.remove(*site.container, args_.index);
}

Json CreateChild::save() const {
    return base::object({{"parent", args_.parent},
                         {"index", args_.index},
                         {"name", args_.name},
                         {"mac", netns::to_string(args_.mac)},
                         {"mtu", args_.mtu},
                         {"type", netns::to_string(args_.type.kind)},
                         {"macvlan_mode", netns::to_string(args_.type.macvlan_mode)},
                         {"vlan", args_.type.vlan}});
}

}  // namespace hook
