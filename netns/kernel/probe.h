// SPDX-License-Identifier: Apache-2.0
// A question that only a socket inside a namespace answers. Private to netns/.
#pragma once

#include "netns/namespace.h"

namespace netns {

// Whether somebody has UDP port 4791 (RoCE v2), told by trying to take it.
Result<bool> is_roce_port_taken(const Netns& ns);

}  // namespace netns
