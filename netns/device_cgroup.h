// SPDX-License-Identifier: Apache-2.0
// DeviceCgroups decides which devices the processes of a running container may open. It is for
// cgroup v2 only, where BPF programs decide (kernel 4.15; replaced in one go from 5.6 on; bpf(2),
// BPF_PROG_ATTACH). rdma-hook keeps the program of the runtime or of systemd, and puts a block of
// its own in front (netns/kernel/device_program.h).
//
// Facts about kernels and engines:
// - All programs from the container's cgroup up to the root must agree. rdma-hook changes those of
//   the container: its cgroup, and the cgroups above it up to its systemd scope. (crun puts the
//   container into a cgroup below the scope, and the program on the scope.) Programs further up
//   belong to others and stay as they are.
// - A cgroup without a program allows every device: there is nothing to do.
// - The owner of the cgroup may put its own program back at any time. systemd does so at
//   daemon-reload.
#pragma once

#include <memory>

#include "netns/char_nodes.h"
#include "netns/process.h"

namespace netns {

class DeviceCgroups {
  public:
    virtual ~DeviceCgroups() = default;

    // Checks that devices can be granted to running containers here. Unsupported says why they
    // cannot.
    virtual Result<> check() = 0;

    // Lets the container of this init process read and write the character device. Returns false if
    // the container could do so before, as far as rdma-hook can see; then nothing was changed.
    // Unavailable: the process is gone. Unsupported: it has no cgroup of its own, or a program that
    // cannot be rebuilt.
    virtual Result<bool> allow(const ProcessToken& init, DeviceNumber device) = 0;

    // Takes away what allow() gave, also if allow() stopped half-way or the program has been
    // replaced since. A container that is gone is no error: it has nothing left.
    virtual Result<> forbid(const ProcessToken& init, DeviceNumber device) = 0;

    // Returns whether the process is in a cgroup of the container, whatever namespaces it is in.
    // False: the process is gone. Unavailable: the container's init is gone.
    virtual Result<bool> contains(const ProcessToken& init, pid_t process) = 0;
};

std::unique_ptr<DeviceCgroups> make_kernel_device_cgroups();

}  // namespace netns
