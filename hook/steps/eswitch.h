// SPDX-License-Identifier: Apache-2.0
// The e-switch behind a VF: its uplink and the VF's representor, found by their ports, never by a
// netdev's name. Devices go by their devlink handle. Read only.
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
    netns::Link link;     // on the host
    netns::Link uplink;   // of the same e-switch
};

// Refused if this host has no e-switch for the device.
Result<netns::Eswitch> eswitch_of(Site& site, const std::string& handle);

// The port through which frames leave the adapter: the device's own netdev, which has the port on
// another devlink device since Linux 6.3 (mlx5), or else devlink's physical port. Nothing if
// neither is on the host.
Result<std::optional<netns::DevlinkPort>> uplink_port(Site& site, const std::string& handle);
// Its netdev; Unavailable without.
Result<netns::Link> find_uplink(Site& site, const std::string& handle);

// The ports of the functions behind the e-switch, each with its representor; netdev 0: it is not on
// the host. None in mode legacy. A driver without such ports in devlink (bnxt) has representors
// that name them.
Result<std::vector<netns::DevlinkPort>> function_ports(Site& site, const std::string& handle);
// The representor of a port ("pf0vf3"), on the host; nothing if there is none.
Result<std::optional<netns::Link>> find_representor(Site& site,
                                                    const std::string& handle,
                                                    const std::string& port);

// Unavailable, with what to do, for a device without e-switch, in mode legacy, or without the port.
Result<Representor> representor_of(const FreeVf& vf, Site& site);

// The port of VF `number` among the ports of its PF's e-switch: the local host's, and where the
// e-switch has VFs of several PFs, that of the function's own ("pf1vf3" of 0000:03:00.1).
const netns::DevlinkPort* find_vf_port(const std::vector<netns::DevlinkPort>& ports,
                                       const std::string& pf,
                                       uint32_t number);

// other_config:hw-offload.
bool hw_offload(const netns::OvsSettings& settings);

}  // namespace hook
