// SPDX-License-Identifier: Apache-2.0
#include "perf/measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <span>

namespace perf {

namespace {
// Where the tails of 2.5 % begin among sorted draws.
constexpr size_t kTail = kDraws / 40;

// Middle of a sorted sample. The halves are added so that two huge ones do not overflow.
double middle(std::span<const double> sorted) {
    const size_t half = sorted.size() / 2;
    if (sorted.size() % 2 == 1)
        return sorted[half];
    return sorted[half - 1] / 2 + sorted[half] / 2;
}

// The median of a resample. Indices into the sorted sample are drawn instead of values: they sort
// alike, and are the same everywhere since only the generator's defined output is used.
double draw_median(std::span<const double> sorted, std::mt19937_64& random) {
    std::vector<size_t> drawn(sorted.size());
    for (size_t& index : drawn)
        index = static_cast<size_t>(((random() >> 32U) * sorted.size()) >> 32U);
    const auto half = static_cast<std::ptrdiff_t>(drawn.size() / 2);
    std::nth_element(drawn.begin(), drawn.begin() + half, drawn.end());
    const double upper = sorted[drawn[static_cast<size_t>(half)]];
    if (drawn.size() % 2 == 1)
        return upper;
    const size_t lower = *std::max_element(drawn.begin(), drawn.begin() + half);
    return sorted[lower] / 2 + upper / 2;
}

template <class Draw>
Interval percentile_interval(Draw draw) {
    std::vector<double> draws(kDraws);
    for (double& value : draws)
        value = draw();
    std::ranges::sort(draws);
    return {.low = draws[kTail], .high = draws[kDraws - 1 - kTail]};
}
}  // namespace

double median(std::vector<double> sample) {
    if (sample.empty())
        return 0;
    std::ranges::sort(sample);
    return middle(sample);
}

MedianEstimate estimate_median(std::vector<double> sample, uint64_t seed) {
    std::ranges::sort(sample);
    MedianEstimate out{.n = sample.size(),
                       .median = sample.empty() ? 0 : middle(sample),
                       .interval = std::nullopt};
    if (sample.size() < kEnoughSamples)
        return out;
    std::mt19937_64 random(seed);
    out.interval = percentile_interval([&] { return draw_median(sample, random); });
    return out;
}

RatioEstimate estimate_ratio(std::vector<double> a, std::vector<double> b, uint64_t seed) {
    std::ranges::sort(a);
    std::ranges::sort(b);
    // A smallest sample above zero keeps every draw's divisor above zero.
    if (a.empty() || b.empty() || a.front() <= 0)
        return {};
    RatioEstimate out{.ratio = middle(b) / middle(a), .interval = std::nullopt};
    if (!std::isfinite(out.ratio))
        return {};
    if (std::min(a.size(), b.size()) < kEnoughSamples)
        return out;
    std::mt19937_64 random(seed);
    const Interval interval = percentile_interval([&] {
        const double divisor = draw_median(a, random);
        return draw_median(b, random) / divisor;
    });
    if (std::isfinite(interval.high))
        out.interval = interval;
    return out;
}

Verdict judge(const RatioEstimate& estimate, Better better) {
    if (!estimate.interval)
        return Verdict::NotEnoughData;
    const auto [low, high] = *estimate.interval;
    if (low >= 1 - kEqualMargin && high <= 1 + kEqualMargin)
        return Verdict::Equal;
    if (low > 1)
        return better == Better::Higher ? Verdict::Faster : Verdict::Slower;
    if (high < 1)
        return better == Better::Higher ? Verdict::Slower : Verdict::Faster;
    return Verdict::NotEnoughData;
}

}  // namespace perf
