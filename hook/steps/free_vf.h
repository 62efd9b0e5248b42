// SPDX-License-Identifier: Apache-2.0
// Checks whether a virtual function can be given to a container, why it cannot, and what frees it.
// Leases are names of files (hook/state/store.h). Read only.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "hook/request/config.h"
#include "hook/steps/site.h"
#include "netns/link.h"
#include "netns/sriov.h"

namespace hook {

// The driver of functions that virtual machines have.
inline constexpr char kDriverForVms[] = "vfio-pci";
// A reason of why_not_free(). Nobody uses such a function.
inline constexpr char kDriverless[] = "without a driver";

// A function and its PF as they are on the host. A mapped function of a pool has no PF.
struct FreeVf {
    netns::PciFunction pf{};
    netns::Link pf_link{};
    netns::PciFunction function{};
    netns::Link link{};
    std::optional<MappedFunction> mapped{};
};

// Returns Unavailable: the RDMA device has no netdev on the host (EFA), and only mode host gives a
// device without one.
base::Error without_netdev(const std::string& rdma);

// Checks that the PF has a netdev on the host, by which its VFs' settings are read, written and put
// back. Unavailable: it has none.
Result<> check_netdev(const netns::PciFunction& pf, Site& site);
// Returns whether a PF answers its VFs: drivers of an Ethernet PF that is down do not. An
// InfiniBand port is up without its netdev (IPoIB).
bool serves_vfs(const std::optional<netns::Link>& pf);
// Checks that the PF answers its VFs. Unavailable: it does not.
Result<> check_serves_vfs(const std::string& pf, const std::optional<netns::Link>& link);

// Returns the name of the lease of a VF.
std::string vf_lease(const std::string& address);
// Returns the name of the lease of a whole adapter, by its devlink handle. While this lease exists,
// no function of the adapter is given. rdmactl holds it while it makes or destroys VFs.
std::string adapter_lease(const std::string& handle);

// Returns why no container can be given this VF, leases aside ("up on the host"); empty if one can.
// Stores the function in `found.function` and, if it is free, its netdev in `found.link`.
Result<std::string> why_not_free(const std::string& address, Site& site, FreeVf& found);

// Returns the same, but a lease of the function or of its adapter is a reason, too.
Result<std::string> why_not_given(const std::string& address,
                                  const std::string& adapter,
                                  const std::set<std::string>& leases,
                                  Site& site,
                                  FreeVf& found);

// Returns whether the function has no driver, or has no driver that makes a netdev: the end of a
// use does not free it.
bool is_unusable(const std::string& why);

// Returns the advice that frees a function which is not free for this reason ("run: ip link set X
// down"); empty if no command does.
std::string freed_by(const std::string& why, const netns::PciFunction& function);

}  // namespace hook
