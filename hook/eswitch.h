// SPDX-License-Identifier: Apache-2.0
// The e-switch behind a VF: its uplink and the VF's representor, found by devlink's ports, never by
// a netdev's name. Read only.
#pragma once

#include "hook/vf_choice.h"
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
