// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/hook/asap2_world.h"
#include "tests/unit/hook/way.h"

namespace test {

namespace {
using Annotations = std::map<std::string, std::string>;

Annotations with_bridge(Annotations more) {
    more.insert({{"rdma.mode", "asap2"}, {"rdma.device", "enp1s0"}, {"rdma.bridge", "br0"}});
    return more;
}

World exclusive(World world) {
    world.mode = netns::RdmaNetnsMode::Exclusive;
    return world;
}
}  // namespace

std::vector<Way> asap2_ways() {
    const Annotations plain = with_bridge({{"rdma.ip", "10.9.0.1/24,fd00:9::1/64"}});
    return {
        {.name = "own", .world = switchdev_world(Nic::Mlx5), .annotations = plain},
        {.name = "own_exclusive",
         .world = exclusive(switchdev_world(Nic::Mlx5)),
         .annotations = plain},
        {.name = "tagged",
         .world = switchdev_world(Nic::Mlx5),
         .annotations = with_bridge({{"rdma.ip", "10.9.0.1/24"},
                                     {"rdma.vlan", "7"},
                                     {"rdma.mtu", "1400"},
                                     {"rdma.max_tx_rate", "500"},
                                     {"rdma.mac", "02:00:5e:10:00:01"}})},
        {.name = "trunk",
         .world = switchdev_world(Nic::Mlx5),
         .annotations = with_bridge({{"rdma.trunk", "5,7"}, {"rdma.provider", "rxe"}})},
        {.name = "mapped",
         .world = mapped_world(),
         .annotations = {{"rdma.mode", "asap2"}, {"rdma.ip", "10.9.0.1/24"}},
         .network = World::kContainerPath,
         .configure = add_mapped_pool},
        {.name = "refused_without_offload",
         .world = switchdev_world(Nic::Mlx5, false),
         .annotations = with_bridge({{"rdma.offload", "required"}}),
         .network = World::kContainerPath,
         .configure = [](hook::Config&) {},
         .refused = true},
        {.name = "refused_taken_name",
         .world = with_foreign_port(switchdev_world(Nic::Mlx5)),
         .annotations = plain,
         .network = World::kContainerPath,
         .configure = [](hook::Config&) {},
         .refused = true},
        {.name = "refused_dead_daemon",
         .world = without_daemon(switchdev_world(Nic::Mlx5)),
         .annotations = plain,
         .network = World::kContainerPath,
         .configure = [](hook::Config&) {},
         .refused = true},
    };
}

}  // namespace test
