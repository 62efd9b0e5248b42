// SPDX-License-Identifier: Apache-2.0
// The contract of netns/cgroup.h. The kernel's half runs as root where cgroup2 has the controller
// rdma, and the limits themselves where RDMA is: in the lab.
#include <cerrno>

#include <gtest/gtest.h>

#include "tests/contract/outside.h"
#include "tests/contract/outside_cgroups.h"

namespace test {
namespace {

using netns::RdmaLimit;
using netns::RdmaNetnsMode;

constexpr uint32_t kLimitedNetdev = 0x40000001;
constexpr char kLimited[] = "rxect0";

template <class Outside>
class CgroupsContract : public testing::Test {
  protected:
    void SetUp() override {
        if (const std::string reason = Outside::cgroup_missing(); !reason.empty())
            GTEST_SKIP() << reason;
        outside_.set_own_cgroup(true);
    }

    netns::Cgroups& room() { return outside_.host().cgroups; }

    netns::ProcessToken container() {
        return outside_.host().processes.token(outside_.container_pid()).value().value();
    }

    Netns make_device() { return make_rxe(outside_, kLimitedNetdev, kLimited); }

    Outside outside_;
};

using CgroupsOutsides = testing::Types<FakeOutside<Kernel::V7_2>,
                                       FakeOutside<Kernel::V7_3>,
                                       FakeOutside<Kernel::V7_3, RdmaNetnsMode::Exclusive>,
                                       KernelOutside>;
TYPED_TEST_SUITE(CgroupsContract, CgroupsOutsides, OutsideNames);

TYPED_TEST(CgroupsContract, ThisMachineCan) {
    EXPECT_TRUE(this->room().check_rdma());
}

TYPED_TEST(CgroupsContract, AMissingDeviceIsUnavailable) {
    const auto none = this->room().limit_rdma(this->container(),
                                              this->outside_.container_ns(),
                                              {.device = "rxect9", .handles = 1, .objects = {}});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Code::Unavailable) << none.error().message();
    EXPECT_EQ(none.error().sys, ENODEV);
}

TYPED_TEST(CgroupsContract, AMissingProcessIsUnavailable) {
    const auto none = this->room().limit_rdma({.pid = this->outside_.missing_pid(), .start = 1},
                                              this->outside_.host_ns(),
                                              {.device = "rxect9", .handles = 1, .objects = {}});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Code::Unavailable) << none.error().message();
}

TYPED_TEST(CgroupsContract, APidThatIsAnotherProcessIsNotLimited) {
    netns::ProcessToken earlier = this->container();
    earlier.start -= 1;
    const auto none = this->room().limit_rdma(
        earlier, this->outside_.container_ns(), {.device = "rxect9", .handles = 1, .objects = {}});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Code::Unavailable) << none.error().message();
    EXPECT_NE(none.error().sys, ENODEV) << "nothing was written";
}

TYPED_TEST(CgroupsContract, OurOwnCgroupIsNotLimited) {
    this->outside_.set_own_cgroup(false);
    const auto none = this->room().limit_rdma(this->container(),
                                              this->outside_.container_ns(),
                                              {.device = "rxect9", .handles = 1, .objects = {}});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Code::Unsupported) << none.error().message();
}

TYPED_TEST(CgroupsContract, ADeviceIsLimitedMemberByMember) {
    if (const std::string reason = TypeParam::rdma_missing(); !reason.empty())
        GTEST_SKIP() << reason;
    const Netns ns = this->make_device();
    const auto set = [&](const RdmaLimit& limit) {
        const auto done = this->room().limit_rdma(this->container(), ns, limit);
        EXPECT_TRUE(done) << done.error().message();
        return this->outside_.rdma_max(kLimited);
    };
    EXPECT_EQ(set({.device = kLimited, .handles = {}, .objects = 100}),
              "hca_handle=max hca_object=100");
    EXPECT_EQ(set({.device = kLimited, .handles = 2, .objects = {}}),
              "hca_handle=2 hca_object=100");
    EXPECT_EQ(set({.device = kLimited, .handles = 999999999, .objects = 999999999}),
              "hca_handle=999999999 hca_object=999999999");
    EXPECT_EQ(set({.device = kLimited, .handles = netns::kNoRdmaLimit, .objects = {}}),
              "hca_handle=max hca_object=999999999");
}

// Not part of what fakes have: the ways in which an ancestor cannot hand the controller down.
class CgroupsOfTheKernel : public CgroupsContract<KernelOutside> {
  protected:
    void expect_unsupported(int number) {
        const auto none = room().limit_rdma(container(),
                                            outside_.container_ns(),
                                            {.device = "rxect9", .handles = 1, .objects = {}});
        ASSERT_FALSE(none);
        EXPECT_EQ(none.error().code, Code::Unsupported) << none.error().message();
        EXPECT_EQ(none.error().sys, number) << none.error().message();
        EXPECT_NE(none.error().text.find("cgroup /rdma-hook-contract "), std::string::npos)
            << none.error().message();
    }
};

TEST_F(CgroupsOfTheKernel, AnAncestorWithProcessesCannotHandItDown) {
    KernelOutside crowd;  // another process
    ASSERT_TRUE(write_cgroup(std::string(kTestSlice) + "/cgroup.procs",
                             std::to_string(crowd.container_pid())));
    expect_unsupported(EBUSY);
}

TEST_F(CgroupsOfTheKernel, AThreadedAncestorCannotHandItDown) {
    // Only an empty cgroup becomes threaded, and only threads of its own domain may enter it.
    const std::string pid = std::to_string(outside_.container_pid());
    ASSERT_TRUE(write_cgroup(std::string(kTestSlice) + "/cgroup.procs", pid));
    ASSERT_TRUE(write_cgroup(std::string(kTestBox) + "/cgroup.type", "threaded"));
    ASSERT_TRUE(write_cgroup(std::string(kTestBox) + "/cgroup.threads", pid));
    expect_unsupported(EOPNOTSUPP);
}

}  // namespace
}  // namespace test
