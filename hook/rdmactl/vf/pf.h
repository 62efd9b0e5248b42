// SPDX-License-Identifier: Apache-2.0
// Finds PFs by any name, describes them and their VFs, and makes VFs, for the verbs of rdmactl.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hook/rdmactl/command.h"

namespace hook::ctl {

// A PF and its netdev.
struct Pf {
    netns::PciFunction function;
    netns::PciNetdev netdev;
};

// Returns its netdev's name, or its address.
std::string name_of(const netns::PciFunction& pf);
// Finds a PF by PCI address, netdev or RDMA device.
Result<Pf> find_pf(const std::string& name, netns::Host& host);

// Returns the ids of the containers that hold the journal that has the lease.
Result<Json> holders_of(const Context& context, const std::string& owner);
// Describes the PF and each of its VFs: free, or why it is not, and the container that has it.
Result<Json> describe_pf(HostView& view, const netns::PciFunction& pf);

// Does work of up to minutes on an adapter, by its devlink handle. Meanwhile no container gets a
// function of the adapter, and no other rdmactl works on one. Holds the lock of leases only while
// it records that; attaches to other adapters go on. gc ends the lease of a run that was killed.
Result<> work_on(HostView& view, const std::string& handle, const std::function<Result<>()>& work);

// Refused: a VF of the PF may be in use, and destroying it would cut its user off.
Result<> check_unused(HostView& view, const netns::PciFunction& pf);
// Checks that the PF is up. The VFs of a PF that is down get no answer from it: their drivers make
// a MAC up.
Result<> check_up(const Pf& pf, const Site& site);

// Returns the VFs that a PF has by now, by number.
Result<std::vector<netns::PciFunction>> vfs_of(Site& site, const std::string& pf);

// Makes VFs without drivers, unless there are so many already, and sets what they lack. That is a
// MAC that stays the same, and the settings in `kept`, by number. Each VF gets its driver once,
// when it has its MAC: node GUIDs are made of that. A VF that has a driver by then loses it. A VF
// that the host or a container uses stays as it is.
Result<> prepare_vfs(HostView& view,
                     const Pf& pf,
                     uint32_t count,
                     const std::vector<netns::VfSettings>& kept);
// Gives each VF without a driver to the one that the kernel chooses, and waits for netdevs and
// names. Sets what it lacks, too: an earlier run may have been interrupted.
Result<> bind_vfs(HostView& view, const Pf& pf, const std::vector<netns::VfSettings>& kept);
// Returns what would be done to make or destroy VFs, in words: nothing if all is as wanted.
Result<std::vector<std::string>> intents_of(HostView& view, const Pf& pf, uint32_t count);
// Prepares and binds VFs. Leaves no VF that it made and could not finish.
Result<> make_vfs(HostView& view, const Pf& pf, uint32_t count);

}  // namespace hook::ctl
