// SPDX-License-Identifier: Apache-2.0
// Conduct: takes clients through the phases of a point together.
#pragma once

#include <span>

#include "perf/measure/client.h"

namespace perf {

// Runs a point over all clients at the same time: opened and verified one after the other, then
// started, and measured in one window. A point whose data is wrong is not measured, and no error.
// After an error no client can be used any more.
Result<PointResult> conduct(std::span<Client> clients, const Point& point);

}  // namespace perf
