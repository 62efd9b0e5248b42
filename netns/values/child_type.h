// SPDX-License-Identifier: Apache-2.0
// Kinds of interface on top of another one, each with addresses of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace netns {

// A macvlan and a VLAN have a MAC of their own, an ipvlan has its parent's.
enum class ChildKind { Macvlan, Ipvlan, Vlan };
// The way of a macvlan's frames for a sibling: they reach it; they are dropped; they go out to the
// switch, which may send them back.
enum class MacvlanMode { Bridge, Private, Vepa };

struct ChildType {
    ChildKind kind = ChildKind::Macvlan;
    MacvlanMode macvlan_mode = MacvlanMode::Bridge;  // for a macvlan
    uint16_t vlan = 0;                               // for a VLAN (802.1Q): 1 to 4094
    bool operator==(const ChildType&) const = default;
};

// Names as the kernel spells them: "macvlan", "ipvlan", "vlan" (IFLA_INFO_KIND); "bridge",
// "private", "vepa".
std::string_view to_string(ChildKind kind);
std::string_view to_string(MacvlanMode mode);
std::optional<ChildKind> parse_child_kind(std::string_view text);
std::optional<MacvlanMode> parse_macvlan_mode(std::string_view text);

}  // namespace netns
