// SPDX-License-Identifier: Apache-2.0
// Waiting for events of rdma_cm: each wait ends with an event, its deadline, the stop or the end of
// the control connection.
#pragma once

#include <chrono>

#include "perf/base/names.h"
#include "perf/system/stop.h"
#include "perf/verbs/cm/cm.h"

namespace perf {

// What ends a wait besides what it waits for.
struct CmWait {
    std::chrono::milliseconds timeout{5000};  // of each step
    const Stop* stop = nullptr;
    int control = -1;  // the control connection; -1: none

    [[nodiscard]] Deadline step() const { return Deadline::in(timeout); }
};

// The next event of the channel, to be acknowledged by its owner.
Result<CmOwned<rdma_cm_event>> next_event(Cm& cm,
                                          const CmChannel& channel,
                                          const Deadline& deadline,
                                          const CmWait& wait);

// Until fd is readable.
Result<> wait_readable(int fd, const Deadline& deadline, const CmWait& wait);

}  // namespace perf
