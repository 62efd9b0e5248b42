// SPDX-License-Identifier: Apache-2.0
// The e-switch's half of `rdmactl asap2`. It takes a device from any state to the wanted one,
// whatever part of that was done before. The earlier state is on disk before the first change. So
// enable may be interrupted anywhere and run again, and disable knows the way back.
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
    std::string handle;           // devlink's handle
    netns::PciFunction function;  // a PF, or the device of another bus
};

// Finds the device by devlink handle, PCI address, netdev or RDMA device. Refused: it has no
// e-switch.
Result<EswitchDevice> find_eswitch_device(const std::string& name, Site& site);

// The state of a device that enable changes, and disable restores.
struct EswitchState {
    uint32_t num_vfs = 0;
    netns::Eswitch eswitch;
    bool uplink_offload = false;  // hw-tc-offload
    bool uplink_up = false;
    bool operator==(const EswitchState&) const = default;
};

Result<EswitchState> read_state(Site& site, const EswitchDevice& device);
// Returns the uplink, or the bond that has it as a port: frames leave through that.
Result<netns::Link> find_uplink_or_bond(Site& site, const std::string& handle);

struct Setup {
    std::string handle;
    EswitchState before;
    std::string bridge = {};  // the bridge of the uplink; empty: none
    // By number: the PF's settings of VFs that were destroyed and made again for the mode.
    std::vector<netns::VfSettings> vfs = {};
};

Result<std::optional<Setup>> load_setup(const Store& store, const std::string& handle);
Result<> save_setup(const Store& store, const Setup& setup);
Result<> remove_setup(const Store& store, const std::string& handle);
// Returns the handles of all enabled devices.
Result<std::vector<std::string>> enabled_devices(const Store& store);

// Busy: a VF is in use and the mode is to change, or VFs are to go or to be made again. Busy also
// if the mode is to change while a container uses the PF's own RDMA device, which the driver then
// makes again. Changes nothing.
Result<> check_converge(HostView& view, const std::string& handle, const EswitchState& wanted);
// Changes only what differs. Returns check_converge()'s refusals before any change.
Result<> converge(HostView& view, Setup& setup, const EswitchState& wanted);

// Returns what converge() would change, in words.
Result<std::vector<std::string>> converge_intents(Site& site,
                                                  const std::string& handle,
                                                  const EswitchState& wanted);

// Returns the ids of the containers that have a representor of it. An attachment without holders is
// listed by its key.
Result<std::vector<std::string>> users_of(const Context& context, const std::string& handle);

}  // namespace hook::ctl
