// SPDX-License-Identifier: Apache-2.0
// Containers with VFs over a fake host: one igb-like PF enp1s0, one with RDMA of its own, enp59s0.
#pragma once

#include <gtest/gtest.h>

#include "tests/fakes/adapters.h"
#include "tests/unit/hook/containers.h"

namespace test {

class VfLife : public Containers {
  protected:
    static constexpr char kMlx[] = "0000:3b:00.0";  // enp59s0: 2 VFs

    // enp1s0 has 7 VFs.
    VfLife() : Containers(World::standard(KernelTraits::v7_3())) {
        fake_.world.add_sriov("enp1s0", kPf, 7);
        fake_.world.add_sriov("enp59s0", kMlx, 2, Nic::Mlx5);
        start_ = fake_.world;
    }

    Life container(const std::string& id, const std::string& device = "enp1s0") {
        return Containers::container(id, {{"rdma.mode", "vf"}, {"rdma.device", device}});
    }

    [[nodiscard]] std::string vf(uint32_t number, const char* pf = kPf) const {
        return fake_.world.vf_address(pf, number);
    }

    netns::Link& netdev(const std::string& address) {
        const auto at = fake_.world.netdev_of(address);
        return fake_.world.find_link(at->first, at->second)->link;
    }

    [[nodiscard]] NetnsId place(const std::string& address) const {
        const auto at = fake_.world.netdev_of(address);
        return at ? at->first : NetnsId{};
    }

    [[nodiscard]] NetnsId netns_of(const Life& life) const {
        return fake_.world.engine_paths.at(life.network);
    }

    // The VF on the host is as it was at the start of the test.
    void expect_as_before(const std::string& address) {
        const auto was = *start_.netdev_of(address);
        netns::Link expected = start_.find_link(was.first, was.second)->link;
        ASSERT_EQ(place(address), fake_.world.host);
        expected.index = netdev(address).index;
        EXPECT_EQ(netdev(address), expected);
        EXPECT_EQ(fake_.world.pci.at(address).driver, start_.pci.at(address).driver);
        EXPECT_EQ(fake_.world.pci.at(address).settings, start_.pci.at(address).settings);
    }

    std::vector<std::string> garbage() { return collect(fake_, state_).trouble; }

    World start_;
};

}  // namespace test
