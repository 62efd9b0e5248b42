// SPDX-License-Identifier: Apache-2.0
// Placements as far as rdma-hook uses them: a container's own tmpfs mounts.
#include <cerrno>

#include "netns/placement.h"
#include "tests/fakes/fake_host.h"

namespace test {

using base::Code;
using base::make_error;
using netns::ContainerRoot;
using netns::Placement;

namespace {
std::string place_of(const Placement& what) {
    return what.mount + "/" + what.folder + "/" + what.name;
}
}  // namespace

Result<> FakePlacements::place(const ContainerRoot& root, const Placement& what) {
    return gate_.pass<void>("place " + place_of(what), [&]() -> Result<> {
        const auto process = world_.processes.find(root.init.pid);
        if (process == world_.processes.end() || process->second.zombie ||
            process->second.start != root.init.start)
            return coded(Code::Unavailable, ENOENT, "the container's init is gone");
        if (!process->second.tmpfs.contains(what.mount))
            return make_error(Code::Unsupported,
                              "/" + what.mount + " of the container is no tmpfs of its own");
        process->second.placed.insert(place_of(what));
        return {};
    });
}

Result<> FakePlacements::remove(const ContainerRoot& root, const Placement& what) {
    return gate_.pass<void>("remove " + place_of(what), [&]() -> Result<> {
        const auto process = world_.processes.find(root.init.pid);
        if (process != world_.processes.end() && process->second.start == root.init.start)
            process->second.placed.erase(place_of(what));
        return {};
    });
}

}  // namespace test
