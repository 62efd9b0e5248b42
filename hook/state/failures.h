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
    std::string key;  // the container's key
    std::string id;   // the container's id; empty: not known
    std::string bundle;
    std::string_view stage;
};

// Keeps the failure, and removes the oldest of more than 64. Best effort: the caller reports the
// error itself.
void remember_failure(const Store& store, const Failure& failure, const base::Error& error);

// Returns an array of all failures that can be read.
Result<base::Json> load_failures(const Store& store);

}  // namespace hook
