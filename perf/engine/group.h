// SPDX-License-Identifier: Apache-2.0
// Group: the lanes that one thread drives, with one completion queue for all of them: one poll
// tells what happened on any of them.
#pragma once

#include <memory>
#include <vector>

#include "perf/engine/lane.h"

namespace perf {

struct Group {
    ThreadDomain domain;                     // of the queue pairs; goes after them
    std::unique_ptr<CompletionQueue> queue;  // the lanes point to it; goes after them
    std::vector<Lane> lanes;

    // Lanes number `first` to `first` + `count` - 1 of the side, each in INIT.
    static Result<Group> create(const Device& device,
                                const Point& point,
                                Side side,
                                uint32_t first,
                                uint32_t count,
                                CmLinks* cm);
};

}  // namespace perf
