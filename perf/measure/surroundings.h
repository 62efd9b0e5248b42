// SPDX-License-Identifier: Apache-2.0
// Surroundings: what a command works with besides its options.
#pragma once

#include <cstdio>
#include <functional>

#include "perf/system/stop.h"
#include "perf/verbs/verbs.h"

namespace perf {

struct Surroundings {
    Verbs& verbs;
    Stop& stop;
    std::FILE* out;  // results
    std::FILE* err;  // everything else
    // What a server does once it listens, before it hears anybody. main gives up there what it does
    // not need (netns/base/confine.h).
    std::function<Result<>()> settle_down = [] { return Result<>{}; };
};

}  // namespace perf
