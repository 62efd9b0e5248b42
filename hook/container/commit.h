// SPDX-License-Identifier: Apache-2.0
// Commit: from here on a container lives as long as its init. Its limits are set in its cgroup, its
// record is committed, and neighbours hear its addresses.
#pragma once

#include "hook/state/context.h"
#include "netns/process.h"
#include "runtime-config/oci/state.h"

namespace hook {

// Unavailable if the container's init is gone.
Result<netns::ProcessToken> find_init(netns::Host& host, pid_t init);

// Commits a container whose init is there and holds what was attached. Unavailable if gc took the
// container for dead shortly before, and took back what it has.
Result<> commit(const Context& context, const Container& pending, const netns::ProcessToken& init);

// The same of a container that precreate has prepared, by the state that the runtime gives. Refused
// if it is not the container that it was prepared for.
Result<> commit_created(const Context& context, const Container& pending, const oci::State& state);

}  // namespace hook
