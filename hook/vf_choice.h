// SPDX-License-Identifier: Apache-2.0
// The choice of one virtual function: from device specs to PFs and their VFs, to the first that is
// free. Read only; reads no more VFs than it must. Find and claim are one only under the lock of
// leases.
#pragma once

#include "hook/modes/mode.h"
#include "netns/link.h"

namespace hook {

// What was found, as it is on the host. A mapped function of a pool has no PF.
struct FreeVf {
    netns::PciFunction pf{};
    netns::Link pf_link{};
    netns::PciFunction function{};
    netns::Link link{};
    std::optional<MappedFunction> mapped{};
};

// Name of the lease of a VF.
std::string vf_lease(const std::string& address);

// Why nobody can be given this VF, leases aside ("up on the host"); empty if it can. What it is is
// put into `found.function`, and its netdev into `found.link` if it is free.
Result<std::string> why_not_free(const std::string& address, Site& site, FreeVf& found);

// What frees a function that is not free for this reason ("run: ip link set X down"); empty if no
// command does.
std::string freed_by(const std::string& why, const netns::PciFunction& function);

// BadInput, Refused or Unavailable for a device that can give none; Busy if all are used, with the
// reasons. A pool's mapped functions come before its PFs.
Result<FreeVf> choose_free_vf(const Attachment& attachment, const Survey& survey);

}  // namespace hook
