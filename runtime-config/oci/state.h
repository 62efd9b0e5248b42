// SPDX-License-Identifier: Apache-2.0
// The state of a container, which runtimes give to hooks on stdin (OCI runtime specification,
// runtime.md#state), and which runc and crun keep in a folder for each container. Ids are
// untrusted: only [A-Za-z0-9][A-Za-z0-9_.+-]* up to 1024 bytes is accepted.
#pragma once

#include <cstdint>
#include <map>
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
    std::string bundle;  // absolute path; see knows_bundle()
    std::string status;  // may be empty
    pid_t pid = 0;       // 0: none (poststop)
    // Start time of that process, in clock ticks since the boot. Only kept states have it.
    uint64_t start = 0;
    std::map<std::string, std::string> annotations{};  // for hooks; no kept state has them

    // False: the runtime has named "/". crun 1.21 to 1.29 does so for a container with a user
    // namespace and devices, at all its hooks and in the state that it keeps.
    [[nodiscard]] bool knows_bundle() const { return bundle != "/"; }
};

bool is_container_id(std::string_view id);

// BadInput: it is no JSON, or a member is missing or not acceptable.
Result<State> parse_state(std::string_view text);

// The states that runtimes keep, of a container in the folder `id`. Both have a process, which may
// have ended since. runc: ID/state.json (libcontainer/container.go, BaseState). crun: ID/status
// (src/libcrun/status.c); versions before 0.17 do not write the start time, which is BadInput.
Result<State> parse_runc_state(std::string_view text, const std::string& id);
Result<State> parse_crun_status(std::string_view text, const std::string& id);

}  // namespace oci
