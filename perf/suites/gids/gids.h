// SPDX-License-Identifier: Apache-2.0
// gids: every GID of every device, and which one the rule would choose. The same tables and words
// as --explain-gid, without a server.
#pragma once

#include "perf/report/suite.h"

namespace perf {

extern const Suite kGids;

}  // namespace perf
