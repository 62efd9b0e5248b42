// SPDX-License-Identifier: Apache-2.0
// Cgroups as far as rdma-hook uses them: the limits of the one that a process is in.
#include <algorithm>
#include <cerrno>

#include "tests/fakes/fake_host.h"

namespace test {

using base::Code;
using base::make_error;

Result<> FakeCgroups::check_rdma() {
    if (world_.kernel.rdma_cgroup)
        return {};
    return make_error(Code::Unsupported, "/sys/fs/cgroup is not cgroup v2")
        .advise("boot with cgroup v2 alone");
}

Result<> FakeCgroups::limit_rdma(const netns::ProcessToken& wanted,
                                 const Netns& ns,
                                 const netns::RdmaLimit& limit) {
    return gate_.pass<void>("limit " + limit.device, [&]() -> Result<> {
        TRY(check_rdma());
        const auto process = world_.processes.find(wanted.pid);
        if (process == world_.processes.end() || process->second.start != wanted.start)
            return coded(Code::Unavailable, ENOENT, "open cgroup of " + std::to_string(wanted.pid));
        if (!world_.own_cgroups)
            return make_error(Code::Unsupported, "the container has no cgroup of its own");
        const bool there = std::any_of(world_.rdma.begin(), world_.rdma.end(), [&](auto& entry) {
            return entry.second.device.name == limit.device && world_.sees(ns.id(), entry.second);
        });
        if (!there)
            return coded(Code::Unavailable, ENODEV, "write rdma.max");
        auto& max = process->second.rdma_max[limit.device];
        max.device = limit.device;
        if (limit.handles)
            max.handles = limit.handles;
        if (limit.objects)
            max.objects = limit.objects;
        return {};
    });
}

}  // namespace test
