// SPDX-License-Identifier: Apache-2.0
#include "perf/protocol/pattern.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace perf {
namespace {

constexpr PatternKey kKey{.seed = 0x1234567890abcdef, .qp = 0, .seq = 7};

std::vector<std::byte> pattern(size_t size, const PatternKey& key = kKey) {
    std::vector<std::byte> data(size);
    fill_pattern(data, key);
    return data;
}

std::string kind(const std::vector<std::byte>& data) {
    const auto wrong = check_pattern(data, kKey);
    return wrong ? wrong->kind : "right";
}

TEST(Pattern, EverySizeChecksItself) {
    for (size_t size = 0; size < 200; ++size)
        EXPECT_EQ(kind(pattern(size)), "right") << size;
    EXPECT_EQ(kind(pattern(1 << 20)), "right");
}

TEST(Pattern, EveryByteMatters) {
    for (const size_t size : {1U, 7U, 8U, 9U, 63U, 64U, 130U}) {
        for (size_t i = 0; i < size; ++i) {
            auto data = pattern(size);
            data[i] ^= std::byte{0x20};
            const auto wrong = check_pattern(data, kKey);
            ASSERT_TRUE(wrong) << size << " " << i;
            EXPECT_EQ(wrong->offset, i);
            EXPECT_EQ(wrong->expected ^ wrong->got, 0x20);
            EXPECT_EQ(wrong->kind, "bit flip");
        }
    }
}

TEST(Pattern, KeysDiffer) {
    EXPECT_NE(pattern(64), pattern(64, {kKey.seed, 0, 8}));
    EXPECT_NE(pattern(64), pattern(64, {kKey.seed, 1, 7}));
    EXPECT_NE(pattern(64), pattern(64, {kKey.seed + 1, 0, 7}));
}

TEST(Pattern, NamesWhatHappened) {
    EXPECT_EQ(kind(pattern(4096, {kKey.seed, 0, 3})), "stale: message 3");
    EXPECT_EQ(kind(pattern(4096, {kKey.seed, 0, 9})), "swapped: message 9");
    auto shifted = pattern(4096);
    std::memmove(shifted.data() + 64, shifted.data(), 4096 - 64);
    EXPECT_EQ(kind(shifted), "shifted by 64 bytes");
    auto odd = pattern(4096);
    std::memmove(odd.data() + 3, odd.data(), 4096 - 3);
    EXPECT_EQ(kind(odd), "shifted by 3 bytes");
    auto back = pattern(4096);
    std::memmove(back.data(), back.data() + 16, 4096 - 16);
    EXPECT_EQ(kind(back), "shifted by -16 bytes");
    EXPECT_EQ(kind(std::vector<std::byte>(4096)), "unknown data");
}

// The value of the first words is an interface: a peer of another build computes the same.
TEST(Pattern, IsTheSameInEveryBuild) {
    uint64_t first = 0;
    std::memcpy(&first, pattern(8, {1, 0, 0}).data(), 8);
    EXPECT_EQ(first, pattern_base({1, 0, 0}));
    EXPECT_EQ(first, 0x5692161d100b05e5ULL);
}

}  // namespace
}  // namespace perf
