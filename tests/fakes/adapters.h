// SPDX-License-Identifier: Apache-2.0
// Adapters as their drivers show themselves: what a kernel's driver does that another's does not.
// A row stands for hardware that no test can run on; each quirk names the source that says so.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/fakes/world.h"

namespace test {

// Something that a driver does. The Fake* classes look for its name among FakePci::quirks of a PF.
struct Quirk {
    std::string name;
    std::string does;
    std::string source;  // of a kernel, a module outside of it, a vendor's document, an issue
};

const std::vector<Quirk>& quirks();

struct Adapter {
    Nic nic;
    std::string name;  // as Nic has it
    std::string what;  // the product, and when it is like this
    std::string driver;
    std::string vf_driver;
    std::string rdma_type;  // of its RDMA device and of its VFs'; empty: they have none
    std::set<std::string> quirks;
    uint32_t mbits = 100000;
    uint32_t vf_offset = 1;  // routing id of VF 0, from the PF's
    uint32_t vf_stride = 1;
    int numa_node = 0;
    bool eswitch = false;  // it has one that can be in mode switchdev
    bool ethernet = true;  // else InfiniBand
    bool vf_rdma = true;   // its VFs have RDMA, too
};

const std::vector<Adapter>& adapters();

const Adapter& adapter(Nic nic);

// A host of this kernel with one adapter, PF enp1s0 (0000:01:00.0) with two VFs, as its
// administrator finds it. Of VfWithoutPf there is a second one, enp2s0 (0000:02:00.0), that is
// down. Where it has an e-switch it is in mode `eswitch`, and bridge br0 of Open vSwitch has the PF
// as its uplink.
World world_with(Nic nic,
                 KernelTraits kernel,
                 netns::EswitchMode eswitch = netns::EswitchMode::Legacy);

}  // namespace test
