// SPDX-License-Identifier: Apache-2.0
// Conduct: takes clients through the phases of a point together.
#pragma once

#include <functional>
#include <span>

#include "perf/measure/client.h"

namespace perf {

// Who looks on while a point by time runs.
struct Onlooker {
    uint32_t interval_ms = 0;  // 0: none
    std::function<Result<>(const Interim& interim)> show = {};
};

// Runs a point over all clients at the same time: opened and verified one after the other, then
// started, and measured in one window. A point whose data is wrong is not measured, and no error.
// After an error no client can be used any more.
//
// The clients' Stop may be interrupted while a point is measured, unless servers post by iterations:
// what is measured so far is the result then. If that is nothing, the point is stopped, an error.
//
// `loads`, one for each client, carry the point's load meanwhile. A server takes them for clients.
Result<PointResult> conduct(std::span<Client> clients,
                            const Point& point,
                            const Onlooker& onlooker = {},
                            std::span<Client> loads = {});

}  // namespace perf
