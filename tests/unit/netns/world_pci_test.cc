// SPDX-License-Identifier: Apache-2.0
// PCI functions of the World: what no kernel can be asked about, or has no hardware for here. For
// all else see tests/contract/vfs_test.cc.
#include <cerrno>

#include <gtest/gtest.h>

#include "tests/fakes/fake_host.h"
#include "tests/fakes/fake_rdma.h"

namespace test {
namespace {

using netns::LinkChange;
using netns::VfSettings;

constexpr char kIgb[] = "0000:01:00.0";
constexpr char kIgbVf1[] = "0000:01:10.2";
constexpr char kMlx[] = "0000:3b:00.0";
constexpr char kMlxVf0[] = "0000:3b:00.1";

World world_with_vfs() {
    World world = World::standard(KernelTraits::v7_3());
    world.mode = netns::RdmaNetnsMode::Exclusive;
    world.add_sriov("enp1s0", kIgb, 3);
    world.add_sriov("enp59s0", kMlx, 2, Nic::Mlx5);
    return world;
}

class FakedVfs : public testing::Test {
  protected:
    Netns container() { return fake_.world.handle(fake_.world.netns_of(World::kContainer)); }

    Netns host_ns() { return fake_.world.handle(fake_.world.host); }

    uint32_t index_of(const std::string& name) {
        return fake_.links.find_by_name(host_ns(), name).value()->index;
    }

    netns::Link netdev(const std::string& address) {
        const auto at = *fake_.world.netdev_of(address);
        return fake_.world.find_link(at.first, at.second)->link;
    }

    Result<> move_in(const std::string& name, const LinkChange& change) {
        return fake_.links.move(host_ns(), container(), index_of(name), change);
    }

    Result<> configure(const VfSettings& change) {
        return fake_.sriov.configure(
            host_ns(), index_of("enp1s0"), 1, change, base::Deadline::now());
    }

