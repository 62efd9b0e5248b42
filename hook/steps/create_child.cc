// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/create_child.h"

#include <algorithm>

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

// Whether rdma-hook made the link, whatever its name is now: its index and kind say so. Unless all
// was applied, another attach of this network may have drawn the index at the same time, and been
// first. Its interface has another name and, but for an ipvlan, another MAC.
bool CreateChild::is_ours(const Site& site, const netns::Link& link) const {
    const bool same_mac = link.mac == args_.mac && args_.type.kind != netns::ChildKind::Ipvlan;
    return link.kind == netns::to_string(args_.type.kind) &&
           (site.made || link.name == args_.name || same_mac);
}

// A container that administers its network can give the link to any namespace that it knows.
Result<Undo> CreateChild::undo_elsewhere(Site& site) const {
    const auto has_it = [&](const netns::Netns& ns) -> Result<bool> {
        const auto links = site.host.links.list(ns);
        return links && std::ranges::any_of(*links, [&](const netns::Link& link) {
                   return link.mac == args_.mac && is_ours(site, link);
               });
    };
    if (args_.type.kind != netns::ChildKind::Ipvlan) {
        if (const auto ns = TRY(site.host.namespaces.search(has_it))) {
            for (const netns::Link& link : TRY(site.host.links.list(*ns))) {
                if (link.mac == args_.mac && is_ours(site, link))
                    return undone_by(site.host.links.remove(*ns, link.index));
            }
        }
    }
    return Undo::unknown(fmt::format(
        "{} has left the container's network namespace, as CAP_NET_ADMIN allows: if no other "
        "container has it, run: rdmactl gc --forget",
        args_.name));
}

Result<Undo> CreateChild::undo(Site& site) const {
    if (!site.container)
        return Undo::gone();
    const auto link = TRY(site.host.links.find(*site.container, args_.index));
    if (link && is_ours(site, *link))
        return undone_by(site.host.links.remove(*site.container, args_.index));
    // With its parent all children go, wherever they are: a driver that was loaded again.
    if (!site.made || !site.net_admin || !TRY(site.host.links.find(site.host_ns, args_.parent)))
        return Undo::gone();
    return undo_elsewhere(site);
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
