// SPDX-License-Identifier: Apache-2.0
#include "perf/verbs/memory.h"

#include <limits>

#include <gtest/gtest.h>

namespace perf {
namespace {

Point point(Verb verb, Mode mode, uint32_t size, uint32_t slots) {
    return {.verb = verb, .mode = mode, .size = size, .depth = slots, .slots = slots};
}

TEST(Layout, EachSideHasOnlyWhatItNeeds) {
    const auto areas = [](Verb verb, Mode mode, Side side) {
        const Layout l = layout_of(point(verb, mode, 64, 1), side);
        return std::string(l.in.exists() ? "in" : "") + (l.out.exists() ? "out" : "");
    };
    EXPECT_EQ(areas(Verb::Write, Mode::Bandwidth, Side::Client), "out");
    EXPECT_EQ(areas(Verb::Write, Mode::Bandwidth, Side::Server), "in");
    EXPECT_EQ(areas(Verb::Read, Mode::Bandwidth, Side::Client), "in");
    EXPECT_EQ(areas(Verb::Read, Mode::Latency, Side::Server), "out");
    EXPECT_EQ(areas(Verb::Send, Mode::Latency, Side::Client), "inout");
    EXPECT_EQ(areas(Verb::Write, Mode::Latency, Side::Server), "inout");
}

TEST(Layout, SlotsNeverTouch) {
    for (const uint32_t size : {1U, 63U, 64U, 65U, 4032U, 4095U, 4096U, 4097U, 65536U}) {
        const Layout l = layout_of(point(Verb::Send, Mode::Latency, size, 5), Side::Client);
        EXPECT_GE(l.in.stride, size + 64) << size;
        EXPECT_GE(l.in.end, l.in.slot(4) + size + 64);
        EXPECT_GE(l.out.start, l.in.end);
        EXPECT_EQ(l.bytes, l.out.end);
        EXPECT_EQ(l.in.stride, l.out.stride);
    }
}

// A message of 4 KiB in two pages would cost a software device a second copy, and an adapter a second
// entry of its tables.
TEST(Layout, MessagesOfAPageBeginOnOne) {
    for (const Transport transport : {Transport::Rc, Transport::Ud}) {
        for (const uint32_t size : {64U, 100U, 4096U, 5000U, 65536U}) {
            Point p = point(Verb::Send, Mode::Latency, size, 5);
            p.transport = transport;
            const Layout l = layout_of(p, Side::Client);
            const auto memory = Memory::map(l);
            ASSERT_TRUE(memory);
            for (uint32_t slot = 0; slot < p.slots; ++slot) {
                const uint64_t unit = size >= 4096 ? 4096 : 64;
                EXPECT_EQ(memory->address(l.in.slot(slot)) % unit, 0U) << size;
                EXPECT_EQ(memory->address(l.out.slot(slot)) % unit, 0U) << size;
            }
        }
    }
}

TEST(Memory, AllOfAProcessTogetherHasABudget) {
    const auto map = [](size_t bytes) {
        return Memory::map({.in = {}, .out = {}, .bytes = bytes});
    };
    constexpr size_t kUnit = size_t{1} << 20U;
    {
        const MemoryBudget budget(3 * kUnit);
        auto first = map(2 * kUnit);
        ASSERT_TRUE(first);
        const auto second = map(2 * kUnit);
        ASSERT_FALSE(second);
        EXPECT_EQ(second.error().code, base::Code::Busy);
        EXPECT_NE(second.error().message().find("2097152 of 3145728 are in use"), std::string::npos)
            << second.error().message();
        EXPECT_TRUE(map(kUnit));
        Memory moved = *std::move(first);
        EXPECT_FALSE(map(2 * kUnit));
        EXPECT_FALSE(map(std::numeric_limits<size_t>::max() - kUnit));
        moved = *map(kUnit);
        EXPECT_TRUE(map(2 * kUnit));
    }
    EXPECT_TRUE(map(4 * kUnit));
}

TEST(Guards, EveryByteOutsideOfTheMessagesIsWatched) {
    const Layout l = layout_of(point(Verb::Send, Mode::Bandwidth, 100, 3), Side::Server);
    const auto memory = Memory::map(l);
    ASSERT_TRUE(memory);
    ASSERT_FALSE(check_guards(memory->all(), l.in));
    for (size_t i = 0; i < l.bytes; ++i) {
        const bool in_message = i >= l.in.first && (i - l.in.first) / l.in.stride < 3 &&
                                (i - l.in.first) % l.in.stride < 100;
        memory->all()[i] ^= std::byte{0x01};
        EXPECT_EQ(check_guards(memory->all(), l.in).has_value(), !in_message) << i;
        memory->all()[i] ^= std::byte{0x01};
    }
}

TEST(Guards, SayWhere) {
    const Layout l = layout_of(point(Verb::Write, Mode::Bandwidth, 100, 3), Side::Server);
    const auto memory = Memory::map(l);
    ASSERT_TRUE(memory);
    memory->all()[l.in.slot(1) + 107] = std::byte{0};
    const auto hit = check_guards(memory->all(), l.in);
    ASSERT_TRUE(hit);
    EXPECT_EQ(hit->slot, 1U);
    EXPECT_EQ(hit->offset, 7U);
    EXPECT_EQ(hit->got, 0);
}

}  // namespace
}  // namespace perf
