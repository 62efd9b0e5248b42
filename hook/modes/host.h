// SPDX-License-Identifier: Apache-2.0
// The RDMA devices that are the host's own: those that mode host and CDI give as they are.
#pragma once

#include <vector>

#include "hook/state/context.h"
#include "hook/steps/site.h"
#include "netns/values/rdma_device.h"

namespace hook {

// Checks that the device is the host's own. Refused, with the reason: it is a VF of this machine,
// which modes vf and asap2 give, or it is a container's, or it goes with the containers for which
// rdma-hook made it.
Result<> check_hosts_own(const netns::RdmaDevice& device, const Context& context, Site& site);

// Returns all devices that are the host's own, in the order in which they were registered.
Result<std::vector<netns::RdmaDevice>> list_hosts_own(const Context& context, Site& site);

}  // namespace hook
