// SPDX-License-Identifier: Apache-2.0
// The name of Json, for headers that only declare functions of it. To make or read a value, include
// base/json.h.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace base {

using Json = nlohmann::ordered_json;

}  // namespace base
