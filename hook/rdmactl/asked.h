// SPDX-License-Identifier: Apache-2.0
// The request of a container that does not exist, for plan, config check and suggest.
#pragma once

#include <optional>
#include <vector>

#include "hook/rdmactl/command.h"
#include "hook/steps/plan.h"
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

// Returns the plans of all attachments of a container that does not exist. Changes nothing.
Result<std::vector<Plan>> plan_all(const Context& context,
                                   const Request& request,
                                   const std::optional<netns::Netns>& ns);

}  // namespace hook::ctl
