// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/unit/hook/way.h"

namespace test {

namespace {
bool has_limit(const Way& way) {
    return std::ranges::any_of(way.annotations, [](const auto& annotation) {
        return annotation.first.find(".max_hca_") != std::string::npos;
    });
}
}  // namespace

std::vector<Way> plain_ways() {
    std::vector<Way> all = all_ways();
    // A namespace that the runtime makes is there before a plain hook: the same as a path. A limit
    // stays where a later call fails, and goes with the cgroup, as the container does.
    std::erase_if(all, [](const Way& way) { return way.network.empty() || has_limit(way); });
    Way without_run = all.front();
    without_run.world.processes.at(World::kContainer).tmpfs.erase("run");
    without_run.name = "without_run";
    without_run.first = false;
    all.push_back(std::move(without_run));
    for (Way& way : all) {
        way.plain = true;
        way.name = "plain_" + way.name;
    }
    return all;
}

std::vector<Way> running_ways() {
    std::vector<Way> all = all_ways();
    // The container's namespace is there, and rdma.optional is for one that is to start.
    std::erase_if(all, [](const Way& way) {
        return way.network.empty() || way.annotations.contains("rdma.optional");
    });
    for (Way& way : all) {
        way.running = true;
        way.name = "running_" + way.name;
    }
    return all;
}

}  // namespace test
