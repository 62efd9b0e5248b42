// SPDX-License-Identifier: Apache-2.0
// Mode shared: many containers on the host's one HCA, and what is refused before anything changes.
// Mode softiwarp: what it does not have.
#include <algorithm>
#include <cerrno>
#include <cstddef>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/hook/containers.h"

namespace test {
namespace {

using testing::HasSubstr;
using testing::Not;

class SharedHca : public Containers {
  protected:
    SharedHca() {
        hca_ = fake_.world.add_rdma(fake_.world.host, World::kHostLink, "mlx5_0", "mlx5");
        start_ = fake_.world;
    }

    Life container(const std::string& id, const std::string& ip) {
        return Containers::container(id, {{"rdma.mode", "shared"}, {"rdma.ip", ip}});
    }

    FakeRdma& hca() { return fake_.world.rdma.at(hca_); }

    FakeLink& host_link() { return *fake_.world.find_link(fake_.world.host, World::kHostLink); }

    // The slot of the HCA's table with this GID.
    std::string slot_of(const std::string& gid) {
        for (const FakeGid& entry : hca().gids) {
            if (netns::to_string(entry.gid) == gid)
                return std::to_string(entry.index);
        }
        return "none";
    }

    // The usual pool: from 10.9.0.`first` to 10.9.0.`last`.
    void add_pool(int first, int last) {
        hook::Pool pool;
        pool.name = "hca";
        pool.mode = "shared";
        pool.is_default = true;
        pool.ranges = {{*netns::parse_cidr(fmt::format("10.9.0.{}/24", first)),
                        *netns::parse_cidr(fmt::format("10.9.0.{}/24", last))}};
        state_.config().pools.push_back(pool);
    }

    // Somebody else on the network has 10.9.0.`first` to 10.9.0.`last`.
    void add_owners(int first, int last) {
        for (int number = first; number <= last; ++number)
            fake_.world.owners[fmt::format("10.9.0.{}", number)] =
                *netns::parse_mac("52:54:00:11:22:33");
    }

    // From now on, in children_made_.
    void count_children() {
        fake_.gate.meanwhile = [this](int call) {
            if (fake_.gate.calls()[static_cast<size_t>(call)].starts_with("create macvlan"))
                ++children_made_;
        };
    }

    void expect_as_before() {
        expect_nothing_kept();
        EXPECT_EQ(hca(), start_.rdma.at(hca_));
    }

