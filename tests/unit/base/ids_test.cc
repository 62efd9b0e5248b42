// SPDX-License-Identifier: Apache-2.0
#include "netns/base/ids.h"

#include <gtest/gtest.h>

namespace base {
namespace {
TEST(Ids, Sha256IsTheStandards) {
    EXPECT_EQ(sha256_hex("abc"),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Ids, UuidsAreRandomAndRecognised) {
    const std::string one = random_uuid();
    EXPECT_TRUE(is_uuid(one)) << one;
    EXPECT_EQ(one[14], '4');
    EXPECT_NE(one, random_uuid());
    for (const auto* bad :
         {"", "x", "BA7816BF-8f01-4fea-8141-40de5dae2223", "../../../../../../../../../etc/passwd"})
        EXPECT_FALSE(is_uuid(bad));
}
}  // namespace
}  // namespace base
