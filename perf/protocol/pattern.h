// SPDX-License-Identifier: Apache-2.0
// The payload pattern: every 64-bit word of a message depends on the run's seed, the queue pair,
// the message's sequence number and the word's place, so that a lost, stale, shifted or swapped
// piece cannot look right. word(i) = mix64(seed ^ qp << 48 ^ seq) + i * odd, little endian; the
// last word is cut to the message's end. Generation and check run at about the speed of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace perf {

struct PatternKey {
    uint64_t seed = 0;
    uint16_t qp = 0;   // which stream: the lane's number, and the direction in its top bit
    uint64_t seq = 0;  // the message's number, below 2^48
};

// The value of word 0.
uint64_t pattern_base(const PatternKey& key);

void fill_pattern(std::span<std::byte> data, const PatternKey& key);

// The first byte that is not as it should be.
struct Mismatch {
    uint64_t offset = 0;  // bytes from the start of the message
    uint8_t expected = 0;
    uint8_t got = 0;
    std::string kind;  // "bit flip", "stale: message 3", "shifted by 64 bytes", "unknown data", ...
};

// Nothing if all bytes are right.
std::optional<Mismatch> check_pattern(std::span<const std::byte> data, const PatternKey& key);

}  // namespace perf
