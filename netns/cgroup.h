// SPDX-License-Identifier: Apache-2.0
// Cgroups limits how many objects of an RDMA device the processes of a container may have. It is
// for cgroup v2 only (controller `rdma`, kernel 4.11; cgroups(7),
// Documentation/admin-guide/cgroup-v2.rst, "RDMA"). A limit holds for a cgroup and all cgroups
// below it, and goes with the cgroup. The kernel keeps it by the device's name, and follows
// renames. It counts control objects, not bandwidth.
//
// Facts about kernels:
// - rdma.max is there only if every ancestor hands the controller down (cgroup.subtree_control).
// - A device that is not there is ENODEV. In RDMA's exclusive mode, from 7.3 on, that includes
//   every device outside of the writer's namespace.
// - A value above what the kernel can count is read back as "max".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "netns/namespace.h"
#include "netns/process.h"

namespace netns {

// The value that takes a limit away.
inline constexpr uint32_t kNoRdmaLimit = 0x7fffffff;

// A limit for one device. An empty member stays as it is; a new cgroup has no limit.
struct RdmaLimit {
    std::string device;               // name of the RDMA device
    std::optional<uint32_t> handles;  // hca_handle: open user contexts, 0 to 2^31 - 2
    std::optional<uint32_t> objects;  // hca_object: queue pairs, memory regions and all others
    bool operator==(const RdmaLimit&) const = default;
};

class Cgroups {
  public:
    virtual ~Cgroups() = default;

    // Checks that this machine can limit RDMA. Unsupported says why it cannot.
    virtual Result<> check_rdma() = 0;

    // Limits the cgroup that the process is in, and reads the limit back. `ns` is the device's
    // namespace. Enables the controller in the cgroup's ancestors where it is off; that stays, and
    // changes nothing for cgroups without a limit.
    //
    // Unavailable: no such device or process. Unsupported: see check_rdma(); or an ancestor cannot
    // hand the controller down; or the process is in rdma-hook's own cgroup, or in one above it.
    virtual Result<> limit_rdma(const ProcessToken& process,
                                const Netns& ns,
                                const RdmaLimit& limit) = 0;
};

std::unique_ptr<Cgroups> make_kernel_cgroups();

}  // namespace netns
