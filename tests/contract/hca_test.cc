// SPDX-License-Identifier: Apache-2.0
// The contract of netns/rdma.h as far as an HCA is shared: its netdev, what it is, the room in its
// GID table. The kernel's half runs where RDMA is: in the lab.
#include <cerrno>

#include <gtest/gtest.h>

#include "tests/contract/outside.h"

namespace test {
namespace {

using netns::RdmaDevice;

constexpr uint32_t kNetdev = 0x40000001;

template <class Outside>
class HcaContract : public testing::Test {
  protected:
    void SetUp() override {
        if (const std::string reason = Outside::rdma_missing(); !reason.empty())
            GTEST_SKIP() << reason;
        if (room().mode().value() == netns::RdmaNetnsMode::Exclusive)
            GTEST_SKIP() << "in exclusive mode nothing is shared";
        const Netns owner = make_rxe(outside_, kNetdev, "rxehca0");
        const auto found = room().find_by_name(owner, "rxehca0");
        ASSERT_TRUE(found && *found);
        device_ = **found;
    }

    netns::RdmaDevices& room() { return outside_.host().rdma; }

    static base::Deadline patience() { return base::Deadline::in(std::chrono::seconds(10)); }

    Outside outside_;
    RdmaDevice device_;
    const RdmaDevice missing_{.index = 4711, .name = "rxehca7", .node_guid = 0};
};

using HcaOutsides =
    testing::Types<FakeOutside<Kernel::V6_12>, FakeOutside<Kernel::V7_3>, KernelOutside>;
TYPED_TEST_SUITE(HcaContract, HcaOutsides, OutsideNames);

TYPED_TEST(HcaContract, ItsNetdevIsNamedWhereItIs) {
    netns::RdmaDevices& room = this->room();
    EXPECT_EQ(room.netdev_of(this->outside_.container_ns(), this->device_.index).value(), kNetdev);
    EXPECT_FALSE(room.netdev_of(this->outside_.host_ns(), this->device_.index).value());
    EXPECT_FALSE(room.netdev_of(this->outside_.host_ns(), this->missing_.index).value());
}

TYPED_TEST(HcaContract, SoftwareIsKnownAsSuch) {
    const Netns ns = this->outside_.container_ns();
    const auto software = this->room().software_type(ns, this->device_);
    ASSERT_TRUE(software) << software.error().message();
    EXPECT_EQ(*software, "rxe");
    const Error missing = error_of(this->room().software_type(ns, this->missing_));
    EXPECT_EQ(missing.code, Code::Unavailable) << missing.message();
}

TYPED_TEST(HcaContract, ItsDriverHasANameAndAnAbi) {
    const Netns ns = this->outside_.container_ns();
    const auto driver = this->room().driver(ns, this->device_);
    ASSERT_TRUE(driver) << driver.error().message();
    EXPECT_EQ(*driver, "rxe");
    const auto missing = this->room().driver(ns, this->missing_);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Code::Unavailable) << missing.error().message();
    const auto node = this->room().uverbs_node(ns, this->device_.index);
    ASSERT_TRUE(node) << node.error().message();
    EXPECT_EQ(this->room().provider_abi(*node).value(), "2");
    EXPECT_EQ(this->room().provider_abi({.name = "uverbs4711"}).value(), std::nullopt);
}

TYPED_TEST(HcaContract, SoftwareIsFoundByItsType) {
    const Netns ns = this->outside_.container_ns();
    const auto rxe = this->room().find_software(ns, kNetdev, "rxe");
    ASSERT_TRUE(rxe) << rxe.error().message();
    EXPECT_EQ(*rxe, this->device_);
    EXPECT_EQ(this->room().find_software(ns, kNetdev, "siw").value(), std::nullopt);
    EXPECT_EQ(this->room().find_software(ns, kNetdev + 1, "rxe").value(), std::nullopt);
}

// As MLNX_OFED has it, where nobody else sees it.
TYPED_TEST(HcaContract, AGidIsLookedForWhereItsNetdevIs) {
    const Netns ns = this->outside_.container_ns();
    const netns::Gid gid = netns::link_local_gid({{2, 0, 0x5e, 0x10, 0, 1}});
    const auto found =
        this->room().wait_for_gid(ns, this->device_, {gid, "rdma0", ns}, this->patience());
    EXPECT_TRUE(found) << found.error().message();
}

TYPED_TEST(HcaContract, ItsPortBecomesActive) {
    const Netns ns = this->outside_.container_ns();
    EXPECT_FALSE(this->device_.iwarp);
    const auto state = this->room().wait_for_active(ns, this->device_.index, ns, this->patience());
    ASSERT_TRUE(state) << state.error().message();
    EXPECT_EQ(*state, netns::kActivePort);
    const Error missing =
        error_of(this->room().wait_for_active(ns, this->missing_.index, ns, this->patience()));
    EXPECT_EQ(missing.code, Code::Unavailable) << missing.message();
}

TYPED_TEST(HcaContract, FreeGidsAreCountedAsFarAsNeeded) {
    const Netns ns = this->outside_.container_ns();
    const auto looked = this->room().gid_space(ns, this->device_, 0);
    ASSERT_TRUE(looked) << looked.error().message();
    EXPECT_EQ(looked->size, 0U) << "nothing is counted";
    for (const uint32_t enough : {1U, 7U}) {
        const auto space = this->room().gid_space(ns, this->device_, enough);
        ASSERT_TRUE(space) << space.error().message();
        EXPECT_EQ(space->free, enough);
        EXPECT_EQ(space->per_address, 1U) << "rxe knows RoCE v2 alone";
        EXPECT_GE(space->size, 128U);
    }
    const auto all = this->room().gid_space(ns, this->device_, 100000);
    ASSERT_TRUE(all) << all.error().message();
    EXPECT_LT(all->free, all->size) << "the link-local GID is there";
    EXPECT_GT(all->free + 8, all->size) << "and few more";
    const Error missing = error_of(this->room().gid_space(ns, this->missing_, 1));
    EXPECT_EQ(missing.code, Code::Unavailable) << missing.message();
}

}  // namespace
}  // namespace test
