// SPDX-License-Identifier: Apache-2.0
// Names of PCI functions ("0000:3b:00.2") and of devlink devices ("pci/0000:3b:00.2",
// "auxiliary/mlx5_core.sf.4"), as Linux prints them.
#pragma once

#include <string>
#include <string_view>

namespace netns {

// Whether the text is a PCI address in its canonical spelling: "0000:3b:00.2" (domain, bus, device,
// function; lower-case hex).
bool is_pci_address(std::string_view text);

// A function of another bus goes by bus and device, as devlink names it: "auxiliary/mlx5_core.sf.4"
// (a scalable function), "netdevsim/netdevsim11". Wherever an address is taken here, such a name
// is, too.
bool is_function_name(std::string_view text);
// The name of a function that devlink knows: "pci/0000:3b:00.2"; and back.
std::string devlink_handle(const std::string& function);
std::string function_of(const std::string& handle);
// What its netdev calls its device (IFLA_PARENT_DEV_NAME): without the bus.
std::string device_of(const std::string& function);

// Whether the text can be a handle: a bus, one '/', a device; no other '/' and no "..".
bool is_devlink_handle(std::string_view text);

}  // namespace netns
