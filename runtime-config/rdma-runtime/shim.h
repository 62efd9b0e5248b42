// SPDX-License-Identifier: Apache-2.0
// rdma-runtime: the low-level runtime of engines that have no hooks of their own (Docker,
// containerd). Rules:
// - A call that is not about a container with rdma.* annotations becomes the low-level runtime's,
//   untouched. That holds whatever is broken in rdma-hook: its configuration, its state, its code.
//   The call goes to the runtime which got the container when it was created
//   (hook/state/runtimes.h). A new container gets the one that --low-level names, or else the
//   configuration. One that is named and cannot be called is an error: no other gives the same
//   container.
// - A call that is about such a container is done in full, or fails with one line, for the engine,
//   too.
// `create` and `run` do hook::precreate, put its config.json in place, and run the low-level
// runtime as a child. If that fails, they take everything back. `delete` runs the low-level runtime
// and takes back what no poststop hook did. `checkpoint` and `restore` are refused: no checkpoint
// includes the state of an RDMA device for a process.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hook/stages.h"
#include "hook/state/runtimes.h"
#include "runtime-config/rdma-runtime/low_level.h"

namespace shim {

struct Surroundings {
    netns::Host& host;
    hook::ReadOnce config;
    // Reads the member `runtime` of a configuration that may be broken in other places.
    std::function<base::Result<std::string>()> runtime_setting;
    bool root = true;  // effective uid 0 in the first user namespace
    LowLevel& low_level;
    // Runs rdma-hook's own work, which leaves nothing in memory, in a confined process. A confined
    // process could not become or start the low-level runtime. Tests have one process.
    std::function<base::Result<>(const std::function<base::Result<>()>&)> apart;
    std::string runtimes = hook::kRuntimesFolder;
};

// Returns the exit status; or the call becomes the low-level runtime's and does not return.
int serve(std::vector<std::string> argv, const Surroundings& around);

}  // namespace shim
