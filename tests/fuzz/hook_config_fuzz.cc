// SPDX-License-Identifier: Apache-2.0
// The hook's own configuration. Only root can write it, but a typing error must not widen a policy
// or crash the start of every container.
#include <string_view>

#include "hook/request/request.h"
#include "tests/fuzz/expect.h"

FUZZ_TARGET(hook_config) {
    const auto config = hook::parse_config({reinterpret_cast<const char*>(data), size});
    if (!config) {
        fuzz::expect(config.error().code == base::Code::BadConfig,
                     "a bad configuration is called one");
        return;
    }
    fuzz::expect(config->state_dir.starts_with("/run/"), "the state ends with the boot");
    for (const auto mode : hook::mode_names()) {
        const auto request = parse_request({{"rdma.mode", std::string(mode)}}, *config);
        if (!request)
            continue;
        fuzz::expect(request->attachments.size() == 1, "one mode is one attachment");
        const auto allowed = check_policy(*request, *config, {.privileged = true});
        const hook::Pool* pool = find_pool(*config, mode, "");
        const auto of_pool = pool != nullptr ? pool->rules.privileged : std::nullopt;
        fuzz::expect(!config->policy || !allowed ||
                         of_pool.value_or(config->policy->privileged.value_or(false)),
                     "a policy denies what it does not list");
    }
}
