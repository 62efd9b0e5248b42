// SPDX-License-Identifier: Apache-2.0
// The GID table of a device's port 1, as sysfs tells it: ports/1/gids/N, with the entry's type and
// netdev in gid_attrs. Linux does not filter it by namespace: everybody sees every entry. MLNX_OFED
// shows an entry to a thread in the namespace of its netdev alone, whichever sysfs it reads.
// Private to netns/.
#pragma once

#include <optional>
#include <string>

#include "netns/kernel/sysfs.h"
#include "netns/rdma.h"

namespace netns {

// The first such entry of type RoCE v2; nothing if the table has none. Unavailable if
// there is no such device; Unsupported if its table has no slots.
Result<std::optional<GidEntry>> find_gid_in(const SysTree& sys,
                                            const std::string& device,
                                            const WantedGid& wanted);

// Counts free slots from the table's end, where they are: the kernel fills the first free one.
// Unavailable as above; Unsupported: the table has no slots.
Result<GidSpace> gid_space_in(const SysTree& sys, const std::string& device, uint32_t enough);

}  // namespace netns
