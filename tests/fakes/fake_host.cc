// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/fake_host.h"

#include <utility>

#include "tests/fakes/fake_rdma.h"

namespace test {

FakeHost::FakeHost(World start)
    : world(std::move(start)),
      rdma_(std::make_unique<FakeRdmaDevices>(world, gate)),
      namespaces(world, gate),
      links(world, gate),
      rdma(*rdma_),
      processes(world, gate),
      files(gate),
      neighbours(world, gate),
      routes(world, gate),
      sriov(world, gate),
      cgroups(world, gate),
      device_cgroups(world, gate),
      placements(world, gate),
      classes(world, gate),
      devlink(world, gate),
      tc(world, gate),
      ovs(world, gate),
      statistics(world, gate),
      char_nodes(world, gate),
      pci(world, gate) {}

FakeHost::~FakeHost() = default;

netns::Host FakeHost::host() {
    return {namespaces,
            links,
            rdma,
            processes,
            files,
            programs,
            neighbours,
            routes,
            sriov,
            cgroups,
            device_cgroups,
            placements,
            classes,
            devlink,
            tc,
            ovs,
            statistics,
            char_nodes,
            pci};
}

}  // namespace test
