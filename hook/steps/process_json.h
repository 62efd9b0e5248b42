// SPDX-License-Identifier: Apache-2.0
// A process in journals.
#pragma once

#include "netns/base/json.h"
#include "netns/process.h"

namespace hook {

inline base::Json to_json(const netns::ProcessToken& process) {
    return {{"pid", process.pid}, {"start", process.start}};
}

// The member "init".
inline base::Result<netns::ProcessToken> init_from_json(const base::Json& json) {
    const base::Json inner = json.value("init", base::Json::object());
    return netns::ProcessToken{.pid = TRY(base::required<pid_t>(inner, "pid")),
                               .start = TRY(base::required<uint64_t>(inner, "start"))};
}

}  // namespace hook
