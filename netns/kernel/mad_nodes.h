// SPDX-License-Identifier: Apache-2.0
// The nodes of ib_umad in sysfs: umadN for each port that has management datagrams, and issmN for
// each InfiniBand port (drivers/infiniband/core/user_mad.c). Private to netns/kernel/.
#pragma once

#include <string>
#include <vector>

#include "netns/kernel/sysfs.h"
#include "netns/values/rdma_device.h"

namespace netns {

// Returns the nodes of a device's ports, by name; none if ib_umad is not loaded.
Result<std::vector<CharDevice>> mad_nodes_in(const SysTree& sys, const std::string& device);

}  // namespace netns
