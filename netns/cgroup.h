// SPDX-License-Identifier: Apache-2.0
// Cgroups: what the processes of a container may open and make of an RDMA device. cgroup v2 alone
// (controller `rdma`, kernel 4.11; cgroups(7), Documentation/admin-guide/cgroup-v2.rst, "RDMA"): a
// limit holds for a cgroup and all below it, goes with the cgroup, and is kept by the device's
// name, following its renames. Only control objects are counted; no limit of bandwidth.
//
// What this room knows of kernels, so that nobody else has to:
// - rdma.max is there only if every ancestor hands the controller down (cgroup.subtree_control).
// - A device that is not there is ENODEV; in RDMA's exclusive mode from 7.3 on that is every device
//   outside of the writer's namespace.
// - A value above what the kernel can count is read back as "max".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "netns/namespace.h"
#include "netns/process.h"

namespace netns {

// What is not said stays as it is: without a limit in a new cgroup.
struct RdmaLimit {
    std::string device;               // RDMA device
    std::optional<uint32_t> handles;  // hca_handle: open user contexts, 0 to 2^31 - 2
    std::optional<uint32_t> objects;  // hca_object: queue pairs, memory regions and all other
    bool operator==(const RdmaLimit&) const = default;
};

class Cgroups {
  public:
    virtual ~Cgroups() = default;

    // Whether this machine can limit RDMA; Unsupported says why not.
    virtual Result<> check_rdma() = 0;

    // Limits the cgroup that the process is in, and reads back. Enables the controller in its
    // ancestors where it is not: that stays, and changes nothing for who has no limit. `ns` is the
    // device's namespace. Unavailable: no such device or process. Unsupported: as above; an
    // ancestor cannot hand the controller down; or the process has no cgroup of its own, but ours.
    virtual Result<> limit_rdma(const ProcessToken& process,
                                const Netns& ns,
                                const RdmaLimit& limit) = 0;
};

std::unique_ptr<Cgroups> make_kernel_cgroups();

}  // namespace netns
