// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/hook/way.h"

namespace test {

World exclusive_world() {
    World world = World::standard(KernelTraits::v7_3());
    world.mode = netns::RdmaNetnsMode::Exclusive;
    return world;
}

World with_container_link(World world) {
    const NetnsId ns = world.engine_paths.at(World::kContainerPath);
    netns::Link eth0;
    eth0.name = "eth0";
    eth0.kind = "veth";
    eth0.mac = {{2, 0, 0, 0, 7, 7}};
    eth0.mtu = 1500;
    eth0.up = true;
    const uint32_t index = world.add_link(ns, eth0);
    world.find_link(ns, index)->addresses.push_back(*netns::parse_cidr("10.88.0.5/16"));
    return world;
}

void take(const Way& way, Life& life, StateDir& state) {
    way.configure(state.config());
    life.annotations = way.annotations;
    life.network = way.network;
    life.plain = way.plain;
    life.running = way.running;
    life.user_namespace = way.user_namespace;
    if (way.user_namespace)
        life.told = "/";
    if (way.net_admin)
        life.capabilities = {"CAP_NET_ADMIN"};
}

std::vector<Way> all_ways() {
    std::vector<Way> all;
    for (const auto& [mode, ways] : kWaysOfModes) {
        for (Way& way : ways()) {
            way.mode = mode;
            way.name = way.mode + "_" + way.name;
            all.push_back(std::move(way));
        }
    }
    all.front().first = true;
    return all;
}

}  // namespace test
