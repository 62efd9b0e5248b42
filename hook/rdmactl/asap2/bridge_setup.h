// SPDX-License-Identifier: Apache-2.0
// Open vSwitch's half of `rdmactl asap2`: offload on, a bridge, and the uplink (or its bond) on it.
// What was there before is in marks of the database itself, which outlives boots as the settings
// do. What others made is used and never taken away.
#pragma once

#include <optional>
#include <string>

#include "hook/rdmactl/asap2/eswitch_setup.h"
#include "netns/link.h"
#include "netns/ovs.h"

namespace hook::ctl {

// Debian's package and unit are openvswitch-switch, Red Hat's and SUSE's openvswitch.
inline constexpr char kInstallOvs[] =
    "apt-get install openvswitch-switch && systemctl enable --now openvswitch-switch; or "
    "dnf install openvswitch && systemctl enable --now openvswitch";

// tc_policy: "", leave it; else "none", "skip_sw" or "skip_hw".
Result<> enable_offload(Site& site, const std::string& tc_policy);
// Back to what it was. Not while another e-switch needs it.
Result<> disable_offload(Site& site);

// An address of an uplink's (or its bond's) own, other than link-local: where tunnels begin whose
// e-switch is under a bridge without this uplink. On a bridge it would not work any more.
Result<std::optional<netns::Address>> own_address(Site& site, const netns::Link& uplink);

// Refused if the uplink is on another bridge, or has addresses, which would not work any more.
Result<> check_uplink(Site& site, const std::string& handle, const std::string& bridge);
Result<> add_uplink(Site& site, const std::string& handle, const std::string& bridge);
// The uplink's port and the bridge, as far as they are ours; the bridge only when it is empty.
Result<> remove_uplink(Site& site, const Setup& setup);

// Whether ovs-vswitchd still runs with what it was started with: some settings it reads once.
Result<bool> needs_restart(Site& site, const netns::OvsSettings& settings);

}  // namespace hook::ctl
