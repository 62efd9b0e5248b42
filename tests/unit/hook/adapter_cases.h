// SPDX-License-Identifier: Apache-2.0
// The outcome for a container of each mode on each adapter of tests/fakes/adapters.cc.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/fakes/adapters.h"
#include "tests/unit/hook/life.h"

namespace test {

using Mode = netns::RdmaNetnsMode;

// The outcome for a container on an adapter. `says` is part of the refusal; empty: it attaches.
struct Case {
    Nic nic;
    std::string mode;
    Mode rdma_mode;
    std::string says = {};
    std::string child = {};  // rdma.child, if it is not the usual one
};

inline std::string name_of(const Case& each) {
    return adapter(each.nic).name + "_" + each.mode + each.child +
           (each.rdma_mode == Mode::Exclusive ? "_exclusive" : "");
}

inline std::map<std::string, std::string> annotations_of(const Case& each) {
    std::map<std::string, std::string> all{{"rdma.mode", each.mode}};
    if (each.mode != "host")
        all["rdma.ip"] = "10.9.0.1/24";
    const auto has = [&](const char* quirk) { return adapter(each.nic).quirks.contains(quirk); };
    const std::string name = has("no_netdev") ? "efa_0" : "enp1s0";
    if (each.mode == "shared")
        all["rdma.parent"] = name;
    else if (each.mode == "vf" && has("no_sriov") && !has("no_netdev"))
        all["rdma.pool"] = "passed";
    else
        all["rdma.device"] = name;
    if (each.mode == "asap2")
        all["rdma.bridge"] = "br0";
    if (!each.child.empty())
        all["rdma.child"] = each.child;
    return all;
}

// A host with the adapter.
inline World world_of(const Case& each) {
    World world = world_with(
        each.nic,
        KernelTraits::v7_3(),
        each.mode == "asap2" ? netns::EswitchMode::Switchdev : netns::EswitchMode::Legacy);
    world.mode = each.rdma_mode;
    return world;
}

// The pool that annotations_of() may name.
inline void add_pool(const Case& each, hook::Config& config) {
    if (!annotations_of(each).contains("rdma.pool"))
        return;
    hook::Pool pool;
    pool.name = "passed";
    pool.mode = "vf";
    pool.functions = {{"0000:02:00.0", "", ""}};
    config.pools.push_back(std::move(pool));
}

inline void add_pool(const Case& each, StateDir& state) {
    add_pool(each, state.config());
}

inline const std::vector<Case>& cases() {
    static const std::vector<Case> rows = {
        Case{Nic::Igb, "shared", Mode::Shared, "has no RDMA device to share"},
        Case{Nic::Igb, "vf", Mode::Shared},
        Case{Nic::Igb, "vf", Mode::Exclusive},
        Case{Nic::Igb, "asap2", Mode::Shared, "has no e-switch"},
        Case{Nic::Igb,
             "host",
             Mode::Shared,
             "no RDMA device, and no netdev or PCI function with one"},
        Case{Nic::Mlx5, "shared", Mode::Shared},
        Case{Nic::Mlx5, "shared", Mode::Exclusive, "rdma.mode=vf"},
        Case{Nic::Mlx5, "vf", Mode::Shared},
        Case{Nic::Mlx5, "vf", Mode::Exclusive},
        Case{Nic::Mlx5, "asap2", Mode::Shared},
        Case{Nic::Mlx5, "asap2", Mode::Exclusive},
        Case{Nic::Mlx5, "host", Mode::Shared},
        Case{Nic::Mlx5New, "shared", Mode::Shared},
        Case{Nic::Mlx5New, "vf", Mode::Shared},
        Case{Nic::Mlx5New, "vf", Mode::Exclusive},
        Case{Nic::Mlx5New, "asap2", Mode::Shared},
        Case{Nic::Mlx5New, "asap2", Mode::Exclusive},
        Case{Nic::Mlx5New, "host", Mode::Shared},
        Case{Nic::Ofed, "shared", Mode::Shared},
        Case{Nic::Ofed, "vf", Mode::Shared},
        Case{Nic::Ofed, "vf", Mode::Exclusive},
        Case{Nic::Ofed, "asap2", Mode::Shared},
        Case{Nic::Ofed, "asap2", Mode::Exclusive},
        Case{Nic::Ofed, "host", Mode::Shared},
        Case{Nic::BluefieldHost, "shared", Mode::Shared},
        Case{Nic::BluefieldHost, "vf", Mode::Shared},
        Case{Nic::BluefieldHost, "vf", Mode::Exclusive},
        Case{Nic::BluefieldHost, "asap2", Mode::Shared, "is set up on the DPU"},
        Case{Nic::BluefieldHost, "host", Mode::Shared},
        Case{Nic::Ice, "shared", Mode::Shared},
        Case{Nic::Ice, "vf", Mode::Shared, "its PF has one"},
        Case{Nic::Ice, "vf", Mode::Exclusive, "its PF has one"},
        Case{Nic::Ice, "asap2", Mode::Shared, "its PF has one"},
        Case{Nic::Ice, "host", Mode::Shared},
        Case{Nic::Irdma, "shared", Mode::Shared},
        Case{Nic::Irdma, "shared", Mode::Exclusive, "rdma.mode=vf"},
        Case{Nic::Irdma, "vf", Mode::Shared},
        Case{Nic::Irdma, "vf", Mode::Exclusive},
        Case{Nic::Irdma, "asap2", Mode::Shared},
        Case{Nic::Irdma, "asap2", Mode::Exclusive},
        Case{Nic::Irdma, "host", Mode::Shared},
        Case{Nic::Iwarp, "shared", Mode::Shared, "is an iWARP device"},
        Case{Nic::Iwarp, "vf", Mode::Shared},
        Case{Nic::Iwarp, "vf", Mode::Exclusive},
        Case{Nic::Iwarp, "asap2", Mode::Shared, "is an iWARP device"},
        Case{Nic::Iwarp, "host", Mode::Shared},
        Case{Nic::RoceOff, "shared", Mode::Shared, "RoCE is switched off"},
        Case{Nic::RoceOff, "vf", Mode::Shared, "RoCE is switched off"},
        Case{Nic::RoceOff, "vf", Mode::Exclusive, "RoCE is switched off"},
        Case{Nic::RoceOff, "asap2", Mode::Shared, "RoCE is switched off"},
        Case{Nic::RoceOff, "host", Mode::Shared},
        Case{Nic::Bnxt, "shared", Mode::Shared, "rdma.child=ipvlan"},
        Case{Nic::Bnxt, "shared", Mode::Shared, {}, "ipvlan"},
        Case{Nic::Bnxt, "vf", Mode::Shared},
        Case{Nic::Bnxt, "vf", Mode::Exclusive},
        Case{Nic::Bnxt, "asap2", Mode::Shared},
        Case{Nic::Bnxt, "asap2", Mode::Exclusive},
        Case{Nic::Bnxt, "host", Mode::Shared},
        Case{Nic::IbMlx5, "shared", Mode::Shared, "is not Ethernet"},
        Case{Nic::IbMlx5, "vf", Mode::Shared},
        Case{Nic::IbMlx5, "vf", Mode::Exclusive, "is InfiniBand"},
        Case{Nic::IbMlx5, "asap2", Mode::Shared, "has no e-switch"},
        Case{Nic::IbMlx5, "host", Mode::Shared},
        Case{Nic::VfWithoutPf, "shared", Mode::Shared},
        Case{Nic::VfWithoutPf, "vf", Mode::Shared},
        Case{Nic::VfWithoutPf, "vf", Mode::Exclusive},
        Case{Nic::VfWithoutPf, "asap2", Mode::Shared, "has no SR-IOV"},
        Case{Nic::VfWithoutPf, "host", Mode::Shared},
        Case{Nic::Efa, "shared", Mode::Shared, "set rdma.mode=host and rdma.device=efa_0"},
        Case{Nic::Efa, "vf", Mode::Shared, "set rdma.mode=host and rdma.device=efa_0"},
        Case{Nic::Efa, "asap2", Mode::Shared, "set rdma.mode=host and rdma.device=efa_0"},
        Case{Nic::Efa, "host", Mode::Shared}};
    return rows;
}

}  // namespace test
