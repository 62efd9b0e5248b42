// SPDX-License-Identifier: Apache-2.0
#include "perf/measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace perf {

namespace {
// How many sorted values a test at 5 % rejects at each end: the greatest number that its statistic
// does not exceed with 2.5 %, or 0. `ways`: for it to be 0, 1, 2...
size_t tail_of(const std::vector<double>& ways) {
    const double limit = std::accumulate(ways.begin(), ways.end(), 0.0) / 40;
    size_t last = 0;
    for (double tail = ways[0] + ways[1]; tail <= limit; tail += ways[last + 1])
        ++last;
    return last;
}

// By signs: of n values as many are below the median. By ranks: the sum of their ranks is so much.
// A double has room for 2^1000.
std::optional<size_t> coin_tail(size_t n, bool by_ranks) {
    if (n < kEnoughSamples)
        return std::nullopt;
    std::vector<double> ways = {1};
    for (size_t i = 1; i <= n; ++i) {
        const size_t weight = by_ranks ? i : 1;
        ways.resize(ways.size() + weight);
        for (size_t sum = ways.size(); sum-- > weight;)
            ways[sum] += ways[sum - weight];
    }
    return tail_of(ways);
}

// As many of n * m ratios are below 1. Counted as far as a double is exact, to C(56, 28). Above that
// it is the normal distribution's, which is at most one off.
std::optional<size_t> group_tail(size_t n, size_t m) {
    if (std::min(n, m) < kEnoughSamples)
        return std::nullopt;
    const double middle = static_cast<double>(n * m) / 2;
    const double variance = middle * static_cast<double>(n + m + 1) / 6;
    if (n + m > 56)
        return static_cast<size_t>(middle - 0.5 - 1.96 * std::sqrt(variance));
    std::vector<double> ways(n * m + 1);
    ways[0] = 1;
    for (size_t i = 1; i <= n; ++i) {  // times (1 - x^(m + i)) / (1 - x^i)
        for (size_t u = ways.size(); u-- > m + i;)
            ways[u] -= ways[u - m - i];
        for (size_t u = i; u < ways.size(); ++u)
            ways[u] += ways[u - i];
    }
    return tail_of(ways);
}

std::optional<Interval> without(const std::vector<double>& sorted, std::optional<size_t> tail) {
    if (!tail)
        return std::nullopt;
    return Interval{.low = sorted[*tail], .high = sorted[sorted.size() - 1 - *tail]};
}

// The middle on a logarithmic scale. Nothing that was measured has a square that is infinite.
RatioEstimate middle_of(std::vector<double> ratios, std::optional<size_t> tail) {
    std::ranges::sort(ratios);
    if (ratios.empty() || !std::isfinite(ratios.back() * ratios.back()))
        return {};
    return {.ratio = std::sqrt(ratios[(ratios.size() - 1) / 2] * ratios[ratios.size() / 2]),
            .interval = without(ratios, tail)};
}
}  // namespace

double median(std::vector<double> sample) {
    if (sample.empty())
        return 0;
    std::ranges::sort(sample);
    return std::midpoint(sample[(sample.size() - 1) / 2], sample[sample.size() / 2]);
}

MedianEstimate estimate_median(std::vector<double> sample) {
    std::ranges::sort(sample);
    return {.n = sample.size(),
            .median = median(sample),
            .interval = without(sample, coin_tail(sample.size(), false))};
}

RatioEstimate ratio_of_pairs(const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<double> ratios;
    std::vector<double> means;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        if (!std::isnormal(b[i] / a[i]))
            continue;
        ratios.push_back(b[i] / a[i]);
        for (const double ratio : ratios)
            means.push_back(std::sqrt(ratio * ratios.back()));
    }
    return middle_of(std::move(means), coin_tail(ratios.size(), true));
}

RatioEstimate ratio_of_groups(const std::vector<double>& a, const std::vector<double>& b) {
    if (std::ranges::count(a, 0.0) != 0)
        return {};
    std::vector<double> ratios;
    for (const double below : a) {
        for (const double above : b)
            ratios.push_back(above / below);
    }
    return middle_of(std::move(ratios), group_tail(a.size(), b.size()));
}

Verdict judge(const RatioEstimate& estimate, Better better) {
    if (!estimate.interval)
        return Verdict::NotEnoughData;
    const auto [low, high] = *estimate.interval;
    if (low >= 1 - kEqualMargin && high <= 1 + kEqualMargin)
        return Verdict::Equal;
    if (low <= 1 && high >= 1)
        return Verdict::NotEnoughData;
    return (low > 1) == (better == Better::Higher) ? Verdict::Faster : Verdict::Slower;
}

}  // namespace perf
