// SPDX-License-Identifier: Apache-2.0
// What of an e-switch, of its representors and of Open vSwitch is there for offload, and what is
// missing.
#pragma once

#include <string>
#include <vector>

#include "hook/rdmactl/command.h"

namespace hook::ctl {

// PFs with an e-switch, and what was enabled by its handle.
Result<std::vector<std::string>> all_eswitches(const Context& context, Site& site);

Result<Answer> status_of(const Context& context,
                         Site& site,
                         const std::vector<std::string>& handles);

// Whether hardware forwards what a representor's VF sends: its flower rules.
Result<Json> describe_path(Site& site, const std::string& eswitch, const std::string& port);

}  // namespace hook::ctl
