// SPDX-License-Identifier: Apache-2.0
#include "netns/base/clock.h"

#include <gtest/gtest.h>

#include "tests/support/regex.h"

namespace base {
namespace {

std::string at(std::chrono::seconds since_epoch) {
    return rfc3339(std::chrono::system_clock::time_point{since_epoch});
}

TEST(TimeOfDay, IsRfc3339InUtc) {
    EXPECT_EQ(at(std::chrono::seconds{0}), "1970-01-01T00:00:00Z");
    EXPECT_EQ(at(std::chrono::seconds{951782400}), "2000-02-29T00:00:00Z");
    EXPECT_EQ(at(std::chrono::seconds{1795424707}), "2026-11-23T09:05:07Z");
    EXPECT_EQ(at(std::chrono::seconds{4102444799}), "2099-12-31T23:59:59Z");
}

TEST(TimeOfDay, IsCutToTheSecond) {
    EXPECT_EQ(rfc3339(std::chrono::system_clock::time_point{std::chrono::milliseconds{1999}}),
              "1970-01-01T00:00:01Z");
}

TEST(TimeOfDay, NowIsOne) {
    EXPECT_FALSE(test::match_text(rfc3339_now(), R"(2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ)").empty());
}

}  // namespace
}  // namespace base
