// SPDX-License-Identifier: Apache-2.0
// Hiding: in RDMA netns mode shared every container's /sys/class names every RDMA device of the
// host, although it can open its own alone. Programs that go by those folders (UCX, NCCL, scripts)
// are shown folders of ours instead, with the granted devices and nothing else: links like the real
// ones, on read-only mounts. A mask for each other device would be wrong as soon as the next
// container starts.
#pragma once

#include <string>
#include <vector>

#include "hook/container/grant.h"
#include "hook/state/store.h"

namespace hook {

// Prepares the folders of this container (Store::view_path) and declares their mounts; what it
// could not do, in words (SELinux: label.h). Nothing happens where the container's /sys is not the
// engine's own (`privileged`, or a mount of the user's at or below /sys/class or /sys/devices), and
// in exclusive mode, in which the kernel hides. It makes programs choose right; what keeps a
// container from other devices is that it has no node of them.
Result<std::vector<std::string>> hide_others(oci::Spec& spec,
                                             netns::Host& host,
                                             const Store& store,
                                             const std::string& key,
                                             const std::vector<Granted>& granted);

}  // namespace hook
