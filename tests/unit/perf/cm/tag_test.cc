// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "perf/protocol/message.h"

namespace perf {
namespace {

constexpr CmTag kTag{.nonce = 0x0123456789abcdef, .lane = 0x0203};

TEST(CmTagTest, IsSixteenBytesBigEndian) {
    const auto wire = encode(kTag);
    const unsigned char expected[] = {
        'R', 'P', 'C', 'M', 0x00, 0x01, 0x02, 0x03, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
    ASSERT_EQ(wire.size(), sizeof expected);
    for (size_t i = 0; i < wire.size(); ++i)
        EXPECT_EQ(std::to_integer<unsigned>(wire[i]), expected[i]) << i;
}

TEST(CmTagTest, ComesBackWithAnythingBehindIt) {
    std::array<std::byte, 56> delivered{};
    std::ranges::copy(encode(kTag), delivered.begin());
    EXPECT_EQ(decode_tag(delivered), kTag);
    EXPECT_EQ(decode_tag(encode(kTag)), kTag);
}

TEST(CmTagTest, ShorterDataIsNone) {
    const auto wire = encode(kTag);
    for (size_t size = 0; size < wire.size(); ++size)
        EXPECT_FALSE(decode_tag(std::span(wire).first(size))) << size;
    EXPECT_FALSE(decode_tag({static_cast<const std::byte*>(nullptr), 0}));
}

TEST(CmTagTest, AnotherMagicOrVersionIsNone) {
    for (size_t i = 0; i < 6; ++i) {
        auto wire = encode(kTag);
        wire[i] ^= std::byte{0x40};
        EXPECT_FALSE(decode_tag(wire)) << i;
    }
}

}  // namespace
}  // namespace perf
