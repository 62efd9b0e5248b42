// SPDX-License-Identifier: Apache-2.0
#include "perf/command/served_suites.h"

#include "perf/suites/isolate/half.h"
#include "perf/suites/kv/half.h"

namespace perf {

std::span<const ServedSuite* const> served_suites() {
    static constexpr const ServedSuite* kSuites[] = {
        &kServedIsolation,
        &kv::kServedExercise,
    };
    return kSuites;
}

}  // namespace perf
