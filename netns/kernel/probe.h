// SPDX-License-Identifier: Apache-2.0
// A question that only a socket inside a namespace answers. Private to netns/kernel/.
#pragma once

#include "netns/namespace.h"

namespace netns {

// Returns whether UDP port 4791 (RoCE v2) is taken, by trying to take it.
Result<bool> is_roce_port_taken(const Netns& ns);

}  // namespace netns
