// SPDX-License-Identifier: Apache-2.0
// How far udev is with a netdev, by its database. It has a file for each device, by whose presence
// libudev knows that a device is initialised. Private to netns/kernel/.
#pragma once

#include <cstdint>
#include <string>

namespace netns {

// Returns true while udev runs and has not finished its rules for the netdev, which may then get
// another name. `run` is /run/udev, or a test's folder.
bool udev_owes_name(const std::string& run, uint32_t ifindex);

}  // namespace netns
