// SPDX-License-Identifier: Apache-2.0
// The bytes of device programs (BPF_PROG_TYPE_CGROUP_DEVICE). All programs of a cgroup must allow a
// device, so one more program can only take away. To give a container a device, its programs are
// rebuilt with a block in front. The block answers "yes" for reading and writing this one device,
// and leaves every other question to the program behind it. A block begins with a mark, by which it
// is found later and cut out. So the program itself holds all that restores it. Pure. Private to
// netns/kernel/.
//
// Relies on: the kernel hands such a program the context as it is (kernel/bpf/cgroup.c has no
// conversion for it). So the code that BPF_OBJ_GET_INFO_BY_FD shows can be loaded again if it uses
// neither maps nor functions.
#pragma once

#include <vector>

#include <linux/bpf.h>

#include "netns/device_cgroup.h"

namespace netns {

using BpfCode = std::vector<bpf_insn>;

// Checks that the code can be loaded a second time. Unsupported: it calls functions or names maps.
Result<> check_reloadable(const BpfCode& code);

// Returns whether one of the blocks at the beginning is for the device.
bool allows_by_block(const BpfCode& code, DeviceNumber device);

// Returns the code with a block for the device in front; the same code if it has one.
BpfCode with_device(const BpfCode& code, DeviceNumber device);

// Returns the code without the device's block; the same code if it has none.
BpfCode without_device(const BpfCode& code, DeviceNumber device);

bool same_code(const BpfCode& a, const BpfCode& b);

}  // namespace netns
