// SPDX-License-Identifier: Apache-2.0
// The bytes of device programs (BPF_PROG_TYPE_CGROUP_DEVICE). A cgroup's devices are what all of
// its programs allow, so that one more program can only take away: to give a container a device,
// the programs that it has are rebuilt with a block of ours in front, which answers "yes" for
// reading and writing this one device and leaves every other question to the program behind it. A
// block begins with a mark, which is how it is found again and cut out: what restores a program is
// in the program, nothing else has to be kept. Pure. Private to netns/.
//
// Relies on: the kernel hands such a program the context as it is (kernel/bpf/cgroup.c has no
// conversion for it), so that what BPF_OBJ_GET_INFO_BY_FD shows can be loaded again if it uses
// neither maps nor functions.
#pragma once

#include <vector>

#include <linux/bpf.h>

#include "netns/device_cgroup.h"

namespace netns {

using BpfCode = std::vector<bpf_insn>;

// Whether the code can be loaded a second time: Unsupported if it calls functions or names maps.
Result<> check_reloadable(const BpfCode& code);

// Whether one of the blocks at the beginning is the device's.
bool allows_by_block(const BpfCode& code, DeviceNumber device);

// The code with a block for the device in front; the same if it has one.
BpfCode with_device(const BpfCode& code, DeviceNumber device);

// The code without the device's block; the same if it has none.
BpfCode without_device(const BpfCode& code, DeviceNumber device);

bool same_code(const BpfCode& a, const BpfCode& b);

}  // namespace netns
