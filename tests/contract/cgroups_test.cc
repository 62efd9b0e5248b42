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

class CgroupsContract : public ContractTest {
  protected:
    const std::string limited_ = fresh_rdma_name();

    void prepare() override { outside_->set_own_cgroup(true); }

    netns::Cgroups& room() { return outside_->host().cgroups; }

    netns::ProcessToken container() {
        return outside_->host().processes.token(outside_->container_pid()).value().value();
    }

    Netns make_device() { return make_rxe(*outside_, kLimitedNetdev, limited_); }
};

INSTANTIATE_TEST_SUITE_P(,
                         CgroupsContract,
                         Values(fake(Kernel::V7_2),
                                fake(Kernel::V7_3),
                                fake(Kernel::V7_3, RdmaNetnsMode::Exclusive),
                                kernel(KernelOutside::cgroup_missing)),
                         OutsideNames());

TEST_P(CgroupsContract, ThisMachineCan) {
    EXPECT_TRUE(room().check_rdma());
}

TEST_P(CgroupsContract, AMissingDeviceIsUnavailable) {
    const auto none = room().limit_rdma(
        container(), outside_->container_ns(), {.device = "rxect9", .handles = 1, .objects = {}});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Code::Unavailable) << none.error().message();
    EXPECT_EQ(none.error().sys, ENODEV);
}

TEST_P(CgroupsContract, AMissingProcessIsUnavailable) {
    const auto none = room().limit_rdma({.pid = outside_->missing_pid(), .start = 1},
                                        outside_->host_ns(),
                                        {.device = "rxect9", .handles = 1, .objects = {}});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Code::Unavailable) << none.error().message();
}

TEST_P(CgroupsContract, APidThatIsAnotherProcessIsNotLimited) {
    netns::ProcessToken earlier = container();
    earlier.start -= 1;
    const auto none = room().limit_rdma(
        earlier, outside_->container_ns(), {.device = "rxect9", .handles = 1, .objects = {}});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Code::Unavailable) << none.error().message();
    EXPECT_NE(none.error().sys, ENODEV) << "nothing was written";
}

TEST_P(CgroupsContract, OurOwnCgroupIsNotLimited) {
    outside_->set_own_cgroup(false);
    const auto none = room().limit_rdma(
        container(), outside_->container_ns(), {.device = "rxect9", .handles = 1, .objects = {}});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Code::Unsupported) << none.error().message();
}

TEST_P(CgroupsContract, ADeviceIsLimitedMemberByMember) {
    if (const std::string reason = outside_->lacks_rdma(); !reason.empty())
        GTEST_SKIP() << reason;
    const Netns ns = make_device();
    const auto set = [&](const RdmaLimit& limit) {
        const auto done = room().limit_rdma(container(), ns, limit);
        EXPECT_TRUE(done) << done.error().message();
        return outside_->rdma_max(limited_);
    };
    EXPECT_EQ(set({.device = limited_, .handles = {}, .objects = 100}),
              "hca_handle=max hca_object=100");
    EXPECT_EQ(set({.device = limited_, .handles = 2, .objects = {}}),
              "hca_handle=2 hca_object=100");
    EXPECT_EQ(set({.device = limited_, .handles = 999999999, .objects = 999999999}),
              "hca_handle=999999999 hca_object=999999999");
    EXPECT_EQ(set({.device = limited_, .handles = netns::kNoRdmaLimit, .objects = {}}),
              "hca_handle=max hca_object=999999999");
}

// Not part of what fakes have: the ways in which an ancestor cannot hand the controller down.
class CgroupsOfTheKernel : public CgroupsContract {
  protected:
    void expect_unsupported(int number) {
        const auto none = room().limit_rdma(container(),
                                            outside_->container_ns(),
                                            {.device = "rxect9", .handles = 1, .objects = {}});
        ASSERT_FALSE(none);
        EXPECT_EQ(none.error().code, Code::Unsupported) << none.error().message();
        EXPECT_EQ(none.error().sys, number) << none.error().message();
        EXPECT_NE(none.error().text.find("cgroup /rdma-hook-contract "), std::string::npos)
            << none.error().message();
    }
};

INSTANTIATE_TEST_SUITE_P(,
                         CgroupsOfTheKernel,
                         Values(kernel(KernelOutside::cgroup_missing)),
                         OutsideNames());

TEST_P(CgroupsOfTheKernel, AnAncestorWithProcessesCannotHandItDown) {
    KernelOutside crowd;  // another process
    ASSERT_TRUE(write_cgroup(std::string(kTestSlice) + "/cgroup.procs",
                             std::to_string(crowd.container_pid())));
    expect_unsupported(EBUSY);
}

TEST_P(CgroupsOfTheKernel, AThreadedAncestorCannotHandItDown) {
    // Only an empty cgroup becomes threaded, and only threads of its own domain may enter it.
    const std::string pid = std::to_string(outside_->container_pid());
    ASSERT_TRUE(write_cgroup(std::string(kTestSlice) + "/cgroup.procs", pid));
    ASSERT_TRUE(write_cgroup(std::string(kTestBox) + "/cgroup.type", "threaded"));
    ASSERT_TRUE(write_cgroup(std::string(kTestBox) + "/cgroup.threads", pid));
    expect_unsupported(EOPNOTSUPP);
}

}  // namespace
}  // namespace test
