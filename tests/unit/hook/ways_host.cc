// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/adapters.h"
#include "tests/unit/hook/way.h"

namespace test {

namespace {
using Annotations = std::map<std::string, std::string>;

// Adapters mlx5_0 and mlx5_1 of the host's, on enp1s0 and enp2s0.
World with_two(KernelTraits kernel = KernelTraits::v7_2()) {
    World world = World::standard(kernel);
    world.add_sriov("enp1s0", "0000:01:00.0", 0, Nic::Mlx5);
    world.add_sriov("enp2s0", "0000:02:00.0", 0, Nic::Mlx5);
    return world;
}

// The container's init is in the host's network.
World in_hosts_network(World world) {
    world.processes.at(World::kContainer).ns = world.host;
    return world;
}

World with_two_exclusive() {
    World world = with_two(KernelTraits::v7_3());
    world.mode = netns::RdmaNetnsMode::Exclusive;
    return world;
}

World with_infiniband_without_netdev() {
    World world = World::standard();
    world.add_rdma(world.host, 0, "mlx5_0", "mlx5");
    world.rdma.begin()->second.device.infiniband = true;
    return world;
}

void add_host_pool(hook::Config& config) {
    hook::Pool pool;
    pool.name = "adapters";
    pool.mode = "host";
    pool.is_default = true;
    pool.devices = {*hook::parse_device_spec("0000:02:00.0"), *hook::parse_device_spec("enp1s0")};
    config.pools.push_back(std::move(pool));
}

Annotations in_mode_host(const std::string& device, const Annotations& more = {}) {
    Annotations all{{"rdma.mode", "host"}, {"rdma.device", device}};
    all.insert(more.begin(), more.end());
    return all;
}
}  // namespace

std::vector<Way> host_ways() {
    return {
        {.name = "one_of_two", .world = with_two(), .annotations = in_mode_host("mlx5_1")},
        {.name = "hosts_network",
         .world = in_hosts_network(with_two()),
         .annotations = in_mode_host("mlx5_1"),
         .network = Life::kHostsNetwork},
        {.name = "hosts_network_exclusive",
         .world = in_hosts_network(with_two_exclusive()),
         .annotations = in_mode_host("mlx5_1,enp1s0"),
         .network = Life::kHostsNetwork},
        {.name = "runtimes_network",
         .world = with_two(),
         .annotations = in_mode_host("0000:01:00.0"),
         .network = ""},
        {.name = "all", .world = with_two(), .annotations = in_mode_host("all")},
        {.name = "from_pool",
         .world = with_two(),
         .annotations = {{"rdma.mode", "host"}},
         .network = World::kContainerPath,
         .configure = add_host_pool},
        {.name = "limited",
         .world = with_two(),
         .annotations = in_mode_host("all", {{"rdma.max_hca_objects", "100"}})},
        {.name = "beside_softroce",
         .world = with_two(),
         .annotations = in_mode_host("mlx5_0,mlx5_1",
                                     {{"rdma.2.mode", "softroce"}, {"rdma.2.ip", "10.9.0.1/24"}})},
        {.name = "efa",
         .world = world_with(Nic::Efa, KernelTraits::v7_2()),
         .annotations = in_mode_host("efa_0")},
        {.name = "infiniband_without_netdev",
         .world = with_infiniband_without_netdev(),
         .annotations = in_mode_host("mlx5_0")},
    };
}

// No attachment has limits, and none is in a network that rdma-hook makes.
std::vector<Way> rootless_ways() {
    std::vector<Way> all = host_ways();
    std::erase_if(
        all, [](const Way& way) { return way.name == "limited" || way.name == "beside_softroce"; });
    all.push_back(all.front());
    all.back().name = "in_a_user_namespace";
    all.back().user_namespace = true;
    for (Way& way : all) {
        way.name = "rootless_" + way.name;
        way.mode = "host";
        way.configure = [configure = way.configure](hook::Config& config) {
            configure(config);
            config.rootless = true;
        };
    }
    all.front().first = true;
    return all;
}

}  // namespace test
