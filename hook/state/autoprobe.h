// SPDX-License-Identifier: Apache-2.0
// sriov_drivers_autoprobe of a PF, which an administrator or an operator may have set to 0, while
// rdmactl makes its VFs without drivers and then gives each one to its driver. What it was is on
// disk (autoprobe/PF) before it is changed. It comes back when the work is done or fails, and after
// a death of the program by its next run or by gc.
#pragma once

#include <functional>
#include <string>

#include "hook/state/store.h"
#include "netns/sriov.h"

namespace hook {

// The owner of the leases of adapters and of these files: of no journal. Its lock is held while
// they are written and removed.
inline constexpr char kRdmactl[] = "rdmactl";
inline constexpr char kAutoprobeFolder[] = "autoprobe";

// Works while the PF's is `on`. A PF that has none (another bus) is as it is.
Result<> with_autoprobe(const Store& store,
                        netns::Sriov& sriov,
                        const std::string& pf,
                        bool on,
                        const std::function<Result<>()>& work);

// Puts back what was written down of a PF; nothing written down is no error.
Result<> restore_autoprobe(const Store& store, netns::Sriov& sriov, const std::string& pf);

}  // namespace hook
