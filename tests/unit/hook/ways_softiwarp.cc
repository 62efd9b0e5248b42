// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/hook/way.h"

namespace test {

std::vector<Way> softiwarp_ways() {
    const std::map<std::string, std::string> plain = {{"rdma.mode", "softiwarp"},
                                                      {"rdma.ip", "10.9.0.1/24,fd00:9::1/64"}};
    return {
        {.name = "macvlan", .world = World::standard(), .annotations = plain},
        {.name = "old_kernel",
         .world = World::standard(KernelTraits::v6_12()),
         .annotations = plain},
        {.name = "own_netns", .world = World::standard(), .annotations = plain, .network = ""},
        {.name = "container_link",
         .world = with_container_link(World::standard(KernelTraits::v6_12())),
         .annotations = {{"rdma.mode", "softiwarp"}, {"rdma.parent", "container"}}},
        {.name = "beside_softroce",
         .world = World::standard(),
         .annotations = {{"rdma.0.mode", "softiwarp"},
                         {"rdma.0.ip", "10.9.0.1/24"},
                         {"rdma.1.mode", "softroce"},
                         {"rdma.1.ip", "10.9.1.1/24"}}},
        {.name = "limited",
         .world = World::standard(),
         .annotations = {{"rdma.mode", "softiwarp"},
                         {"rdma.ip", "10.9.0.1/24"},
                         {"rdma.max_hca_handles", "2"}}},
    };
}

}  // namespace test
