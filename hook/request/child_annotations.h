// SPDX-License-Identifier: Apache-2.0
// The annotations of mode shared that say what the container's interface is of the HCA's netdev:
// their grammar, and what they mean beside each other. The table of all keys is in annotations.cc.
#pragma once

#include <string_view>

#include "hook/request/choice.h"

namespace hook {

Result<> set_child(Wish& wish, std::string_view value);
Result<> set_macvlan_mode(Wish& wish, std::string_view value);

// Attachment::child, for modes that make one as they are told.
Result<> choose_child(const Choice& choice, Attachment& attachment);

}  // namespace hook
