// SPDX-License-Identifier: Apache-2.0
// PFs and their VFs as the verbs of rdmactl treat them: found by any name, looked at, made.
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

Result<Site> host_site(netns::Host& host);

// Its netdev's name, or its address.
std::string name_of(const netns::PciFunction& pf);
// By PCI address, netdev or RDMA device.
Result<Pf> find_pf(const std::string& name, netns::Host& host);

// The ids of the containers that hold the journal that has the lease.
Result<Json> holders_of(const Context& context, const std::string& owner);
// The PF and each of its VFs: free, or why not, and who has it.
Result<Json> describe_pf(const Context& context, Site& site, const netns::PciFunction& pf);

// Does work of up to minutes on an adapter, by its devlink handle, while no container is given a
// function of it and no other rdmactl works on one. The lock of leases is held no longer than it
// takes to say so; attaches to other adapters go on. gc ends the lease of a run that was killed.
Result<> work_on(const Store& store,
                 netns::Sriov& sriov,
                 const std::string& handle,
                 const std::function<Result<>()>& work);

// Refused while one of the PF's VFs may be somebody's: destroying it would cut them off.
Result<> check_unused(const Context& context, Site& site, const netns::PciFunction& pf);
// The VFs of a PF that is down get no answer from it: their drivers make a MAC up.
Result<> check_up(const Pf& pf, const Site& site);

// The VFs that a PF has by now, by number.
Result<std::vector<netns::PciFunction>> vfs_of(Site& site, const std::string& pf);

// Each VF is given to its driver once, when it has its MAC: node GUIDs are made of that.
// Makes VFs without drivers, if it is not so many already, and sets what they lack: a MAC that
// stays the same, and what `kept` has, by number. One that has a driver by then loses it; what the
// host or a container uses stays as it is.
Result<> prepare_vfs(const Context& context,
                     Site& site,
                     const Pf& pf,
                     uint32_t count,
                     const std::vector<netns::VfSettings>& kept);
// Gives each VF without a driver to the one that the kernel chooses, and waits for netdevs and
// names. Sets what it lacks, too: an earlier run may have been interrupted.
Result<> bind_vfs(const Context& context,
                  Site& site,
                  const Pf& pf,
                  const std::vector<netns::VfSettings>& kept);
// Both; nothing is left of VFs that it made and could not finish.
Result<> make_vfs(const Context& context, Site& site, const Pf& pf, uint32_t count);

}  // namespace hook::ctl
