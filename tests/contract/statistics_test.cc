// SPDX-License-Identifier: Apache-2.0
// The contract of netns/statistics.h.
#include <cerrno>

#include <gtest/gtest.h>

#include "netns/rdma.h"
#include "tests/contract/outside.h"

namespace test {
namespace {

constexpr uint32_t kLink = 0x40000031;
const netns::Mac kMac{{2, 0, 0x5e, 0x10, 0, 0x31}};

class StatisticsContract : public ContractTest {
  protected:
    const std::string name_ = fresh_rdma_name();

    void prepare() override {
        ASSERT_TRUE(make_macvlan(*outside_, outside_->container_ns(), kLink, "rdma0", kMac));
    }

    netns::Statistics& room() { return outside_->host().statistics; }
};

INSTANTIATE_TEST_SUITE_P(,
                         StatisticsContract,
                         Values(fake(Kernel::V7_2),
                                fake(Kernel::V7_3, netns::RdmaNetnsMode::Exclusive),
                                kernel()),
                         OutsideNames());

TEST_P(StatisticsContract, ALinkHasTheCountersOfEveryLink) {
    const auto counters = room().of_link(outside_->container_ns(), kLink);
    ASSERT_TRUE(counters) << counters.error().message();
    EXPECT_EQ(counters->size(), netns::kLinkCounters.size());
    for (const char* name : netns::kLinkCounters)
        EXPECT_TRUE(counters->contains(name)) << name;
    EXPECT_EQ(counters->at("rx_errors"), 0U);
}

TEST_P(StatisticsContract, WhatIsNotThereHasNone) {
    const Error link = error_of(room().of_link(outside_->container_ns(), kLink + 1));
    EXPECT_EQ(link.code, Code::Unavailable) << link.message();
    EXPECT_EQ(link.sys, ENODEV);
    EXPECT_FALSE(room().of_link(outside_->host_ns(), kLink)) << "it is in another";
    const Error device = error_of(
        room().of_device(outside_->host_ns(), {.index = 4711, .name = name_, .node_guid = 0}));
    EXPECT_EQ(device.code, Code::Unavailable) << device.message();
    EXPECT_EQ(device.sys, ENOENT);
}

TEST_P(StatisticsContract, ASoftRoceDeviceCountsPacketsWhereverItIs) {
    if (const std::string reason = outside_->lacks_rdma(); !reason.empty())
        GTEST_SKIP() << reason;
    netns::RdmaDevices& rdma = outside_->host().rdma;
    Netns ns = outside_->container_ns();
    const bool exclusive = rdma.mode().value() == netns::RdmaNetnsMode::Exclusive;
    const auto added = rdma.add_link(ns, {.name = name_, .type = "rxe", .netdev = kLink});
    ASSERT_TRUE(added) << added.error().message();
    const Netns first = exclusive ? outside_->host_ns() : ns;
    const auto device = rdma.find_by_name(first, name_).value();
    ASSERT_TRUE(device);
    const bool moves = exclusive && outside_->traits().rxe_can_move;
    if (!moves)
        ns = first;
    ASSERT_TRUE(!moves || rdma.move(first, ns, device->index));
    const auto counters = room().of_device(ns, *device);
    ASSERT_TRUE(counters) << counters.error().message();
    for (const char* name : {"sent_pkts", "rcvd_pkts"})
        EXPECT_TRUE(counters->contains(name)) << name;
    EXPECT_FALSE(counters->contains("lifespan")) << "it is a setting";
    EXPECT_TRUE(rdma.remove_link(ns, device->index));
}

TEST(Statistics, TheKernelCountsWhatIsSent) {
    if (const std::string reason = KernelOutside::missing(); !reason.empty())
        GTEST_SKIP() << reason;
    KernelOutside outside;
    auto rooms = outside.host();
    const Netns ns = outside.container_ns();
    ASSERT_TRUE(make_macvlan(outside, ns, kLink, "rdma0", kMac));
    const auto before = rooms.statistics.of_link(ns, kLink).value();
    ASSERT_TRUE(rooms.neighbours.announce(ns, {kLink, kMac}, {*netns::parse_cidr("10.9.9.9/24")}));
    const auto after = rooms.statistics.of_link(ns, kLink).value();
    EXPECT_GT(after.at("tx_packets"), before.at("tx_packets"));
    EXPECT_GT(after.at("tx_bytes"), before.at("tx_bytes"));
}

}  // namespace
}  // namespace test
