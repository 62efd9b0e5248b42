// SPDX-License-Identifier: Apache-2.0
// gids: every GID of every device, and the one that would be used.
#pragma once

#include "perf/report/suite.h"

namespace perf {

extern const Suite kGids;

}  // namespace perf
