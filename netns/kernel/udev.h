// SPDX-License-Identifier: Apache-2.0
// How far udev is with a netdev, by its database: a file for each device, by whose presence libudev
// knows that a device is initialised. Private to netns/.
#pragma once

#include <cstdint>
#include <string>

namespace netns {

// True while udev runs and has not come to the end of its rules for the netdev, which may have
// another name then. `run` is /run/udev, or a test's.
bool udev_owes_name(const std::string& run, uint32_t ifindex);

}  // namespace netns
