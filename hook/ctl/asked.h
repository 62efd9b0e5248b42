// SPDX-License-Identifier: Apache-2.0
// What a container asks for, as plan and config check are told: --annotation and --spec.
#pragma once

#include "hook/ctl/command.h"

namespace hook::ctl {

struct Asked {
    Annotations annotations;
    Powers powers{};
};

// An annotation of the command line goes before that of the config.json.
Result<Asked> asked_for(const Options& options, netns::Host& host);

}  // namespace hook::ctl
