// SPDX-License-Identifier: Apache-2.0
#include "perf/protocol/pattern.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

namespace perf {

static_assert(std::endian::native == std::endian::little, "the pattern is little endian");

namespace {
constexpr uint64_t kOdd = 0x9e3779b97f4a7c15ULL;

// The inverse of kOdd modulo 2^64: from the value of a word back to its place.
constexpr uint64_t kInverse = 0xf1de83e19937733dULL;
static_assert(kOdd * kInverse == 1);

uint64_t mix64(uint64_t x) {
    x ^= x >> 30U;
    x *= 0xbf58476d1ce4e5b9ULL;
    x ^= x >> 27U;
    x *= 0x94d049bb133111ebULL;
    return x ^ (x >> 31U);
}

uint64_t load(std::span<const std::byte> data, size_t offset) {
    uint64_t word = 0;
    std::memcpy(&word, data.data() + offset, std::min<size_t>(sizeof word, data.size() - offset));
    return word;
}

std::optional<std::string> explain_stale(uint64_t word, uint64_t place, const PatternKey& key) {
    // As far back as one ring can hold, and a little ahead.
    constexpr uint64_t kBack = 8192;
    constexpr uint64_t kAhead = 256;
    const uint64_t first = key.seq > kBack ? key.seq - kBack : 0;
    for (uint64_t seq = first; seq < key.seq + kAhead; ++seq) {
        if (seq != key.seq && pattern_base({key.seed, key.qp, seq}) + place * kOdd == word)
            return fmt::format("{}: message {}", seq < key.seq ? "stale" : "swapped", seq);
    }
    return std::nullopt;
}

std::optional<std::string> explain_shift(std::span<const std::byte> data,
                                         size_t offset,
                                         const PatternKey& key) {
    // The message's own words, at another place than theirs, and maybe one that is no multiple of
    // eight. Behind the first wrong byte there may be a piece that the shift left free.
    constexpr size_t kAhead = 256;
    const uint64_t words = data.size() / 8 + 1;
    for (size_t at = offset; at < offset + kAhead && at + 8 <= data.size(); ++at) {
        const uint64_t place = (load(data, at) - pattern_base(key)) * kInverse;
        if (place < words && place * 8 != at)
            return fmt::format("shifted by {} bytes",
                               static_cast<int64_t>(at) - static_cast<int64_t>(place * 8));
    }
    return std::nullopt;
}

std::string explain(std::span<const std::byte> data, size_t offset, const PatternKey& key) {
    const uint64_t place = offset / 8;
    const size_t at = place * 8;
    const uint64_t got = load(data, at);
    const uint64_t flipped = got ^ (pattern_base(key) + place * kOdd);
    if (at + 8 <= data.size()) {
        if (auto shift = explain_shift(data, at, key))
            return *shift;
        if (auto stale = explain_stale(got, place, key))
            return *stale;
        if (std::popcount(flipped) == 1)
            return "bit flip";
    }
    if (std::popcount((flipped >> (8 * (offset - at))) & 0xffU) == 1)
        return "bit flip";
    return "unknown data";
}
}  // namespace

uint64_t pattern_base(const PatternKey& key) {
    return mix64(key.seed ^ (uint64_t{key.qp} << 48U) ^ key.seq);
}

void fill_pattern(std::span<std::byte> data, const PatternKey& key) {
    const uint64_t base = pattern_base(key);
    const size_t words = data.size() / 8;
    for (size_t i = 0; i < words; ++i) {
        const uint64_t word = base + i * kOdd;
        std::memcpy(data.data() + i * 8, &word, 8);
    }
    const uint64_t last = base + words * kOdd;
    if (data.size() % 8 != 0)
        std::memcpy(data.data() + words * 8, &last, data.size() % 8);
}

std::optional<Mismatch> check_pattern(std::span<const std::byte> data, const PatternKey& key) {
    const uint64_t base = pattern_base(key);
    const size_t words = data.size() / 8;
    uint64_t difference = 0;
    for (size_t i = 0; i < words; ++i) {
        uint64_t word = 0;
        std::memcpy(&word, data.data() + i * 8, 8);
        difference |= word ^ (base + i * kOdd);
    }
    const uint64_t last_bytes = (uint64_t{1} << (data.size() % 8 * 8)) - 1;
    difference |= (load(data, words * 8) ^ (base + words * kOdd)) & last_bytes;
    if (difference == 0)
        return std::nullopt;
    for (size_t i = 0; i < data.size(); ++i) {
        const auto expected = static_cast<uint8_t>((base + i / 8 * kOdd) >> (8 * (i % 8)));
        const auto got = static_cast<uint8_t>(data[i]);
        if (expected != got)
            return Mismatch{i, expected, got, explain(data, i, key)};
    }
    return std::nullopt;
}

}  // namespace perf
