// SPDX-License-Identifier: Apache-2.0
// Whether a virtual function can be given to a container, why it cannot, and what frees it. Leases
// are names of files (hook/state/store.h). Read only.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "hook/request/config.h"
#include "hook/steps/site.h"
#include "netns/link.h"
#include "netns/sriov.h"

namespace hook {

// What was found, as it is on the host. A mapped function of a pool has no PF.
struct FreeVf {
    netns::PciFunction pf{};
    netns::Link pf_link{};
    netns::PciFunction function{};
    netns::Link link{};
    std::optional<MappedFunction> mapped{};
};

// Unavailable: the RDMA device has no netdev on the host (EFA), and no mode gives one without.
base::Error without_netdev(const std::string& rdma);

// Unavailable for a PF without a netdev on the host, by which its VFs' settings are read, written
// and put back.
Result<> check_netdev(const netns::PciFunction& pf, Site& site);
// Whether a PF answers its VFs: drivers of an Ethernet PF that is down do not. A port of InfiniBand
// is up without its netdev (IPoIB).
bool serves_vfs(const std::optional<netns::Link>& pf);
// Unavailable, unless it does.
Result<> check_serves_vfs(const std::string& pf, const std::optional<netns::Link>& link);

// Name of the lease of a VF.
std::string vf_lease(const std::string& address);
// Name of the lease of a whole adapter, by its devlink handle: while there is one, no function of
// it is given. rdmactl has it as it makes or destroys VFs.
std::string adapter_lease(std::string handle);

// Why nobody can be given this VF, leases aside ("up on the host"); empty if it can. What it is is
// put into `found.function`, and its netdev into `found.link` if it is free.
Result<std::string> why_not_free(const std::string& address, Site& site, FreeVf& found);

// The same, and whether a lease of the function or of its adapter keeps it from being given.
Result<std::string> why_not_given(const std::string& address,
                                  const std::string& adapter,
                                  const std::set<std::string>& leases,
                                  Site& site,
                                  FreeVf& found);

// Whether it has no driver, or one, that makes a netdev: no end of a use frees it.
bool is_unusable(const std::string& why);

// What frees a function that is not free for this reason ("run: ip link set X down"); empty if no
// command does.
std::string freed_by(const std::string& why, const netns::PciFunction& function);

}  // namespace hook
