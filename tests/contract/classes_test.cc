// SPDX-License-Identifier: Apache-2.0
// The contract of netns/sys_class.h. The kernel's half runs where RDMA is: in the lab.
#include <cerrno>
#include <optional>

#include <gtest/gtest.h>

#include "tests/contract/outside.h"

namespace test {
namespace {

using netns::RdmaNetnsMode;

constexpr uint32_t kShownNetdev = 0x40000001;
constexpr char kShown[] = "rxect0";

template <class Outside>
class ClassesContract : public testing::Test {
  protected:
    void SetUp() override {
        if (const std::string reason = Outside::rdma_missing(); !reason.empty())
            GTEST_SKIP() << reason;
        netns::Host host = outside_.host();
        owner_ = make_rxe(outside_, kShownNetdev, kShown);
        const auto device = host.rdma.find_by_name(*owner_, kShown).value();
        ASSERT_TRUE(device);
        index_ = device->index;
        node_ = host.rdma.uverbs_node(*owner_, index_).value().name;
    }

    // Removes the device now: its namespace may end when the next test already wants the name.
    void TearDown() override {
        if (index_ != 0) {
            EXPECT_TRUE(outside_.host().rdma.remove_link(*owner_, index_));
        }
    }

    netns::SysClasses& room() { return outside_.host().classes; }

    Outside outside_;
    std::optional<Netns> owner_;
    uint32_t index_ = 0;
    std::string node_;  // "uverbs0"
};

using ClassesOutsides = testing::Types<FakeOutside<Kernel::V7_2>,
                                       FakeOutside<Kernel::V7_3>,
                                       FakeOutside<Kernel::V7_3, RdmaNetnsMode::Exclusive>,
                                       KernelOutside>;
TYPED_TEST_SUITE(ClassesContract, ClassesOutsides, OutsideNames);

TYPED_TEST(ClassesContract, ADeviceOfAContainerIsShownToTheHost) {
    const auto found = this->room().look("infiniband", {kShown});
    ASSERT_TRUE(found && *found) << found.error().message();
    EXPECT_EQ((*found)->links.size(), 1U);
    EXPECT_EQ((*found)->links.at(kShown),
              std::string("../../devices/virtual/infiniband/") + kShown);
    EXPECT_TRUE((*found)->files.empty());
}

TYPED_TEST(ClassesContract, ItsNodeTooBesideTheVersion) {
    const auto found = this->room().look("infiniband_verbs", {this->node_});
    ASSERT_TRUE(found && *found) << found.error().message();
    EXPECT_EQ((*found)->links.at(this->node_),
              "../../devices/virtual/infiniband_verbs/" + this->node_);
    EXPECT_EQ((*found)->files, (std::map<std::string, std::string>{{"abi_version", "6\n"}}));
}

TYPED_TEST(ClassesContract, WhatIsNotThere) {
    const Error missing = error_of(this->room().look("infiniband", {kShown, "rxect9"}));
    EXPECT_EQ(missing.code, Code::Unavailable);
    EXPECT_EQ(missing.sys, ENOENT);
    const auto none = this->room().look("no_such_class", {});
    ASSERT_TRUE(none) << none.error().message();
    EXPECT_FALSE(*none);
}

}  // namespace
}  // namespace test
