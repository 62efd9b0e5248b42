// SPDX-License-Identifier: Apache-2.0
// A table of modes for the tests of requests: it takes the place of hook/modes/modes.cc.
#include <array>

#include "hook/modes/mode.h"

namespace hook {

namespace {
constexpr std::array<std::string_view, 6> kSoftroceKeys = {
    "parent", "placement", "ip", "mac", "mtu", "ifname"};
constexpr std::array<std::string_view, 5> kSharedKeys = {"parent", "ip", "mac", "mtu", "ifname"};
constexpr std::array<std::string_view, 2> kVfKeys = {"mtu", "ifname"};

const Mode kSoftroce{.name = "softroce", .keys = kSoftroceKeys, .scope = nullptr, .plan = nullptr};
const Mode kShared{.name = "shared", .keys = kSharedKeys, .scope = nullptr, .plan = nullptr};
const Mode kVf{.name = "vf", .keys = kVfKeys, .scope = nullptr, .plan = nullptr};
constexpr std::array<const Mode*, 3> kModes = {&kSoftroce, &kShared, &kVf};
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
