// SPDX-License-Identifier: Apache-2.0
// The shape of config.json: whether every member that rdma-hook reads or edits has the
// specification's type. After this check the readers and edits of spec.cc need none.
#pragma once

#include <string_view>

#include "netns/base/json_fwd.h"
#include "netns/base/result.h"

namespace oci {

// BadInput names the member ("linux.namespaces[2].type") and its value. A null member counts as
// absent, as it does for the runtimes.
base::Result<> check_spec(const base::Json& tree);

// Checks only the annotations.
base::Result<> check_annotations(const base::Json& tree);

// The sets of process.capabilities. They stay text (netns/base/json_kept.h).
inline constexpr const char* kCapabilitySets[] = {
    "bounding", "effective", "inheritable", "permitted", "ambient"};

// Returns the member; nullptr if it is absent or null, or if `object` is nullptr or no object.
const base::Json* member(const base::Json* object, std::string_view key);

}  // namespace oci
