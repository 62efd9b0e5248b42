// SPDX-License-Identifier: Apache-2.0
// What a container asks for, as plan and config check are told: --annotation and --spec.
#pragma once

#include <optional>

#include "hook/rdmactl/command.h"
#include "runtime-config/oci/spec.h"

namespace hook::ctl {

struct Asked {
    Annotations annotations;
    std::optional<oci::Spec> spec{};
};

// An annotation of the command line goes before that of the config.json.
Result<Asked> asked_for(const Options& options, netns::Host& host);

// Without --spec nothing is known of what the engine gives: nothing, then.
Result<Powers> powers_of(const Asked& asked, const Config& config, netns::Host& host);

}  // namespace hook::ctl
