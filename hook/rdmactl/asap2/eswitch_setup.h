// SPDX-License-Identifier: Apache-2.0
// The e-switch's half of `rdmactl asap2`: from the state that a device is in to the one that is
// wanted, whatever was done of it before. What was there is on disk before the first change, so
// that enable may be interrupted anywhere and run again, and disable knows the way back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hook/rdmactl/command.h"
#include "netns/devlink.h"
#include "netns/link.h"

namespace hook::ctl {

// A device with an e-switch.
struct EswitchDevice {
    std::string handle;           // devlink's
    netns::PciFunction function;  // a PF, or the device of another bus
};

// By devlink handle, PCI address, netdev or RDMA device; Refused without e-switch.
Result<EswitchDevice> find_eswitch_device(const std::string& name, Site& site);

// What enable changes of a device, and disable brings back.
struct EswitchState {
    uint32_t num_vfs = 0;
    netns::Eswitch eswitch;
    bool uplink_offload = false;  // hw-tc-offload
    bool uplink_up = false;
    bool operator==(const EswitchState&) const = default;
};

Result<EswitchState> read_state(Site& site, const EswitchDevice& device);
// What the uplink's frames go through: itself, or the bond that it is a port of.
Result<netns::Link> find_trunk(Site& site, const std::string& handle);

struct Setup {
    std::string handle;
    EswitchState before;
    std::string bridge = {};  // that the uplink was put on; empty: none
    // By number, what the PF kept for VFs that had to be destroyed and made again for the mode.
    std::vector<netns::VfSettings> vfs = {};
};

Result<std::optional<Setup>> load_setup(const Store& store, const std::string& handle);
Result<> save_setup(const Store& store, const Setup& setup);
Result<> remove_setup(const Store& store, const std::string& handle);
// The handles of all that are enabled.
Result<std::vector<std::string>> enabled_devices(const Store& store);

// Busy if a VF is in use and the mode is to change, or VFs are to go or to be made again; and if
// the mode is to change and a container uses the PF's own RDMA device, which the driver then makes
// again. Changes nothing.
Result<> check_converge(const Context& context,
                        Site& site,
                        const std::string& handle,
                        const EswitchState& wanted);
// Changes what differs, and nothing else; refused as check_converge says before anything is.
Result<> converge(const Context& context, Site& site, Setup& setup, const EswitchState& wanted);

// The ids of the containers that have a representor of it; of what holds none any more the key.
Result<std::vector<std::string>> users_of(const Context& context, const std::string& handle);

}  // namespace hook::ctl
