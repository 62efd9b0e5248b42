// SPDX-License-Identifier: Apache-2.0
// gids: every GID of every device, and the one that would be used.
#pragma once

#include "perf/measure/side_options.h"
#include "perf/measure/surroundings.h"
#include "perf/report/exit_code.h"

namespace perf {

struct GidsOptions {
    LookOptions look;
};

Exit gids(const GidsOptions& options, const Surroundings& around);

}  // namespace perf
