// SPDX-License-Identifier: Apache-2.0
// The container's request that plan and config check judge: --annotation and --spec.
#pragma once

#include <optional>

#include "hook/rdmactl/command.h"
#include "runtime-config/oci/spec.h"

namespace hook::ctl {

struct Asked {
    Annotations annotations;
    std::optional<oci::Spec> spec{};
};

// Returns the annotations. Those of the command line override those of the config.json.
Result<Asked> asked_for(const Options& options, netns::Host& host);

// Returns the powers from the engine. Without --spec they are unknown: it returns none.
Result<Powers> powers_of(const Asked& asked, const Config& config, netns::Host& host);

}  // namespace hook::ctl
