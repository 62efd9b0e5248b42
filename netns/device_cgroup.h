// SPDX-License-Identifier: Apache-2.0
// Device cgroups: which devices the processes of a running container may open. cgroup v2 alone,
// where BPF programs decide (kernel 4.15; replaced in one go from 5.6 on; bpf(2), BPF_PROG_ATTACH).
// The runtime's or systemd's own programs stay what they are, with a block of ours in front
// (netns/kernel/device_program.h).
//
// What this room knows of kernels and engines, so that nobody else has to:
// - All programs from the container's cgroup up to the root must agree. Ours are the container's
//   own: its cgroup, and those above it up to its systemd scope (crun puts the container into a
//   cgroup below the scope, and the program on the scope). Programs further up are other people's
//   and stay as they are.
// - A cgroup without program allows every device: nothing to do.
// - Who owns the cgroup may put its own program back at any time: systemd does at daemon-reload.
#pragma once

#include <memory>

#include "netns/char_nodes.h"
#include "netns/process.h"

namespace netns {

class DeviceCgroups {
  public:
    virtual ~DeviceCgroups() = default;

    // Whether devices can be granted to running containers here; Unsupported says why not.
    virtual Result<> check() = 0;

    // Lets the container of this init read and write the character device. False if it could
    // before, as far as we know: nothing was changed. Unavailable: the process is gone.
    // Unsupported: it has no cgroup of its own, or a program that cannot be rebuilt.
    virtual Result<bool> allow(const ProcessToken& init, DeviceNumber device) = 0;

    // Takes away what allow() gave, also where only a part of it happened or the program has been
    // replaced since. A container that is gone has nothing left: no error.
    virtual Result<> forbid(const ProcessToken& init, DeviceNumber device) = 0;
};

std::unique_ptr<DeviceCgroups> make_kernel_device_cgroups();

}  // namespace netns
