// SPDX-License-Identifier: Apache-2.0
// Refusals of mode shared that do not depend on the annotations.
#pragma once

#include "hook/modes/mode.h"
#include "netns/link.h"
#include "netns/values/rdma_device.h"

namespace hook {

// Checks that containers can share a device of the host's hardware, whatever they ask for.
// Refusals: the device is not Ethernet, has no netdev on the host, is an iWARP device, or has no
// GIDs. `netdev` is that of its port 1.
Result<> check_hca(const netns::RdmaDevice& device,
                   const std::optional<netns::Link>& netdev,
                   Site& site);
// Checks that the device's netdev can have a macvlan. Refused: its adapter drops or spoils frames
// of an interface that has a MAC of its own.
Result<> check_macvlan_on(const netns::RdmaDevice& device, const netns::Link& netdev, Site& site);

}  // namespace hook
