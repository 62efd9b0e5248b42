// SPDX-License-Identifier: Apache-2.0
// Open vSwitch's half of `rdmactl asap2`: offload on, a bridge, and the uplink (or its bond) on it.
// Marks in the database itself keep the earlier state; like the settings, it outlives boots.
// rdma-hook uses what others made there, and never removes it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hook/rdmactl/asap2/eswitch_setup.h"
#include "netns/link.h"
#include "netns/ovs.h"

namespace hook::ctl {

// The package and unit: openvswitch-switch on Debian, openvswitch on Red Hat and SUSE.
inline constexpr char kInstallOvs[] =
    "apt-get install openvswitch-switch && systemctl enable --now openvswitch-switch; or "
    "dnf install openvswitch && systemctl enable --now openvswitch";

// `tc_policy`: "" leaves it; otherwise "none", "skip_sw" or "skip_hw".
Result<> enable_offload(Site& site, const std::string& tc_policy);
// Returns what enable_offload() would change, in words.
Result<std::vector<std::string>> offload_intents(Site& site, const std::string& tc_policy);
// Restores the earlier setting, unless another e-switch needs the offload.
Result<> disable_offload(Site& site);
// Returns what disable_offload() would change, in words.
Result<std::vector<std::string>> restore_intents(Site& site);

// Returns an address of an uplink (or its bond) other than link-local. Tunnels begin there if their
// e-switch is under a bridge without this uplink. On a bridge the address would no longer work.
Result<std::optional<netns::Address>> own_address(Site& site, const netns::Link& uplink);

// Refused: the uplink is on another bridge, or has addresses, which would no longer work.
Result<> check_uplink(Site& site, const std::string& handle, const std::string& bridge);
Result<> add_uplink(Site& site, const std::string& handle, const std::string& bridge);
// Returns what add_uplink() would change, in words.
Result<std::vector<std::string>> uplink_intents(Site& site,
                                                const std::string& handle,
                                                const std::string& bridge);
// Removes the uplink's port and the bridge if rdma-hook made them. The bridge goes only when it is
// empty.
Result<> remove_uplink(Site& site, const Setup& setup);

// True if ovs-vswitchd still runs with earlier settings: it reads some of them only at its start.
Result<bool> needs_restart(Site& site, const netns::OvsSettings& settings);

}  // namespace hook::ctl
