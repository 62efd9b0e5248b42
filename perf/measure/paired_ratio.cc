// SPDX-License-Identifier: Apache-2.0
#include "perf/measure/paired_ratio.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace perf {

namespace {
constexpr double kTailOfTest = 0.025;

// Of each two, and of each with itself; sorted.
std::vector<double> means_of_two(const std::vector<double>& values) {
    std::vector<double> means;
    for (size_t i = 0; i < values.size(); ++i) {
        for (size_t j = i; j < values.size(); ++j)
            means.push_back((values[i] + values[j]) / 2);
    }
    std::ranges::sort(means);
    return means;
}

// How likely each sum of positive ranks is, if each of the ranks 1 to n is positive or negative by
// the toss of a coin.
std::vector<double> rank_sum_distribution(size_t n) {
    std::vector<double> chance(n * (n + 1) / 2 + 1, 0);
    chance[0] = 1;
    size_t greatest = 0;
    for (size_t rank = 1; rank <= n; ++rank) {
        greatest += rank;
        for (size_t sum = greatest + 1; sum-- > 0;) {
            const double with = sum >= rank ? chance[sum - rank] : 0;
            chance[sum] = (chance[sum] + with) / 2;
        }
    }
    return chance;
}
}  // namespace

size_t signed_rank_critical(size_t n) {
    const std::vector<double> chance = rank_sum_distribution(n);
    double tail = 0;
    size_t sum = 0;
    while (sum < chance.size() && tail + chance[sum] <= kTailOfTest)
        tail += chance[sum++];
    return sum == 0 ? 0 : sum - 1;
}

RatioEstimate estimate_paired_ratio(std::span<const RunPair> pairs) {
    std::vector<double> logs;
    for (const RunPair& pair : pairs) {
        // Not a number is not above zero either.
        if (!(pair.a > 0 && pair.b > 0))
            return {};
        logs.push_back(std::log(pair.b / pair.a));
    }
    if (logs.empty())
        return {};
    const std::vector<double> means = means_of_two(logs);
    RatioEstimate out{.ratio = std::exp(median(means)), .interval = std::nullopt};
    if (!std::isfinite(out.ratio) || out.ratio == 0)
        return {};
    if (logs.size() < kEnoughPairs)
        return out;
    const size_t outside = signed_rank_critical(logs.size());
    out.interval = Interval{.low = std::exp(means[outside]),
                            .high = std::exp(means[means.size() - 1 - outside])};
    return out;
}

}  // namespace perf
