// SPDX-License-Identifier: Apache-2.0
// The contract of netns/sys_class.h. The kernel's half runs where RDMA is: in the lab.
#include <cerrno>
#include <optional>

#include <gtest/gtest.h>

#include "netns/rdma.h"
#include "tests/contract/outside.h"

namespace test {
namespace {

using netns::RdmaNetnsMode;

constexpr uint32_t kShownNetdev = 0x40000001;

class ClassesContract : public ContractTest {
  protected:
    const std::string shown_ = fresh_rdma_name();

    void prepare() override {
        netns::Host host = outside_->host();
        owner_ = make_rxe(*outside_, kShownNetdev, shown_);
        const auto device = host.rdma.find_by_name(*owner_, shown_).value();
        ASSERT_TRUE(device);
        index_ = device->index;
        node_ = host.rdma.uverbs_node(*owner_, index_).value().name;
    }

    netns::SysClasses& room() { return outside_->host().classes; }

    std::optional<Netns> owner_;
    uint32_t index_ = 0;
    std::string node_;  // "uverbs0"
};

INSTANTIATE_TEST_SUITE_P(,
                         ClassesContract,
                         Values(fake(Kernel::V7_2),
                                fake(Kernel::V7_3),
                                fake(Kernel::V7_3, RdmaNetnsMode::Exclusive),
                                kernel(KernelOutside::rdma_missing)),
                         OutsideNames());

TEST_P(ClassesContract, ADeviceOfAContainerIsShownToTheHost) {
    const auto found = room().look("infiniband", {shown_});
    ASSERT_TRUE(found && *found) << found.error().message();
    EXPECT_EQ((*found)->links.size(), 1U);
    EXPECT_EQ((*found)->links.at(shown_),
              std::string("../../devices/virtual/infiniband/") + shown_);
    EXPECT_TRUE((*found)->files.empty());
}

TEST_P(ClassesContract, ItsNodeTooBesideTheVersion) {
    const auto found = room().look("infiniband_verbs", {node_});
    ASSERT_TRUE(found && *found) << found.error().message();
    EXPECT_EQ((*found)->links.at(node_), "../../devices/virtual/infiniband_verbs/" + node_);
    EXPECT_EQ((*found)->files, (std::map<std::string, std::string>{{"abi_version", "6\n"}}));
}

TEST_P(ClassesContract, WhatIsNotThere) {
    const Error missing = error_of(room().look("infiniband", {shown_, "rxect9"}));
    EXPECT_EQ(missing.code, Code::Unavailable);
    EXPECT_EQ(missing.sys, ENOENT);
    const auto none = room().look("no_such_class", {});
    ASSERT_TRUE(none) << none.error().message();
    EXPECT_FALSE(*none);
}

}  // namespace
}  // namespace test
