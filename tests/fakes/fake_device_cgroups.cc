// SPDX-License-Identifier: Apache-2.0
// Device cgroups as far as rdma-hook uses them: what a container may open beside its runtime's
// rules.
#include <cerrno>

#include "tests/fakes/fake_host.h"

namespace test {

using base::Code;
using base::make_error;
using netns::DeviceNumber;

Result<> FakeDeviceCgroups::check() {
    if (world_.kernel.cgroup2)
        return {};
    return make_error(Code::Unsupported, "/sys/fs/cgroup is not cgroup v2")
        .advise("boot with cgroup v2 alone");
}

Result<bool> FakeDeviceCgroups::allow(const netns::ProcessToken& init, DeviceNumber device) {
    const std::string name = std::to_string(device.major) + ":" + std::to_string(device.minor);
    return gate_.pass<bool>("allow " + name, [&]() -> Result<bool> {
        TRY(check());
        const auto process = world_.processes.find(init.pid);
        if (process == world_.processes.end() || process->second.zombie ||
            process->second.start != init.start)
            return coded(Code::Unavailable, ENOENT, "the container's init is gone");
        if (!world_.own_cgroups)
            return make_error(Code::Unsupported, "the container has no cgroup of its own");
        return process->second.devices.insert(name).second;
    });
}

Result<> FakeDeviceCgroups::forbid(const netns::ProcessToken& init, DeviceNumber device) {
    const std::string name = std::to_string(device.major) + ":" + std::to_string(device.minor);
    return gate_.pass<void>("forbid " + name, [&]() -> Result<> {
        const auto process = world_.processes.find(init.pid);
        if (process != world_.processes.end() && process->second.start == init.start)
            process->second.devices.erase(name);
        return {};
    });
}

}  // namespace test
