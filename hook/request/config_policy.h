// SPDX-License-Identifier: Apache-2.0
// The members of a policy, and of a pool's own, and the lists that pools share with them. Private
// to config.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hook/request/config.h"
#include "hook/request/config_json.h"

namespace hook {

inline constexpr Item<std::string> kParents{
    parse_name<is_device_name>, "must be the name of an interface or RDMA device, or 'container'"};
inline constexpr Item<std::string> kBridges{parse_name<is_interface_name>,
                                            "must be the name of a bridge of Open vSwitch"};
inline constexpr Item<DeviceSpec> kDevices{parse_device_spec,
                                           "must be a PF or VF, or VFs of a PF",
                                           "write it as 0000:3b:00.0, enp1s0 or enp1s0#0-3,5"};

// Checks that the table of modes has the mode. BadConfig names the place.
Result<> expect_mode(const std::string& mode, const std::string& place);
// Returns the members of a policy, or of a pool's own.
std::vector<std::string_view> policy_members(bool of_pool);
Result<Policy> parse_policy(const Json& json, const std::vector<Pool>& pools);
Result<Rules> parse_pool_policy(const Json& json,
                                const std::string& mode,
                                const std::string& place);

}  // namespace hook
