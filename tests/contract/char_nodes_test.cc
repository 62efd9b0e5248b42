// SPDX-License-Identifier: Apache-2.0
// The contract of netns/char_nodes.h.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/contract/outside.h"

namespace test {
namespace {

using netns::DeviceNumber;

class CharNodesContract : public ContractTest {
  protected:
    netns::CharNodes& room() { return outside_->host().char_nodes; }
};

INSTANTIATE_TEST_SUITE_P(, CharNodesContract, Values(fake(Kernel::V7_2), kernel()), OutsideNames());

TEST_P(CharNodesContract, ANodeIsItsNumber) {
    const auto null = room().at("/dev/null");
    ASSERT_TRUE(null) << null.error().message();
    EXPECT_EQ(*null, (DeviceNumber{.major = 1, .minor = 3}));
}

TEST_P(CharNodesContract, WhatIsNoCharacterDeviceIsNone) {
    for (const char* path : {"/dev", "/dev/nowhere", "/proc/devices", "/dev/null/x", ""}) {
        const auto none = room().at(path);
        ASSERT_TRUE(none) << path << ": " << none.error().message();
        EXPECT_FALSE(*none) << path;
    }
}

// Where RDMA is loaded they have the one that never changes.
TEST_P(CharNodesContract, MajorsAreAscending) {
    const auto majors = room().rdma_majors();
    ASSERT_TRUE(majors) << majors.error().message();
    EXPECT_TRUE(std::ranges::is_sorted(*majors));
    EXPECT_TRUE(majors->empty() || std::ranges::binary_search(*majors, 231U));
}

}  // namespace
}  // namespace test
