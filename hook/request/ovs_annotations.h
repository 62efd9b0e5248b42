// SPDX-License-Identifier: Apache-2.0
// The annotations of mode asap2 that say what the container's port of an Open vSwitch bridge is
// like: their grammar, and what they mean beside each other and the pool. The table of all keys is
// in annotations.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hook/request/choice.h"

namespace hook {

Result<> set_bridge(Wish& wish, std::string_view value);
Result<> set_trunk(Wish& wish, std::string_view value);
Result<> set_offload(Wish& wish, std::string_view value);

std::string trunk_text(const std::vector<uint16_t>& vlans);  // "5,10"

// Attachment::bridge, trunk and offload_required, for modes that have a port on a bridge. A VLAN of
// the attachment is the port's tag.
Result<> choose_port(const Choice& choice, Attachment& attachment);

}  // namespace hook
