// SPDX-License-Identifier: Apache-2.0
// The members of pools and policy that speak of e-switches and of bridges of Open vSwitch. Private
// to config.cc and config_policy.cc.
#pragma once

#include <string>
#include <vector>

#include "hook/request/config.h"
#include "hook/request/config_json.h"

namespace hook {

// "bridge" of a pool; empty if it is absent.
Result<std::string> parse_bridge(const Json& pool, const std::string& place);
// "bridges" of a policy.
Result<std::vector<std::string>> parse_bridges(const Json& policy, const std::string& place);
// "functions" of a pool: ["0000:00:05.0"], or in a mode whose functions have a port
// {"auxiliary/mlx5_core.sf.4": "pci/0000:03:00.0/pf0sf88"}
Result<std::vector<MappedFunction>> parse_functions(const Json& pool,
                                                    bool with_port,
                                                    const std::string& place);

}  // namespace hook
