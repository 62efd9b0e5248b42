// SPDX-License-Identifier: Apache-2.0
// A table of modes for the tests of requests: it takes the place of hook/modes/modes.cc.
#include <array>

#include "hook/modes/mode.h"

namespace hook {

namespace {
constexpr std::array<std::string_view, 8> kSoftroceKeys = {
    "parent", "placement", "ip", "gateway", "routes", "mac", "mtu", "ifname"};
constexpr std::array<std::string_view, 5> kSharedKeys = {"parent", "ip", "mac", "mtu", "ifname"};
constexpr std::array<std::string_view, 2> kVfKeys = {"mtu", "ifname"};
constexpr std::array<std::string_view, 16> kNicKeys = {"device",
                                                       "provider",
                                                       "ip",
                                                       "mac",
                                                       "mtu",
                                                       "ifname",
                                                       "vlan",
                                                       "vlan_qos",
                                                       "vlan_proto",
                                                       "spoofchk",
                                                       "trust",
                                                       "link_state",
                                                       "min_tx_rate",
                                                       "max_tx_rate",
                                                       "node_guid",
                                                       "port_guid"};

constexpr std::array<std::string_view, 8> kHcaKeys = {
    "parent", "child", "macvlan_mode", "vlan", "ip", "mac", "mtu", "ifname"};

const Mode kSoftroce{.name = "softroce",
                     .keys = kSoftroceKeys,
                     .scope = nullptr,
                     .plan = nullptr,
                     .on_container_link = true};
const Mode kShared{.name = "shared", .keys = kSharedKeys, .scope = nullptr, .plan = nullptr};
const Mode kVf{.name = "vf", .keys = kVfKeys, .scope = nullptr, .plan = nullptr};
// What the real mode vf takes; kVf above is one that takes little.
const Mode kNic{.name = "nic", .keys = kNicKeys, .scope = nullptr, .plan = nullptr};
// What the real mode shared takes.
const Mode kHca{
    .name = "hca", .keys = kHcaKeys, .scope = nullptr, .plan = nullptr, .needs_address = true};
constexpr std::array<const Mode*, 5> kModes = {&kSoftroce, &kShared, &kVf, &kNic, &kHca};
}  // namespace

std::span<const Mode* const> all_modes() {
    return kModes;
}

const Mode* find_mode(std::string_view name) {
    for (const Mode* mode : kModes) {
        if (mode->name == name)
            return mode;
    }
    return nullptr;
}

}  // namespace hook
