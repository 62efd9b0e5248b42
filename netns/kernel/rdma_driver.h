// SPDX-License-Identifier: Apache-2.0
// The driver of an RDMA device, as far as sysfs shows it. Private to netns/kernel/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "netns/kernel/sysfs.h"

namespace netns {

// Returns "rxe" or "siw" for a driver over a netdev; empty for hardware, which has a device on its
// bus. Nothing: there is no such device.
Result<std::optional<std::string>> software_type_in(const SysTree& tree, const std::string& device);

// Returns the number of references to the module of a type. Each open verbs node of its devices has
// one, if the driver counts them. 0: the module is not loaded, or built in.
Result<uint64_t> module_references(const SysTree& tree, const std::string& type);

}  // namespace netns