    World start_;
    uint32_t hca_ = 0;
    int children_made_ = 0;
};

TEST_F(SharedHca, EachHasTheGidOfItsOwnAddress) {
    Life one = container("one", "10.9.0.1/24");
    Life two = container("two", "10.9.0.2/24,fd00:9::2/64");
    Life three = container("three", "fd00:9::3/64");
    for (Life* life : {&one, &two, &three}) {
        ASSERT_TRUE(life->start());
        EXPECT_EQ(life->environment("RDMA_DEVICE"), "mlx5_0");
        EXPECT_EQ(life->environment("RDMA_NETDEV"), "rdma0");
        EXPECT_EQ(life->environment("RDMA_GID_INDEX"), slot_of(life->environment("RDMA_GID")));
        EXPECT_EQ(life->nodes(),
                  (std::vector<std::string>{"/dev/infiniband/" + hca().uverbs.name,
                                            "/dev/infiniband/rdma_cm"}));
    }
    EXPECT_EQ(one.environment("RDMA_GID"), "0000:0000:0000:0000:0000:ffff:0a09:0001");
    EXPECT_EQ(three.environment("RDMA_GID"), "fd00:0009:0000:0000:0000:0000:0000:0003");
    for (Life* life : {&two, &one, &three})
        ASSERT_TRUE(life->poststop());
    expect_as_before();
}

// In a VLAN of the host's there may be the same address, which no probe sees.
TEST_F(SharedHca, AnotherNetdevsGidOfTheSameAddressIsNotTakenForItsOwn) {
    hca().gids.push_back({.index = 7,
                          .gid = netns::gid_of(*netns::parse_ip("10.9.0.1")),
                          .type = netns::GidType::RoceV2,
                          .ns = fake_.world.host,
                          .netdev = World::kHostLink});
    Life one = container("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    EXPECT_NE(one.environment("RDMA_GID_INDEX"), "7");
}

TEST_F(SharedHca, TwoInterfacesOnOneHcaAreOneDevice) {
    Life one = container("one", "10.9.0.1/24");
    one.annotations.merge(std::map<std::string, std::string>{{"rdma.1.mode", "shared"},
                                                             {"rdma.1.ip", "10.9.1.1/24"}});
    ASSERT_TRUE(one.start());
    EXPECT_EQ(one.environment("NCCL_IB_HCA"), "=mlx5_0");
    EXPECT_EQ(one.environment("UCX_NET_DEVICES"), "mlx5_0:1");
    EXPECT_EQ(one.environment("UCX_UD_VERBS_ETH_DGID_CHECK"), "");  // rxe alone needs it
    EXPECT_NE(one.environment("RDMA_GID_INDEX"), one.environment("RDMA_GID_INDEX_1"));
}

TEST_F(SharedHca, AFullTableIsRefusedWithItsFigures) {
    hca().gid_slots = static_cast<uint32_t>(hca().gids.size()) + 3;
    Life one = container("one", "10.9.0.1/24,10.9.0.2/24,fd00:9::1/64");
    const auto error = refusal(one);
    EXPECT_EQ(error.code, Code::Busy);
    EXPECT_THAT(error.message(), HasSubstr("mlx5_0 has 3 of 5 GIDs free"));
    EXPECT_THAT(error.message(), HasSubstr("needs 4"));
    one.annotations["rdma.ip"] = "10.9.0.1/24,fd00:9::1/64";
    EXPECT_TRUE(one.start());
}

TEST_F(SharedHca, AnAddressInUseOnTheNetworkIsNotTaken) {
    count_children();
    fake_.world.owners["10.9.0.1"] = *netns::parse_mac("52:54:00:11:22:33");
    Life one = container("one", "10.9.0.1/24");
    const auto error = refusal(one);
    EXPECT_EQ(error.code, Code::Busy);
    EXPECT_THAT(error.message(), HasSubstr("10.9.0.1 is in use on the network"));
    EXPECT_THAT(error.message(), HasSubstr("52:54:00:11:22:33"));
    EXPECT_THAT(error.message(), HasSubstr("choose another rdma.ip"));
    EXPECT_EQ(children_made_, 1) << "there is no other to try";
    // Another container's, by its lease: nobody has to be asked.
    Life two = container("two", "10.9.0.2/24");
    Life rival = container("rival", "10.9.0.2/24");
    ASSERT_TRUE(two.start());
    EXPECT_EQ(refusal(rival).code, Code::Busy);
}

TEST_F(SharedHca, AnAddressOfThePoolThatOthersHaveIsPassedOver) {
    add_pool(10, 11);
    add_owners(10, 10);
    Life one = container("one", "auto");
    const auto started = one.start();
    ASSERT_TRUE(started) << started.error().message();
    EXPECT_EQ(one.environment("RDMA_GID"), "0000:0000:0000:0000:0000:ffff:0a09:000b");
    Life two = container("two", "auto");
    EXPECT_EQ(refusal(two).code, Code::Busy);
    ASSERT_TRUE(one.poststop());
    expect_as_before();
    EXPECT_TRUE(two.start());
}

// A macvlan's question does not reach its own parent.
TEST_F(SharedHca, AnAddressOfTheHostsIsPassedOver) {
    add_pool(10, 11);
    host_link().addresses.push_back(*netns::parse_cidr("10.9.0.10/24"));
    Life one = container("one", "auto");
    ASSERT_TRUE(one.start());
    EXPECT_EQ(one.environment("RDMA_GID"), "0000:0000:0000:0000:0000:ffff:0a09:000b");
}

TEST_F(SharedHca, IsHardwareRatherThanAnRxeBesideIt) {
    FakeRdma adapter = hca();
    fake_.world.rdma.erase(hca_);
    fake_.world.add_rdma(fake_.world.host, World::kHostLink, "rxe_admin", "rxe");
    fake_.world.rdma[hca_ + 7] = adapter;
    fake_.world.rdma[hca_ + 7].device.index = hca_ + 7;
    Life one = container("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    EXPECT_EQ(one.environment("RDMA_DEVICE"), "mlx5_0");
    // It is asked for by name.
    Life two = container("two", "10.9.0.2/24");
    two.annotations["rdma.parent"] = "mlx5_0";
    ASSERT_TRUE(two.start());
    EXPECT_EQ(two.environment("RDMA_DEVICE"), "mlx5_0");
}

TEST_F(SharedHca, OthersHaveTheWholePool) {
    count_children();
    add_pool(10, 11);
    add_owners(10, 11);
    Life one = container("one", "auto");
    const auto error = refusal(one);
    EXPECT_EQ(error.code, Code::Busy);
    EXPECT_THAT(error.message(),
                HasSubstr("others on the network have 2 of the pool's addresses (10.9.0.10, "
                          "10.9.0.11)"));
    EXPECT_THAT(error.message(), HasSubstr("no free address from 10.9.0.10 to 10.9.0.11"));
    EXPECT_THAT(error.message(), HasSubstr("give the pool another \"range\""));
    EXPECT_THAT(error.message(), Not(HasSubstr("rdma.ip")));
    EXPECT_EQ(children_made_, 2);
    expect_as_before();
}

TEST_F(SharedHca, NoMoreThanEightOfAPoolAreTried) {
    count_children();
    constexpr int kTries = 8;
    add_pool(10, 40);
    add_owners(10, 30);
    Life one = container("one", "auto");
    const auto error = refusal(one);
    EXPECT_EQ(error.code, Code::Busy);
    EXPECT_THAT(error.message(), HasSubstr("have 8 of the pool's addresses"));
    EXPECT_THAT(error.message(), HasSubstr("10.9.0.17 is in use on the network"));
    EXPECT_THAT(error.message(), HasSubstr("give the pool another \"range\""));
    EXPECT_EQ(children_made_, kTries);
    expect_as_before();
}

TEST_F(SharedHca, WhatIsNotUndoneIsTheLastTry) {
    count_children();
    add_pool(10, 11);
    add_owners(10, 10);
    Life one = container("one", "auto");
    fake_.gate.fail_from(0, EBUSY, {"remove link"});
    const Error refused = error_of(one.precreate());
    EXPECT_THAT(refused.message(), HasSubstr("10.9.0.10 is in use on the network"));
    EXPECT_THAT(refused.message(), HasSubstr("roll back"));
    EXPECT_EQ(children_made_, 1);
    fake_.gate.restart();
    EXPECT_TRUE(collect(fake_, state_).trouble.empty());
    expect_as_before();
}

TEST_F(SharedHca, APoolMayDoWithoutAsking) {
    hook::Pool pool;
    pool.name = "quick";
    pool.mode = "shared";
    pool.probe = false;
    state_.config().pools.push_back(pool);
    fake_.world.owners["10.9.0.1"] = *netns::parse_mac("52:54:00:11:22:33");
    Life one = container("one", "10.9.0.1/24");
    one.annotations["rdma.pool"] = "quick";
    EXPECT_TRUE(one.start());
}

TEST_F(SharedHca, WhereThereIsNoHca) {
    fake_.world.rdma.clear();
    Life one = container("one", "10.9.0.1/24");
    EXPECT_THAT(refusal(one).message(), HasSubstr("'eth0' has no RDMA device to share"));
    one.annotations["rdma.parent"] = "mlx5_7";
    EXPECT_THAT(refusal(one).message(), HasSubstr("'mlx5_7': no such network interface"));
}

TEST_F(SharedHca, InExclusiveModeItBelongsToOneNamespace) {
    fake_.world.mode = netns::RdmaNetnsMode::Exclusive;
    Life one = container("one", "10.9.0.1/24");
    const auto error = refusal(one);
    EXPECT_EQ(error.code, Code::Unsupported);
    EXPECT_THAT(error.message(), HasSubstr("rdma.mode=vf"));
}

TEST_F(SharedHca, UcxIsToldOfAnRxe) {
    hca().type = "rxe";
    fake_.world.kernel.rxe_serves_children = true;
    Life one = container("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    EXPECT_EQ(one.environment("UCX_UD_VERBS_ETH_DGID_CHECK"), "n");
}

TEST_F(SharedHca, AnIpvlanNeedsHardware) {
    hca().type = "rxe";
    Life one = container("one", "10.9.0.1/24");
    one.annotations["rdma.child"] = "ipvlan";
    const auto error = refusal(one);
    EXPECT_EQ(error.code, Code::Refused);
    EXPECT_THAT(error.message(), HasSubstr("mlx5_0 is a software device"));
}

TEST_F(SharedHca, AVlanHasOneOwner) {
    Life one = container("one", "10.9.0.1/24");
    Life two = container("two", "10.9.0.2/24");
    one.annotations["rdma.vlan"] = "7";
    two.annotations["rdma.vlan"] = "7";
    ASSERT_TRUE(one.start());
    const auto& links = fake_.world.namespaces[fake_.world.engine_paths["/run/netns/one"]].links;
    EXPECT_TRUE(
        std::ranges::any_of(links, [](const auto& entry) { return entry.second.vlan == 7; }));
    EXPECT_EQ(refusal(two).code, Code::Busy);
    two.annotations["rdma.vlan"] = "8";
    EXPECT_TRUE(two.start());
}

TEST_F(SharedHca, OfABondThePortsHcaIsUsed) {
    netns::Link bond;
    bond.name = "bond0";
    bond.kind = "bond";
    bond.mac = *netns::parse_mac("52:54:00:00:00:02");
    bond.mtu = 1500;
    bond.up = true;
    const uint32_t index = fake_.world.add_link(fake_.world.host, bond);
    host_link().link.master = index;
    host_link().bridge_port = true;
    Life one = container("one", "10.9.0.1/24");
    one.annotations["rdma.parent"] = "bond0";
    ASSERT_TRUE(one.start());
    ASSERT_TRUE(one.poststop());
    host_link().link.master = 0;
    EXPECT_EQ(refusal(one).code, Code::Refused);
}

TEST_F(SharedHca, SoftIwarpHasNoGidToName) {
    Life one = container("one", "10.9.0.1/24");
    one.annotations["rdma.mode"] = "softiwarp";
    ASSERT_TRUE(one.start());
    EXPECT_THAT(one.environment("RDMA_DEVICE"), testing::StartsWith("siw"));
    EXPECT_EQ(one.environment("RDMA_GID"), "");
    EXPECT_EQ(one.environment("RDMA_GID_INDEX"), "");
    EXPECT_EQ(one.nodes().back(), "/dev/infiniband/rdma_cm");
    ASSERT_TRUE(one.poststop());
    expect_as_before();
}

TEST_F(SharedHca, SoftIwarpCannotBeMoved) {
    fake_.world.mode = netns::RdmaNetnsMode::Exclusive;
    Life one = container("one", "10.9.0.1/24");
    one.annotations["rdma.mode"] = "softiwarp";
    const auto error = refusal(one);
    EXPECT_EQ(error.code, Code::Unsupported);
    EXPECT_THAT(error.message(), HasSubstr("a siw device cannot be given to a container"));
}

}  // namespace
}  // namespace test
