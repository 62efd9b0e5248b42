// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/hook/adapter_cases.h"
#include "tests/unit/hook/way.h"

namespace test {

namespace {
Way way_of(const Case& each) {
    return {.name = name_of(each),
            .world = world_of(each),
            .annotations = annotations_of(each),
            .network = World::kContainerPath,
            .configure = [each](hook::Config& config) { add_pool(each, config); }};
}

Way with_rxe(const Case& each) {
    Way way = way_of(each);
    way.annotations.insert(
        {{"rdma.provider", "rxe"}, {"rdma.vlan", "7"}, {"rdma.mac", "02:00:5e:10:00:01"}});
    return way;
}

bool is_plain_vf(const Case& each) {
    return each.mode == "vf" && each.rdma_mode == Mode::Shared;
}
}  // namespace

std::vector<Way> adapter_ways() {
    std::vector<Way> ways;
    for (const Case& each : cases()) {
        if (each.says.empty() && is_plain_vf(each))
            ways.push_back(way_of(each));
    }
    // Its VFs have no RDMA, and a reset after each setting.
    ways.push_back(with_rxe({Nic::Ice, "vf", Mode::Shared}));
    return ways;
}

std::vector<Way> further_adapter_ways() {
    std::vector<Way> ways;
    for (const Case& each : cases()) {
        if (each.says.empty() && !is_plain_vf(each))
            ways.push_back(way_of(each));
    }
    ways.push_back(with_rxe({Nic::Ice, "vf", Mode::Exclusive}));
    ways.push_back(with_rxe({Nic::Ice, "asap2", Mode::Shared}));
    return ways;
}

}  // namespace test
