// SPDX-License-Identifier: Apache-2.0
// Commit: from here on a container lives as long as its init. Commit sets its limits in its cgroup,
// writes its record as committed, and announces its addresses to neighbours.
#pragma once

#include "hook/state/context.h"
#include "netns/process.h"
#include "runtime-config/oci/state.h"

namespace hook {

// Unavailable: the container's init is gone.
Result<netns::ProcessToken> find_init(netns::Host& host, pid_t init);

// Commits a container whose init exists and holds what was attached. Unavailable: gc took the
// container for dead shortly before, and took back its attachments.
Result<> commit(const Context& context, const Container& pending, const netns::ProcessToken& init);

// Takes the limits of a running container from its cgroup again. A container or device that is gone
// is no error.
Result<> lift_limits(const Context& context,
                     const Container& container,
                     const netns::ProcessToken& init);

// Commits a container that precreate has prepared, by the state that the runtime gives. Refused:
// the state is another container's.
Result<> commit_created(const Context& context, const Container& pending, const oci::State& state);

}  // namespace hook
