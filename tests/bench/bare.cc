// SPDX-License-Identifier: Apache-2.0
// bench_bare: rdma-hook as it would be without policy and confinement, for tests/bench/attach to
// say what they cost. Linked before the libraries, this takes the place of theirs; the product has
// no such switch.
#include "hook/request/policy.h"
#include "netns/base/confine.h"

namespace hook {
Result<> check_policy(const Request& /*request*/,
                      const Config& /*config*/,
                      const Powers& /*powers*/) {
    return {};
}
}  // namespace hook

namespace base {
Result<> confine(Profile /*profile*/) {
    return {};
}
}  // namespace base
