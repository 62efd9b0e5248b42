// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/hook/way.h"

namespace test {

namespace {
void add_range(hook::Config& config) {
    config.pools.push_back(
        {.name = "fast",
         .mode = "softroce",
         .is_default = true,
         .choose = hook::Choose::First,
         .ranges = {{*netns::parse_cidr("10.9.0.10/24"), *netns::parse_cidr("10.9.0.12/24")}}});
}

}  // namespace

std::vector<Way> softroce_ways() {
    const std::map<std::string, std::string> plain = {{"rdma.mode", "softroce"},
                                                      {"rdma.ip", "10.9.0.1/24,fd00:9::1/64"}};
    return {
        {.name = "macvlan", .world = World::standard(), .annotations = plain},
        {.name = "own_netns", .world = World::standard(), .annotations = plain, .network = ""},
        {.name = "exclusive", .world = exclusive_world(), .annotations = plain},
        {.name = "no_address",
         .world = World::standard(),
         .annotations = {{"rdma.mode", "softroce"}}},
        {.name = "from_range",
         .world = World::standard(),
         .annotations = {{"rdma.mode", "softroce"}, {"rdma.ip", "auto"}},
         .network = World::kContainerPath,
         .configure = add_range},
        {.name = "container_link",
         .world = with_container_link(World::standard()),
         .annotations = {{"rdma.mode", "softroce"},
                         {"rdma.parent", "container"},
                         {"rdma.ip", "10.88.9.9/16"}}},
        {.name = "container_link_has_the_address",
         .world = with_container_link(World::standard()),
         .annotations = {{"rdma.mode", "softroce"},
                         {"rdma.parent", "container"},
                         {"rdma.ip", "10.88.0.5/16,10.88.9.9/16"}}},
        {.name = "limited",
         .world = World::standard(),
         .annotations = {{"rdma.mode", "softroce"},
                         {"rdma.ip", "10.9.0.1/24"},
                         {"rdma.max_hca_handles", "2"},
                         {"rdma.max_hca_objects", "100"}}},
        {.name = "host_placement",
         .world = World::standard(KernelTraits::v6_12()),
         .annotations = {{"rdma.mode", "softroce"}, {"rdma.placement", "host"}}},
        {.name = "two_rails",
         .world = World::standard(),
         .annotations = {{"rdma.0.mode", "softroce"},
                         {"rdma.0.ip", "10.9.0.1/24"},
                         {"rdma.1.mode", "softroce"},
                         {"rdma.1.ip", "10.9.1.1/24"}}},
        {.name = "two_rails_on_one_network",
         .world = World::standard(),
         .annotations = {{"rdma.0.mode", "softroce"},
                         {"rdma.0.ip", "10.9.0.1/24,10.9.0.3/24"},
                         {"rdma.0.gateway", "10.9.0.254"},
                         {"rdma.0.routes", "10.8.0.0/16,10.7.0.0/16@10.9.0.253"},
                         {"rdma.1.mode", "softroce"},
                         {"rdma.1.ip", "10.9.0.2/24,fd00:9::2/64"},
                         {"rdma.1.gateway", "fd00:9::fe"}}},
        {.name = "refused_old_kernel",
         .world = World::standard(KernelTraits::v6_12()),
         .annotations = plain,
         .network = World::kContainerPath,
         .configure = [](hook::Config&) {},
         .refused = true},
        {.name = "optional_old_kernel",
         .world = World::standard(KernelTraits::v6_12()),
         .annotations = {{"rdma.mode", "softroce"}, {"rdma.optional", "true"}}},
    };
}

}  // namespace test
