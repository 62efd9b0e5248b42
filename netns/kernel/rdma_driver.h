// SPDX-License-Identifier: Apache-2.0
// The driver of an RDMA device, as far as sysfs tells it. Private to netns/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "netns/kernel/sysfs.h"

namespace netns {

// "rxe" or "siw", as drivers over a netdev are called; empty: it is hardware, which hangs on a
// device of its bus; nothing: it is not there.
Result<std::optional<std::string>> software_type_in(const SysTree& tree, const std::string& device);

// The references to the module of a type: each open verbs node of its devices has one, where the
// driver counts them. 0: the module is not loaded, or built in.
Result<uint64_t> module_references(const SysTree& tree, const std::string& type);

}  // namespace netns
