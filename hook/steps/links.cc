// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/links.h"

#include <algorithm>

#include <fmt/format.h>

namespace hook {

using netns::ChildKind;
using netns::Link;
using netns::Netns;

// ---- CreateChild
namespace {
std::string type_text(const netns::ChildType& type) {
    std::string text{netns::to_string(type.kind)};
    if (type.kind == ChildKind::Macvlan)
        text += fmt::format(" ({})", netns::to_string(type.macvlan_mode));
    if (type.kind == ChildKind::Vlan)
        text += fmt::format(" {}", type.vlan);
    return text;
}

// Returns whether rdma-hook made the link, whatever its name is now: its index and kind tell.
// Unless all steps were applied, another attach of this network may have drawn the same index and
// come first. That attach's interface has another name and, unless it is an ipvlan, another MAC.
bool is_made_by(const CreateChild& step, const Site& site, const Link& link) {
    const bool same_mac = link.mac == step.mac && step.type.kind != ChildKind::Ipvlan;
    return link.kind == netns::to_string(step.type.kind) &&
           (site.made || link.name == step.name || same_mac);
}

// Searches other namespaces: a container that administers its network can give the link to any
// namespace that it knows.
Result<Undo> remove_elsewhere(const CreateChild& step, Site& site) {
    const auto is_wanted = [&](const Link& link) {
        return link.mac == step.mac && is_made_by(step, site, link);
    };
    const auto has_it = [&](const Netns& ns) -> Result<bool> {
        const auto links = site.host.links.list(ns);
        return links && std::ranges::any_of(*links, is_wanted);
    };
    if (step.type.kind != ChildKind::Ipvlan) {
        if (const auto ns = TRY(site.host.namespaces.search(has_it))) {
            for (const Link& link : TRY(site.host.links.list(*ns))) {
                if (is_wanted(link))
                    return undone_by(site.host.links.remove(*ns, link.index));
            }
        }
    }
    return Undo::unknown(fmt::format(
        "{} has left the container's network namespace, as CAP_NET_ADMIN allows: if no other "
        "container has it, run: rdmactl gc --forget",
        step.name));
}
}  // namespace

std::string CreateChild::describe() const {
    return fmt::format("create {} {} ({}, mtu {}) on host link {}",
                       type_text(type),
                       name,
                       netns::to_string(mac),
                       mtu,
                       parent);
}

Result<> CreateChild::apply(Site& site) const {
    return site.host.links.create_child(site.host_ns, *site.container, *this);
}

Result<Undo> CreateChild::undo(Site& site) const {
    if (!site.container)
        return Undo::gone();
    const auto link = TRY(site.host.links.find(*site.container, index));
    if (link && is_made_by(*this, site, *link))
        return undone_by(site.host.links.remove(*site.container, index));
    // All children go with their parent, wherever they are, for example when a driver is loaded
    // again.
    if (!site.made || !site.net_admin || !TRY(site.host.links.find(site.host_ns, parent)))
        return Undo::gone();
    return remove_elsewhere(*this, site);
}

// ---- StrictArp
std::string StrictArp::describe() const {
    return "answer ARP for the interface's own addresses only";
}

Result<> StrictArp::apply(Site& site) const {
    return site.host.links.set_strict_arp(*site.container, link);
}

// ---- AddAddress
std::string AddAddress::describe() const {
    return "add address " + netns::to_string(address);
}

Result<> AddAddress::apply(Site& site) const {
    return site.host.links.add_address(*site.container, link, address);
}

Result<Undo> AddAddress::undo(Site& site) const {
    if (!site.container || with_link)
        return Undo::gone();
    return undone_by(site.host.links.remove_address(*site.container, link, address));
}

// ---- AddRoute
std::string AddRoute::describe() const {
    std::string text =
        "add route to " + (destination ? netns::to_string(*destination) : "everything");
    if (gateway)
        text += " by " + netns::ip_string(*gateway);
    return table == netns::kMainTable ? text : text + fmt::format(" in table {}", table);
}

Result<> AddRoute::apply(Site& site) const {
    return site.host.routes.add(*site.container, *this);
}

// ---- AddRule
namespace {
netns::SourceRule rule_of(const AddRule& step) {
    return {.source = step.source.address, .table = step.table, .priority = step.priority};
}
}  // namespace

std::string AddRule::describe() const {
    return fmt::format(
        "route what comes from {} by table {}", netns::ip_string(source.address), table);
}

Result<> AddRule::apply(Site& site) const {
    return site.host.routes.add_rule(*site.container, rule_of(*this));
}

Result<Undo> AddRule::undo(Site& site) const {
    if (!site.container)
        return Undo::gone();
    return undone_by(site.host.routes.remove_rule(*site.container, rule_of(*this)));
}

}  // namespace hook
