// SPDX-License-Identifier: Apache-2.0
// The contract of netns/rdma.h as far as an HCA is shared: its netdev, what it is, the room in its
// GID table. The kernel's half runs where RDMA is: in the lab.
#include <cerrno>

#include <gtest/gtest.h>

#include "netns/rdma.h"
#include "tests/contract/outside.h"

namespace test {
namespace {

using netns::RdmaDevice;

constexpr uint32_t kNetdev = 0x40000001;

class HcaContract : public ContractTest {
  protected:
    const std::string name_ = fresh_rdma_name();

    void prepare() override {
        if (room().mode().value() == netns::RdmaNetnsMode::Exclusive)
            GTEST_SKIP() << "in exclusive mode nothing is shared";
        const Netns owner = make_rxe(*outside_, kNetdev, name_);
        const auto found = room().find_by_name(owner, name_);
        ASSERT_TRUE(found && *found);
        device_ = **found;
    }

    netns::RdmaDevices& room() { return outside_->host().rdma; }

    static base::Deadline patience() { return base::Deadline::in(std::chrono::seconds(10)); }

    RdmaDevice device_;
    const RdmaDevice missing_{.index = 4711, .name = "rxehca7", .node_guid = 0};
};

INSTANTIATE_TEST_SUITE_P(,
                         HcaContract,
                         Values(fake(Kernel::V6_12),
                                fake(Kernel::V7_3),
                                kernel(KernelOutside::rdma_missing)),
                         OutsideNames());

TEST_P(HcaContract, ItsNetdevIsNamedWhereItIs) {
    EXPECT_EQ(room().netdev_of(outside_->container_ns(), device_.index).value(), kNetdev);
    EXPECT_FALSE(room().netdev_of(outside_->host_ns(), device_.index).value());
    EXPECT_FALSE(room().netdev_of(outside_->host_ns(), missing_.index).value());
}

TEST_P(HcaContract, SoftwareIsKnownAsSuch) {
    const Netns ns = outside_->container_ns();
    const auto software = room().software_type(ns, device_);
    ASSERT_TRUE(software) << software.error().message();
    EXPECT_EQ(*software, "rxe");
    const Error missing = error_of(room().software_type(ns, missing_));
    EXPECT_EQ(missing.code, Code::Unavailable) << missing.message();
}

TEST_P(HcaContract, ItsDriverHasANameAndAnAbi) {
    const Netns ns = outside_->container_ns();
    const auto driver = room().driver(ns, device_);
    ASSERT_TRUE(driver) << driver.error().message();
    EXPECT_EQ(*driver, "rxe");
    const auto missing = room().driver(ns, missing_);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Code::Unavailable) << missing.error().message();
    const auto node = room().uverbs_node(ns, device_.index);
    ASSERT_TRUE(node) << node.error().message();
    EXPECT_EQ(room().provider_abi(*node).value(), "2");
    EXPECT_EQ(room().provider_abi({.name = "uverbs4711"}).value(), std::nullopt);
}

TEST_P(HcaContract, SoftwareIsFoundByItsType) {
    const Netns ns = outside_->container_ns();
    const auto rxe = room().find_software(ns, kNetdev, "rxe");
    ASSERT_TRUE(rxe) << rxe.error().message();
    EXPECT_EQ(*rxe, device_);
    EXPECT_EQ(room().find_software(ns, kNetdev, "siw").value(), std::nullopt);
    EXPECT_EQ(room().find_software(ns, kNetdev + 1, "rxe").value(), std::nullopt);
}

// As MLNX_OFED has it, where nobody else sees it.
TEST_P(HcaContract, AGidIsLookedForWhereItsNetdevIs) {
    const Netns ns = outside_->container_ns();
    const netns::Gid gid = netns::link_local_gid({{2, 0, 0x5e, 0x10, 0, 1}});
    const auto found = room().wait_for_gid(ns, device_, {gid, "rdma0", ns}, patience());
    EXPECT_TRUE(found) << found.error().message();
}

TEST_P(HcaContract, ItsPortBecomesActive) {
    const Netns ns = outside_->container_ns();
    EXPECT_FALSE(device_.iwarp);
    const auto state = room().wait_for_active(ns, device_.index, ns, patience());
    ASSERT_TRUE(state) << state.error().message();
    EXPECT_EQ(*state, netns::kActivePort);
    const Error missing = error_of(room().wait_for_active(ns, missing_.index, ns, patience()));
    EXPECT_EQ(missing.code, Code::Unavailable) << missing.message();
}

TEST_P(HcaContract, FreeGidsAreCountedAsFarAsNeeded) {
    const Netns ns = outside_->container_ns();
    const auto looked = room().gid_space(ns, device_, 0);
    ASSERT_TRUE(looked) << looked.error().message();
    EXPECT_EQ(looked->size, 0U) << "nothing is counted";
    for (const uint32_t enough : {1U, 7U}) {
        const auto space = room().gid_space(ns, device_, enough);
        ASSERT_TRUE(space) << space.error().message();
        EXPECT_EQ(space->free, enough);
        EXPECT_EQ(space->per_address, 1U) << "rxe knows RoCE v2 alone";
        EXPECT_GE(space->size, 128U);
    }
    const auto all = room().gid_space(ns, device_, 100000);
    ASSERT_TRUE(all) << all.error().message();
    EXPECT_LT(all->free, all->size) << "the link-local GID is there";
    EXPECT_GT(all->free + 8, all->size) << "and few more";
    const Error missing = error_of(room().gid_space(ns, missing_, 1));
    EXPECT_EQ(missing.code, Code::Unavailable) << missing.message();
}

}  // namespace
}  // namespace test