    FakeHost fake_{world_with_vfs()};
    const World start_ = fake_.world;
};

TEST_F(FakedVfs, AFunctionIsFoundByItsRdmaDevice) {
    EXPECT_EQ(fake_.sriov.find_by_rdma("mlx5_1").value(), kMlxVf0);
    EXPECT_EQ(fake_.sriov.find(kMlxVf0).value()->rdma_names, std::vector<std::string>{"mlx5_1"});
    EXPECT_EQ(fake_.sriov.list_pfs().value().size(), 2U);
}

TEST_F(FakedVfs, AMovedLinkIsDownAndBareAndCanComeBack) {
    LinkChange change;
    change.name = "rdma0";
    change.mtu = 1400;
    change.up = true;
    const auto before = netdev(kMlxVf0);
    ASSERT_TRUE(move_in("enp59s0v0", change));
    EXPECT_TRUE(fake_.links.find_by_device(container(), kMlxVf0).value()->up);
    EXPECT_TRUE(fake_.sriov.find(kMlxVf0).value()->netdevs.empty());
    ASSERT_TRUE(fake_.links.add_address(
        container(), netdev(kMlxVf0).index, *netns::parse_cidr("10.9.0.1/24")));
    const auto device = fake_.rdma.find_by_name(host_ns(), "mlx5_1").value().value();
    ASSERT_TRUE(fake_.rdma.move(host_ns(), container(), device.index));
    EXPECT_TRUE(fake_.sriov.find(kMlxVf0).value()->rdma_names.empty());
    EXPECT_EQ(fake_.rdma.find_by_netdev(container(), netdev(kMlxVf0).index, "").value(), device);
    ASSERT_TRUE(fake_.rdma.move(container(), host_ns(), device.index));
    LinkChange back;
    back.name = before.name;
    back.mtu = before.mtu;
    back.index = before.index;
    ASSERT_TRUE(fake_.links.move(container(), host_ns(), netdev(kMlxVf0).index, back));
    EXPECT_EQ(fake_.world, start_) << difference(start_, fake_.world);
}

TEST_F(FakedVfs, ATakenNameOrIndexIsBusy) {
    netns::Link link;
    link.name = "rdma0";
    link.altnames = {"enp1s0v1"};
    const uint32_t taken = fake_.world.add_link(container().id(), link);
    EXPECT_EQ(move_in("enp1s0v0", {.name = "rdma0"}).error().sys, EEXIST);
    EXPECT_EQ(netdev("0000:01:10.0").name, "enp1s0v0") << "but it has moved: the kernel's half way";
    EXPECT_FALSE(fake_.links.find_by_name(host_ns(), "enp1s0v0").value());
    EXPECT_EQ(move_in("enp1s0v1", {}).error().sys, EEXIST) << "its own name is taken";
    EXPECT_TRUE(fake_.links.find_by_name(host_ns(), "enp1s0v1").value());
    EXPECT_EQ(move_in("enp1s0v1", {.name = "rdma1", .index = taken}).error().sys, EBUSY);
    EXPECT_TRUE(move_in("enp1s0v1", {.name = "rdma1"}));
}

TEST_F(FakedVfs, ANamespaceThatDiesGivesItsHardwareBack) {
    const auto before = netdev(kMlxVf0);
    ASSERT_TRUE(move_in("enp59s0v0", {.name = "eth0", .up = true}));
    ASSERT_TRUE(fake_.rdma.move(
        host_ns(), container(), fake_.rdma.find_by_name(host_ns(), "mlx5_1").value()->index));
    fake_.world.processes.erase(World::kContainer);
    fake_.world.engine_paths.clear();
    fake_.settle();
    EXPECT_EQ(netdev(kMlxVf0).name, "dev" + std::to_string(before.index)) << "the host has an eth0";
    EXPECT_FALSE(netdev(kMlxVf0).up);
    EXPECT_EQ(fake_.sriov.find(kMlxVf0).value()->rdma_names, std::vector<std::string>{"mlx5_1"});
}

TEST_F(FakedVfs, ARebindTakesTheMacAndLosesTheName) {
    VfSettings change;
    change.mac = *netns::parse_mac("02:00:5e:10:00:01");
    const auto before = netdev(kIgbVf1);
    ASSERT_TRUE(configure(change));
    EXPECT_EQ(netdev(kIgbVf1).mac, before.mac);
    ASSERT_TRUE(fake_.sriov.unbind(kIgbVf1));
    ASSERT_TRUE(fake_.sriov.bind(kIgbVf1, "igbvf"));
    EXPECT_EQ(netdev(kIgbVf1).name, "eth1");
    EXPECT_EQ(netdev(kIgbVf1).mac, *change.mac);
}

TEST_F(FakedVfs, IndexesAfterARebindAreNotCompared) {
    for (const char* vf : {kIgbVf1, kMlxVf0}) {
        const std::string name = netdev(vf).name;
        ASSERT_TRUE(fake_.sriov.unbind(vf));
        EXPECT_FALSE(fake_.world == start_);
        ASSERT_TRUE(fake_.sriov.bind(vf, start_.pci.at(vf).driver));
        EXPECT_FALSE(fake_.world == start_) << "its name is another";
        ASSERT_TRUE(fake_.links.change(host_ns(), netdev(vf).index, {.name = name}));
        EXPECT_EQ(fake_.world, start_) << difference(start_, fake_.world);
        EXPECT_EQ(difference(start_, fake_.world), "");
    }
    ASSERT_TRUE(fake_.links.move(host_ns(), container(), index_of("enp1s0v0"), {}));
    ASSERT_TRUE(fake_.links.move(
        container(), host_ns(), netdev("0000:01:10.0").index, {.index = 0x40000007}));
    EXPECT_FALSE(fake_.world == start_) << "what only moved must have its index again";
}

}  // namespace
}  // namespace test
