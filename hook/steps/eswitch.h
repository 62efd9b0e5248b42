// SPDX-License-Identifier: Apache-2.0
// The e-switch behind a VF: its uplink and the VF's representor. They are found by their ports,
// never by a netdev's name. A devlink handle names each device. Read only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hook/steps/free_vf.h"
#include "netns/devlink.h"
#include "netns/link.h"
#include "netns/ovs.h"

namespace hook {

struct Representor {
    std::string eswitch;  // devlink handle
    std::string port;     // "pf0vf3"
    netns::Link link;     // its netdev on the host
    netns::Link uplink;   // the uplink of the same e-switch
};

// Returns the e-switch of the device. Refused: this host has none for it.
Result<netns::Eswitch> eswitch_of(Site& site, const std::string& handle);

// Returns the port through which frames leave the adapter. It is the port of the device's own
// netdev, which since Linux 6.3 is on another devlink device (mlx5), or else devlink's physical
// port. Nothing: neither has a netdev on the host.
Result<std::optional<netns::DevlinkPort>> uplink_port(Site& site, const std::string& handle);
// Returns the netdev of that port. Unavailable: there is none.
Result<netns::Link> find_uplink(Site& site, const std::string& handle);

// Returns the ports of the functions behind the e-switch, each with its representor; none in mode
// legacy. A port with netdev 0 has no representor on the host. A driver without such ports in
// devlink (bnxt) has representors that name them.
Result<std::vector<netns::DevlinkPort>> function_ports(Site& site, const std::string& handle);
// Returns the representor of a port ("pf0vf3") on the host; nothing if there is none.
Result<std::optional<netns::Link>> find_representor(Site& site,
                                                    const std::string& handle,
                                                    const std::string& port);

// Returns the representor of the VF. Refused: the device has no e-switch. Unavailable, with advice:
// the e-switch is in mode legacy, or the port or its netdev on the host is missing.
Result<Representor> representor_of(const FreeVf& vf, Site& site);

// Returns the port of VF `number` among the ports of its PF's e-switch. Only ports of the local
// host count. Where the e-switch has VFs of several PFs, the port is that of the function's own PF
// ("pf1vf3" for 0000:03:00.1).
const netns::DevlinkPort* find_vf_port(const std::vector<netns::DevlinkPort>& ports,
                                       const std::string& pf,
                                       uint32_t number);

// Returns whether other_config:hw-offload is on.
bool hw_offload(const netns::OvsSettings& settings);

}  // namespace hook
