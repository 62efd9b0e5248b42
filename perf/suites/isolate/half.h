// SPDX-License-Identifier: Apache-2.0
// The server's half of `isolate`: its one page is exposed until the client releases it.
#pragma once

#include "perf/measure/server_half.h"

namespace perf {

extern const ServedSuite kServedIsolation;

}  // namespace perf
