// SPDX-License-Identifier: Apache-2.0
// The state of an e-switch, of its representors and of Open vSwitch: the parts for offload that
// exist, and those that are missing.
#pragma once

#include <string>
#include <vector>

#include "hook/rdmactl/command.h"

namespace hook::ctl {

// Returns the handles of the PFs with an e-switch, and of enabled devices.
Result<std::vector<std::string>> all_eswitches(HostView& view);

Result<Answer> status_of(HostView& view,
                         const std::vector<std::string>& handles,
                         const Page& page = {});

// Tells whether hardware forwards a VF's traffic: the flower rules of its representor.
Result<Json> describe_path(Site& site, const std::string& eswitch, const std::string& port);

}  // namespace hook::ctl
