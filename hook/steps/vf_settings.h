// SPDX-License-Identifier: Apache-2.0
// Settings of a VF in journals and in words: what is not set is not there.
#pragma once

#include <string>

#include "netns/base/json.h"
#include "netns/sriov.h"

namespace hook {

base::Json to_json(const netns::VfSettings& settings);
base::Result<netns::VfSettings> vf_settings_from_json(const base::Json& json);
// "mac 02:00:00:00:00:01, vlan 5, trust on"
std::string settings_text(const netns::VfSettings& settings);

bool is_empty(const netns::VfSettings& settings);
// Of `wanted` what differs from `present`.
netns::VfSettings difference(const netns::VfSettings& wanted, const netns::VfSettings& present);
// Of `present` what `chosen` has, too.
netns::VfSettings members_of(const netns::VfSettings& chosen, const netns::VfSettings& present);

}  // namespace hook
