// SPDX-License-Identifier: Apache-2.0
// Adapters with their drivers' behaviour: what one kernel driver does and another does not. A row
// stands for hardware that no test can run on; each quirk names its source.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/fakes/world.h"

namespace test {

// A behaviour of a driver. The Fake* classes look for its name among FakePci::quirks of a PF.
struct Quirk {
    std::string name;
    std::string does;
    std::string source;  // a kernel, a module outside of it, a vendor's document, an issue
};

const std::vector<Quirk>& quirks();

struct Adapter {
    Nic nic;
    std::string name;  // the name in Nic
    std::string what;  // the product, and the state in which it behaves so
    std::string driver;
    std::string vf_driver;
    std::string rdma_type;  // the type of its RDMA device and of its VFs'; empty: none
    std::set<std::string> quirks;
    uint32_t mbits = 100000;
    uint32_t vf_offset = 1;  // routing id of VF 0, from the PF's
    uint32_t vf_stride = 1;
    int numa_node = 0;
    bool eswitch = false;  // it has an e-switch for mode switchdev
    bool ethernet = true;  // false: InfiniBand
    bool vf_rdma = true;   // its VFs have RDMA, too
};

const std::vector<Adapter>& adapters();

const Adapter& adapter(Nic nic);

// The PCI address of enp1s0, the PF of the tests' first adapter.
inline constexpr char kPf[] = "0000:01:00.0";

// Returns a host of this kernel with one adapter, PF enp1s0 with two VFs, as its administrator
// finds it. VfWithoutPf has a second PF, enp2s0 (0000:02:00.0), that is down. An e-switch, if there
// is one, is in mode `eswitch`, and bridge br0 of Open vSwitch has the PF as its uplink.
World world_with(Nic nic,
                 KernelTraits kernel,
                 netns::EswitchMode eswitch = netns::EswitchMode::Legacy);

}  // namespace test
