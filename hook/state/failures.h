// SPDX-License-Identifier: Apache-2.0
// Failures: the last failure of each container, as errors/KEY.json of the store, for
// `rdmactl list --failed` and `show`. hook/STATE.md has the form.
#pragma once

#include <string>
#include <string_view>

#include "hook/state/store.h"
#include "netns/base/error.h"

namespace hook {

struct Failure {
    std::string key;  // of the container
    std::string id;   // empty: not known
    std::string bundle;
    std::string_view stage;
};

// Keeps the failure, and forgets the oldest of more than 64. Best effort: the error itself is what
// the caller reports.
void remember_failure(const Store& store, const Failure& failure, const base::Error& error);

// An array of all that can be read.
Result<base::Json> load_failures(const Store& store);

}  // namespace hook
