// SPDX-License-Identifier: Apache-2.0
// The members of a policy, and of a pool's own, and the lists that pools have in common with them.
// Private to config.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hook/request/config.h"
#include "hook/request/config_json.h"

namespace hook {

// The mode is one of ours; BadConfig names the place.
Result<> check_mode(const std::string& mode, const std::string& place);
// "parents".
Result<std::vector<std::string>> device_names(const Json& object, const std::string& place);
// "devices" or "exclude".
Result<std::vector<DeviceSpec>> device_specs(const Json& object,
                                             const char* key,
                                             const std::string& place);
// What may stand in a policy, or in that of a pool.
std::vector<std::string_view> policy_members(bool of_pool);
Result<Policy> parse_policy(const Json& json, const std::vector<Pool>& pools);
Result<Rules> parse_pool_policy(const Json& json,
                                const std::string& mode,
                                const std::string& place);

}  // namespace hook
