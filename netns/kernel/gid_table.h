// SPDX-License-Identifier: Apache-2.0
// The GID table of a device's port 1, as sysfs shows it: ports/1/gids/N, with the entry's type and
// netdev in gid_attrs. Linux does not filter it by namespace: every reader sees every entry.
// MLNX_OFED shows an entry only to a thread in the namespace of its netdev, whichever sysfs it
// reads. Private to netns/kernel/.
#pragma once

#include <optional>
#include <string>

#include "netns/kernel/sysfs.h"
#include "netns/rdma.h"

namespace netns {

// Returns the first such entry of type RoCE v2, or the last one if a netdev is wanted; nothing if
// the table has none. Unavailable: there is no such device. Unsupported: its table has no slots.
Result<std::optional<GidEntry>> find_gid_in(const SysTree& sys,
                                            const std::string& device,
                                            const WantedGid& wanted);

// Counts free slots from the table's end, where they are: the kernel fills the first free one.
// Counts nothing if `enough` is 0. Errors as above.
Result<GidSpace> gid_space_in(const SysTree& sys, const std::string& device, uint32_t enough);

}  // namespace netns
