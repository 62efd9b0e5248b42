// SPDX-License-Identifier: Apache-2.0
// Finds containers that run, with RDMA or without, by the states that runc and crun keep of them. It
// starts no program, and asks no engine.
#pragma once

#include "hook/rdmactl/command.h"
#include "runtime-config/oci/state.h"

namespace hook::ctl {

// Returns the container whose id is or begins with Options::container. With Options::bundle and
// Options::init it is the container of that bundle and init, and the text is its id: for runtimes
// that keep their states elsewhere.
//
// Usage: several ids begin so. Unavailable: no such container, or its init has ended.
Result<oci::State> find_running(const Options& options, netns::Host& host);

}  // namespace hook::ctl
