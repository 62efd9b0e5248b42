// SPDX-License-Identifier: Apache-2.0
#include "perf/command/commands.h"
#include "perf/suites/doctor/doctor.h"
#include "perf/suites/gids/gids.h"
#include "perf/suites/isolate/isolate.h"
#include "perf/suites/kv/kv.h"

namespace perf {

std::span<const Suite* const> all_suites() {
    static constexpr const Suite* kSuites[] = {
        &kKv,
        &kGids,
        &kDoctor,
        &kIsolate,
    };
    return kSuites;
}

}  // namespace perf
