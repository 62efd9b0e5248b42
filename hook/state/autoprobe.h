// SPDX-License-Identifier: Apache-2.0
// sriov_drivers_autoprobe of a PF. An administrator or an operator may have set it to 0. rdmactl
// changes it while it makes the PF's VFs without drivers and then gives each one to its driver. The
// earlier value is on disk (autoprobe/PF) before the change. It is restored when the work is done
// or fails, and after a death of the program by its next run or by gc.
#pragma once

#include <functional>
#include <string>

#include "hook/state/store.h"
#include "netns/sriov.h"

namespace hook {

// The owner of the leases of adapters and of these files. No journal has this name. Its lock is
// held while they are written and removed.
inline constexpr char kRdmactl[] = "rdmactl";
inline constexpr char kAutoprobeFolder[] = "autoprobe";

// Does the work while the PF's setting is `on`. A PF without the setting (another bus) stays as it
// is.
Result<> with_autoprobe(const Store& store,
                        netns::Sriov& sriov,
                        const std::string& pf,
                        bool on,
                        const std::function<Result<>()>& work);

// Restores the setting that was saved of a PF; a PF without a saved one is no error.
Result<> restore_autoprobe(const Store& store, netns::Sriov& sriov, const std::string& pf);

}  // namespace hook
