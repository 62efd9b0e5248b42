// SPDX-License-Identifier: Apache-2.0
// Small questions that only a socket inside a namespace answers. Private to netns/.
#pragma once

#include <cstdint>
#include <string>

#include "netns/namespace.h"

namespace netns {

// Whether somebody has UDP port 4791 (RoCE v2), told by trying to take it.
Result<bool> is_roce_port_taken(const Netns& ns);

// The name of a link. Unavailable (ENODEV) if there is none of this index.
Result<std::string> link_name(const Netns& ns, uint32_t index);

}  // namespace netns
