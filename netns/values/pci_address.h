// SPDX-License-Identifier: Apache-2.0
// Names of PCI functions ("0000:3b:00.2") and of devlink devices ("pci/0000:3b:00.2",
// "auxiliary/mlx5_core.sf.4"), as Linux prints them.
#pragma once

#include <string>
#include <string_view>

namespace netns {

// Returns whether the text is a PCI address in its canonical spelling: "0000:3b:00.2" (domain, bus,
// device, function; lower-case hex).
bool is_pci_address(std::string_view text);
// Returns whether a PCI address comes before another one: by domain, bus, device and function.
bool is_before(std::string_view address, std::string_view other);

// Returns whether the text names a function: a PCI address, or bus and device of another bus, as
// devlink prints them. Examples: "auxiliary/mlx5_core.sf.4" (a scalable function),
// "netdevsim/netdevsim11". Functions of this project that take an address take such a name, too.
bool is_function_name(std::string_view text);
// Converts a function's name to its devlink handle ("pci/0000:3b:00.2"), and back.
std::string devlink_handle(const std::string& function);
std::string function_of(const std::string& handle);
// Returns the device's name as its netdev has it (IFLA_PARENT_DEV_NAME): without the bus.
std::string device_of(const std::string& function);

// Returns whether the text can be a handle: a bus, one '/', a device; no other '/' and no "..".
bool is_devlink_handle(std::string_view text);

}  // namespace netns
