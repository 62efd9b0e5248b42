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

// Draws medians of resamples. Indices into the sorted sample are drawn instead of values: they
// sort alike, and are the same everywhere since only the generator's defined output is used.
class Resampler {
  public:
    Resampler(std::span<const double> sorted, std::mt19937_64& random)
        : sorted_(sorted), random_(&random), drawn_(sorted.size()) {}

    double draw_median() {
        for (size_t& index : drawn_)
            index = static_cast<size_t>((((*random_)() >> 32U) * sorted_.size()) >> 32U);
        const auto half = static_cast<std::ptrdiff_t>(drawn_.size() / 2);
        std::nth_element(drawn_.begin(), drawn_.begin() + half, drawn_.end());
        const double upper = sorted_[drawn_[static_cast<size_t>(half)]];
        if (drawn_.size() % 2 == 1)
            return upper;
        const size_t lower = *std::max_element(drawn_.begin(), drawn_.begin() + half);
        return sorted_[lower] / 2 + upper / 2;
    }

  private:
    std::span<const double> sorted_;
    std::mt19937_64* random_;
    std::vector<size_t> drawn_;
};

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
    Resampler resampler(sample, random);
    out.interval = percentile_interval([&] { return resampler.draw_median(); });
    return out;
}

RatioEstimate estimate_ratio(const std::vector<double>& a,
                             const std::vector<double>& b,
                             uint64_t seed) {
    std::vector<double> sorted_a = a;
    std::vector<double> sorted_b = b;
    std::ranges::sort(sorted_a);
    std::ranges::sort(sorted_b);
    // A smallest sample above zero keeps every draw's divisor above zero.
    if (sorted_a.empty() || sorted_b.empty() || sorted_a.front() <= 0)
        return {};
    RatioEstimate out{.ratio = middle(sorted_b) / middle(sorted_a), .interval = std::nullopt};
    if (!std::isfinite(out.ratio))
        return {};
    if (std::min(a.size(), b.size()) < kEnoughSamples)
        return out;
    std::mt19937_64 random(seed);
    Resampler from_a(sorted_a, random);
    Resampler from_b(sorted_b, random);
    const Interval interval = percentile_interval([&] {
        const double divisor = from_a.draw_median();
        return from_b.draw_median() / divisor;
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
