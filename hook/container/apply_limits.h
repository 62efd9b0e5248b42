// SPDX-License-Identifier: Apache-2.0
// The container's limits, set in its cgroup once that is there. No declaration in config.json would
// do: crun ignores linux.resources.rdma, and where engines apply it the device may have another
// name.
#pragma once

#include <sys/types.h>

#include "hook/container/attachment.h"

namespace hook {

// `init` is the container's, in its cgroup. Nothing has to be undone: a limit goes with its cgroup,
// and a controller that ancestors now hand down limits nobody by itself.
Result<> apply_limits(World& world, const Container& container, const netns::ProcessToken& init);

}  // namespace hook
