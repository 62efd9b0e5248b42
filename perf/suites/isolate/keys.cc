// SPDX-License-Identifier: Apache-2.0
#include "perf/suites/isolate/keys.h"

#include <cmath>
#include <cstddef>

namespace perf {

namespace {
double entropy_of(double share) {
    if (share <= 0 || share >= 1)
        return 0;
    return -share * std::log2(share) - (1 - share) * std::log2(1 - share);
}
}  // namespace

double unknown_bits(std::span<const uint32_t> keys) {
    if (keys.size() < 2)
        return 0;
    const auto count = static_cast<double>(keys.size() - 1);
    double sum = 0;
    for (unsigned bit = 0; bit < 32; ++bit) {
        size_t ones = 0;
        for (size_t i = 1; i < keys.size(); ++i)
            ones += ((keys[i] - keys[i - 1]) >> bit) & 1U;
        sum += entropy_of(static_cast<double>(ones) / count);
    }
    return sum;
}

}  // namespace perf
