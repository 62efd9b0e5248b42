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

template <class Outside>
class DeviceCgroupsContract : public testing::Test {
  protected:
    void SetUp() override {
        if (const std::string reason = Outside::device_cgroup_missing(); !reason.empty())
            GTEST_SKIP() << reason;
        outside_.set_own_cgroup(true);
        outside_.deny_devices();
    }

    netns::DeviceCgroups& room() { return outside_.host().device_cgroups; }

    ProcessToken init() {
        return outside_.host().processes.token(outside_.container_pid()).value().value();
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

    std::pair<bool, bool> opens() { return {outside_.can_open(kZero), outside_.can_open(kFull)}; }

    Outside outside_;
};

using DeviceCgroupsOutsides = testing::Types<FakeOutside<Kernel::V7_2>, KernelOutside>;
TYPED_TEST_SUITE(DeviceCgroupsContract, DeviceCgroupsOutsides, OutsideNames);

TYPED_TEST(DeviceCgroupsContract, ADeviceIsAllowedAndForbidden) {
    EXPECT_EQ(this->opens(), std::pair(false, false));
    EXPECT_TRUE(this->allow(kZero));
    EXPECT_EQ(this->opens(), std::pair(true, false));
    this->forbid(kZero);
    EXPECT_EQ(this->opens(), std::pair(false, false));
}

TYPED_TEST(DeviceCgroupsContract, TwoDevicesAreTakenAwayInAnyOrder) {
    EXPECT_TRUE(this->allow(kZero));
    EXPECT_TRUE(this->allow(kFull));
    EXPECT_EQ(this->opens(), std::pair(true, true));
    this->forbid(kZero);
    EXPECT_EQ(this->opens(), std::pair(false, true));
    this->forbid(kFull);
    EXPECT_EQ(this->opens(), std::pair(false, false));
}

TYPED_TEST(DeviceCgroupsContract, TwiceIsOnce) {
    EXPECT_TRUE(this->allow(kZero));
    EXPECT_FALSE(this->allow(kZero));
    this->forbid(kZero);
    this->forbid(kZero);
    EXPECT_EQ(this->opens(), std::pair(false, false));
}

TYPED_TEST(DeviceCgroupsContract, AProcessThatIsGoneHasNothing) {
    const ProcessToken gone{.pid = this->outside_.missing_pid(), .start = 1};
    const Error none = error_of(this->room().allow(gone, kZero));
    EXPECT_EQ(none.code, Code::Unavailable) << none.message();
    EXPECT_TRUE(this->room().forbid(gone, kZero));
    // A number that another process has got since.
    const ProcessToken reused{.pid = this->init().pid, .start = this->init().start + 1};
    EXPECT_EQ(this->room().allow(reused, kZero).error().code, Code::Unavailable);
    EXPECT_TRUE(this->room().forbid(reused, kZero));
    EXPECT_EQ(this->opens(), std::pair(false, false));
}

TYPED_TEST(DeviceCgroupsContract, AContainersProcessesAreKnown) {
    const auto contains = [&](pid_t process) {
        const auto answer = this->room().contains(this->init(), process);
        EXPECT_TRUE(answer) << answer.error().message();
        return answer && *answer;
    };
    EXPECT_TRUE(contains(this->init().pid));
    EXPECT_FALSE(contains(this->outside_.host().processes.self()));
    EXPECT_FALSE(contains(this->outside_.missing_pid()));
    const ProcessToken gone{.pid = this->init().pid, .start = this->init().start + 1};
    EXPECT_EQ(this->room().contains(gone, this->init().pid).error().code, Code::Unavailable);
}

TYPED_TEST(DeviceCgroupsContract, OurOwnCgroupStaysAsItIs) {
    this->outside_.set_own_cgroup(false);
    const Error none = error_of(this->room().allow(this->init(), kZero));
    EXPECT_EQ(none.code, Code::Unsupported) << none.message();
}

// Not part of what fakes have: several programs, all of which must agree.
class DeviceCgroupsOfTheKernel : public DeviceCgroupsContract<KernelOutside> {};

TEST_F(DeviceCgroupsOfTheKernel, EveryProgramOfTheCgroupIsWidened) {
    outside_.deny_devices();
    EXPECT_TRUE(allow(kZero));
    EXPECT_EQ(opens(), std::pair(true, false));
    forbid(kZero);
    EXPECT_EQ(opens(), std::pair(false, false));
}

// At daemon-reload, systemd attaches its own program again.
TEST_F(DeviceCgroupsOfTheKernel, AProgramThatCameLaterIsWidenedToo) {
    EXPECT_TRUE(allow(kZero));
    outside_.deny_devices();
    EXPECT_EQ(opens(), std::pair(false, false));
    EXPECT_TRUE(allow(kZero));
    EXPECT_EQ(opens(), std::pair(true, false));
}

}  // namespace
}  // namespace test
