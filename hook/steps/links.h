// SPDX-License-Identifier: Apache-2.0
// Steps that give the container an interface: the link, its addresses, routes and rules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hook/steps/step.h"
#include "netns/link.h"
#include "netns/route.h"

namespace hook {

template <>
inline constexpr auto kFieldsOf<netns::ChildType> =
    std::tuple{Named{"type", &netns::ChildType::kind},
               Named{"macvlan_mode", &netns::ChildType::macvlan_mode},
               Named{"vlan", &netns::ChildType::vlan}};

// Makes a child of a host netdev (macvlan, ipvlan or VLAN) inside the container's namespace, up,
// under an index that rdma-hook chose. Undo finds it by this index in the pinned namespace,
// whatever its name is then.
struct CreateChild : netns::ChildSpec {
    static constexpr std::string_view kKind = "create_child";
    static constexpr std::tuple kFields{Named{"parent", &CreateChild::parent},
                                        Named{"index", &CreateChild::index},
                                        Named{"name", &CreateChild::name},
                                        Named{"mac", &CreateChild::mac},
                                        Named{"mtu", &CreateChild::mtu},
                                        Named{kHere, &CreateChild::type}};
    [[nodiscard]] std::string describe() const;
    Result<> apply(Site& site) const;
    Result<Undo> undo(Site& site) const;
    bool operator==(const CreateChild&) const = default;
};

// Makes a link answer ARP for its own addresses only, so that a container may have several links on
// one network. Another step of the plan makes or moves the link. The setting goes with the link:
// there is nothing to undo.
struct StrictArp {
    uint32_t link = 0;  // index, in the container's namespace

    static constexpr std::string_view kKind = "strict_arp";
    static constexpr std::tuple kFields{Named{"link", &StrictArp::link}};
    [[nodiscard]] std::string describe() const;
    Result<> apply(Site& site) const;

    Result<Undo> undo(Site& /*site*/) const { return Undo::gone(); }

    bool operator==(const StrictArp&) const = default;
};

// Gives a link in the container's namespace an address.
struct AddAddress {
    uint32_t link = 0;  // index, in the container's namespace
    netns::Address address;
    bool with_link = false;  // the plan makes the link: its removal takes the address along

    static constexpr std::string_view kKind = "add_address";
    static constexpr std::tuple kFields{Named{"link", &AddAddress::link},
                                        Named{"address", &AddAddress::address},
                                        Named{"with_link", &AddAddress::with_link}};
    [[nodiscard]] std::string describe() const;
    Result<> apply(Site& site) const;
    Result<Undo> undo(Site& site) const;
    bool operator==(const AddAddress&) const = default;
};

// Gives a route to a link that the plan makes or moves. The route goes with the link: there is
// nothing to undo.
struct AddRoute : netns::Route {
    static constexpr std::string_view kKind = "add_route";
    static constexpr std::tuple kFields{Named{"v6", &AddRoute::family},
                                        Named{"link", &AddRoute::link},
                                        Named{"table", &AddRoute::table},
                                        Named{"destination", &AddRoute::destination},
                                        Named{"gateway", &AddRoute::gateway},
                                        Named{"source", &AddRoute::source}};
    [[nodiscard]] std::string describe() const;
    Result<> apply(Site& site) const;

    Result<Undo> undo(Site& /*site*/) const { return Undo::gone(); }

    bool operator==(const AddRoute&) const = default;
};

// Makes packets from an address look first into a separate table of routes. The table's number is
// that of the plan's link, so the rule can only be this plan's.
struct AddRule {
    HostAddress source;
    uint32_t table = 0;
    uint32_t priority = 0;  // see netns::SourceRule

    static constexpr std::string_view kKind = "add_rule";
    static constexpr std::tuple kFields{Named{"source", &AddRule::source},
                                        Named{"table", &AddRule::table},
                                        Named{"priority", &AddRule::priority}};
    [[nodiscard]] std::string describe() const;
    Result<> apply(Site& site) const;
    Result<Undo> undo(Site& site) const;
    bool operator==(const AddRule&) const = default;
};

}  // namespace hook
