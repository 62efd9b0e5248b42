// SPDX-License-Identifier: Apache-2.0
// Hosts whose NIC forwards by rules of Open vSwitch.
#pragma once

#include "hook/request/config.h"
#include "tests/fakes/fake_host.h"

namespace test {

inline constexpr char kEswitch[] = "pci/0000:01:00.0";

// enp1s0, a PF (0000:01:00.0) in switchdev with two VFs and their representors; a bridge br0 with
// enp1s0 as its uplink, made by somebody else. `offload`: Open vSwitch may use the hardware.
World switchdev_world(Nic nic, bool offload = true);
// Two netdevsims instead: the e-switch netdevsim1 (uplink eni1np1) with two VFs, and netdevsim11,
// netdevsim12 as these VFs' other ends (eni11np1, eni12np1).
World mapped_world();
// The pool for it, mode asap2's default: both functions, bridge br0.
void add_mapped_pool(hook::Config& config);

// Somebody else has made VF 0's representor a port of br0.
World with_foreign_port(World world);
// ovs-vswitchd does not act.
World without_daemon(World world);

}  // namespace test
