// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/hook/way.h"

namespace test {

namespace {
// An adapter of the host's with RDMA of its own.
World with_hca(KernelTraits kernel = KernelTraits::v7_2()) {
    World world = World::standard(kernel);
    world.add_rdma(world.host, World::kHostLink, "mlx5_0", "mlx5");
    return world;
}

// The lab's double of an HCA: an rxe that serves the children of its netdev.
World with_double() {
    KernelTraits kernel = KernelTraits::v7_3();
    kernel.rxe_serves_children = true;
    World world = World::standard(kernel);
    world.add_rdma(world.host, World::kHostLink, "hca0", "rxe");
    return world;
}

World with_stock_rxe() {
    World world = World::standard();
    world.add_rdma(world.host, World::kHostLink, "rxe0", "rxe");
    return world;
}

void add_shared_pool(hook::Config& config) {
    hook::Pool pool;
    pool.name = "hca";
    pool.mode = "shared";
    pool.is_default = true;
    pool.probe = false;
    pool.ranges = {{*netns::parse_cidr("10.9.0.10/24"), *netns::parse_cidr("10.9.0.12/24")},
                   {*netns::parse_cidr("fd00:9::10/64"), *netns::parse_cidr("fd00:9::12/64")}};
    pool.defaults = {{"macvlan_mode", "private"}};
    config.pools.push_back(pool);
}

void add_probing_pool(hook::Config& config) {
    add_shared_pool(config);
    config.pools.back().probe = true;
}

// Others on the network have the first address of each range of the pool.
World with_owners() {
    World world = with_hca();
    for (const char* address : {"10.9.0.10", "fd00:9::10"})
        world.owners[address] = *netns::parse_mac("52:54:00:11:22:33");
    return world;
}

using Annotations = std::map<std::string, std::string>;

Annotations shared(Annotations more) {
    more.insert({{"rdma.mode", "shared"}, {"rdma.ip", "10.9.0.1/24,fd00:9::1/64"}});
    return more;
}
}  // namespace

std::vector<Way> shared_ways() {
    return {
        {.name = "macvlan", .world = with_hca(), .annotations = shared({})},
        {.name = "old_kernel",
         .world = with_hca(KernelTraits::v6_12()),
         .annotations = shared({{"rdma.macvlan_mode", "vepa"}})},
        {.name = "double", .world = with_double(), .annotations = shared({})},
        {.name = "ipvlan", .world = with_hca(), .annotations = shared({{"rdma.child", "ipvlan"}})},
        {.name = "vlan", .world = with_hca(), .annotations = shared({{"rdma.vlan", "7"}})},
        {.name = "named_by_device",
         .world = with_hca(),
         .annotations = shared({{"rdma.parent", "mlx5_0"}, {"rdma.mtu", "1400"}}),
         .network = ""},
        {.name = "from_pool",
         .world = with_hca(),
         .annotations = {{"rdma.mode", "shared"}},
         .network = World::kContainerPath,
         .configure = add_shared_pool},
        {.name = "past_others_in_pool",
         .world = with_owners(),
         .annotations = {{"rdma.mode", "shared"}},
         .network = World::kContainerPath,
         .configure = add_probing_pool},
        {.name = "limited",
         .world = with_hca(),
         .annotations = shared({{"rdma.max_hca_handles", "2"}, {"rdma.max_hca_objects", "100"}})},
        {.name = "two_rails_on_one_hca",
         .world = with_hca(),
         .annotations = {{"rdma.0.mode", "shared"},
                         {"rdma.0.ip", "10.9.0.1/24"},
                         {"rdma.1.mode", "shared"},
                         {"rdma.1.ip", "10.9.1.1/24"},
                         {"rdma.1.vlan", "7"}}},
        {.name = "refused_stock_rxe",
         .world = with_stock_rxe(),
         .annotations = shared({}),
         .network = World::kContainerPath,
         .configure = [](hook::Config&) {},
         .refused = true},
    };
}

}  // namespace test
