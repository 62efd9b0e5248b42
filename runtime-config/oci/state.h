// SPDX-License-Identifier: Apache-2.0
// The state of a container, which runtimes give to hooks on stdin (OCI runtime specification,
// runtime.md#state). Ids are untrusted: only [A-Za-z0-9][A-Za-z0-9_.+-]* up to 1024 bytes is
// accepted.
#pragma once

#include <string>
#include <string_view>

#include <sys/types.h>

#include "netns/base/result.h"
#include "runtime-config/oci/spec.h"

namespace oci {

using base::Result;

// The state repeats the annotations of config.json.
inline constexpr size_t kMaxStateBytes = kMaxSpecBytes + (64U << 10U);

struct State {
    std::string id;
    std::string bundle;  // absolute path
    std::string status;  // may be empty
    pid_t pid = 0;       // 0: none (poststop)
};

bool is_container_id(std::string_view id);

// BadInput: it is no JSON, or a member is missing or not acceptable.
Result<State> parse_state(std::string_view text);

}  // namespace oci
