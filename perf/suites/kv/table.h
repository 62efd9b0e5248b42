// SPDX-License-Identifier: Apache-2.0
// The table of the key-value exercise: open addressing with linear probing in one piece of memory,
// so that a client can compute where a key may be, and read there.
//
// A slot is its key and version (64 bits each, of this machine's order) and the value, padded to 8
// bytes: the pattern (pattern.h) of seed, version and key. So a slot of another key, or of another
// filling, cannot look right. There are twice as many slots as keys, and one more behind them that
// is always empty: the answer for a key that is not there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "perf/base/names.h"

namespace perf::kv {

inline constexpr uint32_t kMaxValue = 4096;                 // bytes
inline constexpr uint64_t kMaxKeptBytes = 64U << 20U;       // keys times slot
inline constexpr uint32_t kMaxProbes = 128;                 // slots that may have to be looked at
inline constexpr uint32_t kMaxVersion = (1U << 24U) - 1;    // a pattern's number has 48 bits
inline constexpr uint64_t kNoKey = UINT64_MAX;              // of an empty slot
inline constexpr size_t kHeadBytes = 2 * sizeof(uint64_t);  // key and version

struct Shape {
    uint32_t keys = 0;   // 0 to keys - 1 are in the table
    uint32_t value = 0;  // bytes
    uint64_t seed = 0;

    [[nodiscard]] uint32_t slots() const { return 2 * keys; }

    [[nodiscard]] size_t slot_bytes() const {
        return kHeadBytes + (value + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
    }

    [[nodiscard]] size_t table_bytes() const { return (size_t{slots()} + 1) * slot_bytes(); }

    // Where the slot starts that is looked at after `probe` others.
    [[nodiscard]] size_t place(uint64_t key, uint32_t probe) const;

    // Of the slot that is always empty.
    [[nodiscard]] size_t nowhere() const { return size_t{slots()} * slot_bytes(); }
};

// Code::BadInput that names the member.
Result<> check_limits(const Shape& shape);

// Makes the table anew with all keys at that version. `table` has table_bytes().
// Code::Unsupported if a key finds no free slot within kMaxProbes.
Result<> fill(std::span<std::byte> table, const Shape& shape, uint32_t version);

uint64_t key_of(std::span<const std::byte> slot);

// Where the key's slot starts, or nowhere().
size_t find(std::span<const std::byte> table, const Shape& shape, uint64_t key);

// Why the slot is not the key's at that version, in words; nothing if it is.
std::optional<std::string> check_slot(std::span<const std::byte> slot,
                                      const Shape& shape,
                                      uint32_t key,
                                      uint32_t version);

// ---- which keys are asked for -----------------------------------------------------------------
// Zipf: key k (from 0) has a share proportional to 1 / (k + 1)^skew; skew 0 is uniform, 0.99 what
// benchmarks of key-value stores commonly take.
inline constexpr double kMaxSkew = 10;

// Same arguments, same keys, on every machine. `keys` > 0, `skew` >= 0.
std::vector<uint32_t> draw_keys(uint32_t keys, double skew, uint64_t seed, size_t count);

}  // namespace perf::kv
