// SPDX-License-Identifier: Apache-2.0
// bench_bare: rdma-hook as it would be without a policy, for tests/bench/attach to say what that
// costs. Linked before the libraries, this takes the place of theirs; the product has no such
// switch.
#include "hook/policy.h"

namespace hook {
Result<> check_policy(const Request& /*request*/,
                      const Config& /*config*/,
                      const Powers& /*powers*/) {
    return {};
}
}  // namespace hook
