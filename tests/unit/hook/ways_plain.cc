// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/hook/way.h"

namespace test {

namespace {
void add_plain(std::vector<Way>& all, const char* mode, const std::vector<Way>& ways) {
    for (Way way : ways) {
        // A namespace that the runtime makes is there before a plain hook: the same as a path.
        if (way.network.empty())
            continue;
        // A limit stays where a later call fails, and goes with the cgroup, as the container does.
        if (way.name == "limited")
            continue;
        way.plain = true;
        way.mode = mode;
        way.name = "plain_" + std::string(mode) + "_" + way.name;
        all.push_back(std::move(way));
    }
}
}  // namespace

std::vector<Way> plain_ways() {
    std::vector<Way> all;
    add_plain(all, "softroce", softroce_ways());
    add_plain(all, "shared", shared_ways());
    add_plain(all, "vf", vf_ways());
    add_plain(all, "host", host_ways());
    Way without_run = softroce_ways().front();
    without_run.world.processes.at(World::kContainer).tmpfs.erase("run");
    without_run.name = "plain_without_run";
    without_run.mode = "softroce";
    without_run.plain = true;
    all.push_back(std::move(without_run));
    all.front().first = true;
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
