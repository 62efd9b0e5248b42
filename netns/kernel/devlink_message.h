// SPDX-License-Identifier: Apache-2.0
// The messages of devlink (include/uapi/linux/devlink.h; net/devlink/dev.c and port.c, kernels 6.1
// to 7.3). Pure: no socket. Private to netns/kernel/.
#pragma once

#include <optional>
#include <string>

#include "netns/devlink.h"
#include "netns/kernel/netlink/genl.h"

namespace netns::devlink {

inline constexpr char kFamily[] = "devlink";
inline constexpr uint8_t kVersion = 1;

// ESWITCH_GET and ESWITCH_SET of one device.
netlink::Request eswitch_request(const netlink::GenlFamily& family, const std::string& device);
netlink::Request mode_request(const netlink::GenlFamily& family,
                              const std::string& device,
                              EswitchMode mode);
netlink::Request inline_mode_request(const netlink::GenlFamily& family,
                                     const std::string& device,
                                     InlineMode mode);
// PORT_GET: for a dump of the device's ports.
netlink::Request ports_request(const netlink::GenlFamily& family, const std::string& device);

// Returns nothing if the answer has no mode: the device has no e-switch. Internal: it is malformed.
// Unsupported: an unknown mode.
Result<std::optional<Eswitch>> parse_eswitch(const netlink::Reply& reply);
// Returns whether this refusal of ESWITCH_GET means that the host has no e-switch of the device.
bool lacks_eswitch(const base::Error& refusal);
// Gives a refused ESWITCH_SET the code and the advice that its errno stands for.
base::Error explain_change(base::Error refusal);
// Returns nothing if the message is malformed or about another device.
std::optional<DevlinkPort> parse_port(const netlink::Reply& reply, const std::string& device);

}  // namespace netns::devlink
