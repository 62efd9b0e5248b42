// SPDX-License-Identifier: Apache-2.0
// Which keys are asked for. Zipf: key k (from 0) has a share proportional to 1 / (k + 1)^skew;
// skew 0 is uniform, 0.99 what benchmarks of key-value stores commonly take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace perf::kv {

inline constexpr double kMaxSkew = 10;

// Same arguments, same keys, on every machine. `keys` > 0, `skew` >= 0.
std::vector<uint32_t> draw_keys(uint32_t keys, double skew, uint64_t seed, size_t count);

}  // namespace perf::kv
