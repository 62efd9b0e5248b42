// SPDX-License-Identifier: Apache-2.0
#include "perf/suites/kv/table.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perf::kv {
namespace {

using testing::HasSubstr;

using Bytes = std::vector<std::byte>;

Bytes table_of(const Shape& shape, uint32_t version = 1) {
    Bytes table(shape.table_bytes());
    EXPECT_TRUE(fill(table, shape, version));
    return table;
}

std::span<const std::byte> slot_of(const Bytes& table, const Shape& shape, uint64_t key) {
    return std::span(table).subspan(find(table, shape, key), shape.slot_bytes());
}

std::string verdict(std::span<const std::byte> slot, const Shape& shape, uint32_t key) {
    return check_slot(slot, shape, key, 2).value_or("right");
}

TEST(Table, EveryKeyIsThereAndRight) {
    for (const uint32_t value : {1U, 7U, 8U, 64U, 1000U, 4096U}) {
        for (const uint32_t keys : {1U, 2U, 1000U}) {
            const Shape shape{.keys = keys, .value = value, .seed = 3};
            const Bytes table = table_of(shape, 2);
            for (uint32_t key = 0; key < keys; ++key)
                ASSERT_EQ(verdict(slot_of(table, shape, key), shape, key), "right") << key;
        }
    }
}

TEST(Table, OtherKeysAreNowhere) {
    const Shape shape{.keys = 1000, .value = 9, .seed = 3};
    const Bytes table = table_of(shape);
    for (const uint64_t key : {uint64_t{1000}, uint64_t{1} << 40U, kNoKey}) {
        EXPECT_EQ(find(table, shape, key), shape.nowhere());
        EXPECT_EQ(key_of(slot_of(table, shape, key)), kNoKey);
    }
    EXPECT_EQ(verdict(slot_of(table, shape, 1000), shape, 1000), "the server has no such key");
}

TEST(Table, ProbesGoOnFromSlotToSlotAndAroundTheEnd) {
    const Shape shape{.keys = 3, .value = 8, .seed = 1};
    for (uint64_t key = 0; key < 100; ++key) {
        for (uint32_t probe = 0; probe < 20; ++probe) {
            const size_t at = shape.place(key, probe);
            EXPECT_LT(at, shape.nowhere());
            EXPECT_EQ(shape.place(key, probe + 1), (at + shape.slot_bytes()) % shape.nowhere());
        }
    }
}

// Knuth, 6.4: a table half full takes 1.5 looks at a slot for a key that is there.
TEST(Table, KeysCollideAsOftenAsTheyMust) {
    const Shape shape{.keys = 20'000, .value = 1, .seed = 5};
    const Bytes table = table_of(shape);
    double looks = 0;
    for (uint32_t key = 0; key < shape.keys; ++key) {
        const size_t at = find(table, shape, key);
        uint32_t probe = 0;
        while (shape.place(key, probe) != at)
            ++probe;
        looks += probe + 1;
    }
    EXPECT_NEAR(looks / shape.keys, 1.5, 0.05);
}

TEST(Table, FillingAnewLeavesNothingOfTheLast) {
    const Shape shape{.keys = 500, .value = 100, .seed = 5};
    Bytes table = table_of(shape, 1);
    ASSERT_TRUE(fill(table, shape, 2));
    EXPECT_EQ(table, table_of(shape, 2));
}

TEST(Table, EachKindOfWrongSlotIsNoticed) {
    const Shape shape{.keys = 10, .value = 64, .seed = 5};
    const Bytes old = table_of(shape, 1);
    const Bytes now = table_of(shape, 2);
    EXPECT_EQ(verdict(slot_of(now, shape, 4), shape, 5), "the slot is of key 4");
    EXPECT_EQ(verdict(slot_of(old, shape, 5), shape, 5), "version 1 instead of 2");

    const auto right = slot_of(now, shape, 5);
    Bytes torn(right.begin(), right.end());
    std::ranges::copy(slot_of(old, shape, 5).subspan(kHeadBytes + 32),
                      torn.begin() + kHeadBytes + 32);
    EXPECT_THAT(verdict(torn, shape, 5), HasSubstr("byte 32 of the value"));

    Bytes swapped(right.begin(), right.end());
    std::ranges::copy(slot_of(now, shape, 6).subspan(kHeadBytes), swapped.begin() + kHeadBytes);
    EXPECT_THAT(verdict(swapped, shape, 5), HasSubstr("of the value"));

    for (size_t i = 0; i < torn.size(); ++i) {
        Bytes flipped(right.begin(), right.end());
        flipped[i] ^= std::byte{0x40};
        EXPECT_NE(verdict(flipped, shape, 5), "right") << i;
    }
}

TEST(Table, LimitsAreNamed) {
    const auto refusal = [](uint32_t keys, uint32_t value) {
        const auto done = check_limits({.keys = keys, .value = value, .seed = 0});
        return done ? "" : done.error().message();
    };
    EXPECT_EQ(refusal(1, 1), "");
    EXPECT_EQ(refusal(10'000, 4096), "");
    EXPECT_THAT(refusal(10, 0), HasSubstr("value of 0 bytes"));
    EXPECT_THAT(refusal(10, 4097), HasSubstr("not from 1 to 4096"));
    EXPECT_THAT(refusal(0, 64), HasSubstr("0 keys"));
    // 64 MiB / (16 + 64)
    EXPECT_EQ(refusal(838'860, 64), "");
    EXPECT_THAT(refusal(838'861, 64), HasSubstr("not from 1 to 838860"));
    EXPECT_THAT(refusal(UINT32_MAX, 1), HasSubstr("keys"));
}

TEST(Table, TheLargestOneCanBeFilled) {
    const Shape shape{.keys = static_cast<uint32_t>(kMaxKeptBytes / 24), .value = 1, .seed = 7};
    ASSERT_TRUE(check_limits(shape));
    Bytes table(shape.table_bytes());
    EXPECT_TRUE(fill(table, shape, 1));
}

// ---- which keys are asked for -------------------------------------------------------------------

double share(const std::vector<uint32_t>& drawn, uint32_t key) {
    return static_cast<double>(std::ranges::count(drawn, key)) / static_cast<double>(drawn.size());
}

TEST(Draws, WithoutSkewAllKeysAreAlike) {
    const auto drawn = draw_keys(10, 0, 1, 100'000);
    for (uint32_t key = 0; key < 10; ++key)
        EXPECT_NEAR(share(drawn, key), 0.1, 0.005) << key;
}

TEST(Draws, ZipfHasItsShares) {
    const auto drawn = draw_keys(4, 1, 1, 100'000);  // 1, 1/2, 1/3, 1/4 of 25/12
    for (uint32_t key = 0; key < 4; ++key)
        EXPECT_NEAR(share(drawn, key), 12.0 / 25 / (key + 1), 0.008) << key;
    const auto steep = draw_keys(3, 2, 1, 100'000);  // 1, 1/4, 1/9 of 49/36
    for (uint32_t key = 0; key < 3; ++key)
        EXPECT_NEAR(share(steep, key), 36.0 / 49 / ((key + 1) * (key + 1)), 0.008) << key;
}

TEST(Draws, ManyKeysReachTheTail) {
    constexpr uint32_t kKeys = 10'000;
    const auto drawn = draw_keys(kKeys, 0.99, 2, 100'000);
    double sum = 0;
    for (uint32_t key = 0; key < kKeys; ++key)
        sum += std::pow(key + 1.0, -0.99);
    EXPECT_NEAR(share(drawn, 0), 1 / sum, 0.005);
    EXPECT_LT(*std::ranges::max_element(drawn), kKeys);
    EXPECT_GT(*std::ranges::max_element(drawn), kKeys * 99 / 100);
}

TEST(Draws, SeedDecides) {
    EXPECT_EQ(draw_keys(100, 0.99, 1, 1000), draw_keys(100, 0.99, 1, 1000));
    EXPECT_NE(draw_keys(100, 0.99, 1, 1000), draw_keys(100, 0.99, 2, 1000));
    EXPECT_THAT(draw_keys(1, 0.99, 1, 10), testing::Each(0U));
}

}  // namespace
}  // namespace perf::kv
