// SPDX-License-Identifier: Apache-2.0
// The contract of netns/device_cgroup.h. The kernel's half runs as root where cgroup2 is at
// /sys/fs/cgroup: in the lab.
#include <gtest/gtest.h>

#include "tests/contract/outside.h"
#include "tests/contract/outside_cgroups.h"

namespace test {
namespace {

using netns::DeviceNumber;
using netns::ProcessToken;

constexpr DeviceNumber kZero{.major = 1, .minor = 5};
constexpr DeviceNumber kFull{.major = 1, .minor = 7};

class DeviceCgroupsContract : public ContractTest {
  protected:
    void prepare() override {
        outside_->set_own_cgroup(true);
        outside_->deny_devices();
    }

    netns::DeviceCgroups& room() { return outside_->host().device_cgroups; }

    ProcessToken init() {
        return outside_->host().processes.token(outside_->container_pid()).value().value();
    }

    bool allow(DeviceNumber device) {
        const auto done = room().allow(init(), device);
        EXPECT_TRUE(done) << done.error().message();
        return done && *done;
    }

    void forbid(DeviceNumber device) {
        const auto done = room().forbid(init(), device);
        EXPECT_TRUE(done) << done.error().message();
    }

    std::pair<bool, bool> opens() { return {outside_->can_open(kZero), outside_->can_open(kFull)}; }
};

INSTANTIATE_TEST_SUITE_P(,
                         DeviceCgroupsContract,
                         Values(fake(Kernel::V7_2), kernel(KernelOutside::device_cgroup_missing)),
                         OutsideNames());

TEST_P(DeviceCgroupsContract, ADeviceIsAllowedAndForbidden) {
    EXPECT_EQ(opens(), std::pair(false, false));
    EXPECT_TRUE(allow(kZero));
    EXPECT_EQ(opens(), std::pair(true, false));
    forbid(kZero);
    EXPECT_EQ(opens(), std::pair(false, false));
}

TEST_P(DeviceCgroupsContract, TwoDevicesAreTakenAwayInAnyOrder) {
    EXPECT_TRUE(allow(kZero));
    EXPECT_TRUE(allow(kFull));
    EXPECT_EQ(opens(), std::pair(true, true));
    forbid(kZero);
    EXPECT_EQ(opens(), std::pair(false, true));
    forbid(kFull);
    EXPECT_EQ(opens(), std::pair(false, false));
}

TEST_P(DeviceCgroupsContract, TwiceIsOnce) {
    EXPECT_TRUE(allow(kZero));
    EXPECT_FALSE(allow(kZero));
    forbid(kZero);
    forbid(kZero);
    EXPECT_EQ(opens(), std::pair(false, false));
}

TEST_P(DeviceCgroupsContract, AProcessThatIsGoneHasNothing) {
    const ProcessToken gone{.pid = outside_->missing_pid(), .start = 1};
    const Error none = error_of(room().allow(gone, kZero));
    EXPECT_EQ(none.code, Code::Unavailable) << none.message();
    EXPECT_TRUE(room().forbid(gone, kZero));
    // A number that another process has got since.
    const ProcessToken reused{.pid = init().pid, .start = init().start + 1};
    EXPECT_EQ(room().allow(reused, kZero).error().code, Code::Unavailable);
    EXPECT_TRUE(room().forbid(reused, kZero));
    EXPECT_EQ(opens(), std::pair(false, false));
}

TEST_P(DeviceCgroupsContract, AContainersProcessesAreKnown) {
    const auto contains = [&](pid_t process) {
        const auto answer = room().contains(init(), process);
        EXPECT_TRUE(answer) << answer.error().message();
        return answer && *answer;
    };
    EXPECT_TRUE(contains(init().pid));
    EXPECT_FALSE(contains(outside_->host().processes.self()));
    EXPECT_FALSE(contains(outside_->missing_pid()));
    const ProcessToken gone{.pid = init().pid, .start = init().start + 1};
    EXPECT_EQ(room().contains(gone, init().pid).error().code, Code::Unavailable);
}

TEST_P(DeviceCgroupsContract, OurOwnCgroupStaysAsItIs) {
    outside_->set_own_cgroup(false);
    const Error none = error_of(room().allow(init(), kZero));
    EXPECT_EQ(none.code, Code::Unsupported) << none.message();
}

// Not part of what fakes have: several programs, all of which must agree.
class DeviceCgroupsOfTheKernel : public DeviceCgroupsContract {};

INSTANTIATE_TEST_SUITE_P(,
                         DeviceCgroupsOfTheKernel,
                         Values(kernel(KernelOutside::device_cgroup_missing)),
                         OutsideNames());

TEST_P(DeviceCgroupsOfTheKernel, EveryProgramOfTheCgroupIsWidened) {
    outside_->deny_devices();
    EXPECT_TRUE(allow(kZero));
    EXPECT_EQ(opens(), std::pair(true, false));
    forbid(kZero);
    EXPECT_EQ(opens(), std::pair(false, false));
}

// At daemon-reload, systemd attaches its own program again.
TEST_P(DeviceCgroupsOfTheKernel, AProgramThatCameLaterIsWidenedToo) {
    EXPECT_TRUE(allow(kZero));
    outside_->deny_devices();
    EXPECT_EQ(opens(), std::pair(false, false));
    EXPECT_TRUE(allow(kZero));
    EXPECT_EQ(opens(), std::pair(true, false));
}

}  // namespace
}  // namespace test
