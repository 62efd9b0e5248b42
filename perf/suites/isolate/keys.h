// SPDX-License-Identifier: Apache-2.0
// How much of a memory key has to be guessed by who knows the one before it.
#pragma once

#include <cstdint>
#include <span>

namespace perf {

// Bits, 0 to 32: an upper bound. Over the differences of successive keys (mod 2^32) each bit has an
// entropy of its own, by how often it is 1; the sum of these is never less than the entropy of the
// whole difference. Keys that are counted up give 0, random ones nearly 32; an index in the upper
// bits over a random byte (rxe) gives 9, the byte and its carry. What only looks random, such as a
// generator whose state can be computed, is not seen through.
double unknown_bits(std::span<const uint32_t> keys);

}  // namespace perf
