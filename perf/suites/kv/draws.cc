// SPDX-License-Identifier: Apache-2.0
#include "perf/suites/kv/draws.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace perf::kv {

std::vector<uint32_t> draw_keys(uint32_t keys, double skew, uint64_t seed, size_t count) {
    // Up to and with each key; the last one is the whole.
    std::vector<double> shares(keys);
    double sum = 0;
    for (uint32_t key = 0; key < keys; ++key)
        shares[key] = sum += std::pow(key + 1.0, -skew);
    std::mt19937_64 generator(seed);
    std::vector<uint32_t> drawn(count);
    for (uint32_t& key : drawn) {
        // The standard's distributions differ between libraries; 53 bits make a double below 1.
        const double at = static_cast<double>(generator() >> 11U) * 0x1p-53 * sum;
        const auto found = std::ranges::upper_bound(shares, at) - shares.begin();
        key = static_cast<uint32_t>(std::min<ptrdiff_t>(found, keys - 1));
    }
    return drawn;
}

}  // namespace perf::kv
