// SPDX-License-Identifier: Apache-2.0
// Lists of CPUs as cpuset(7) and sysfs write them: "0-3,8". Pure.
#pragma once

#include <string_view>

namespace hook {

// Whether the two lists have a CPU in common; false if one is empty or malformed.
bool share_a_cpu(std::string_view a, std::string_view b);

}  // namespace hook
