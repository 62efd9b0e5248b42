// SPDX-License-Identifier: Apache-2.0
#include "perf/command/suites.h"

#include <vector>

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

std::span<const ServedSuite* const> served_suites() {
    static const auto kServed = [] {
        std::vector<const ServedSuite*> served;
        for (const Suite* suite : all_suites()) {
            if (suite->served != nullptr)
                served.push_back(suite->served);
        }
        return served;
    }();
    return kServed;
}

}  // namespace perf
