// SPDX-License-Identifier: Apache-2.0
#include "perf/measure/statistics.h"

#include <algorithm>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace perf {
namespace {

using Sample = std::vector<double>;

Sample around(double center, size_t n, double spread) {
    Sample sample;
    for (size_t i = 0; i < n; ++i)
        sample.push_back(center * (1 + spread * (static_cast<double>(i % 7) - 3) / 3));
    return sample;
}

TEST(Median, IsTheMiddle) {
    EXPECT_EQ(median({}), 0);
    EXPECT_EQ(median({7}), 7);
    EXPECT_EQ(median({9, 1, 5}), 5);
    EXPECT_EQ(median({4, 1, 2, 100}), 3);
    constexpr double kHuge = std::numeric_limits<double>::max();
    EXPECT_EQ(median({kHuge, kHuge}), kHuge);
}

TEST(MedianEstimate, SaysNothingBelowThreeSamples) {
    EXPECT_EQ(estimate_median({}, 1).n, 0U);
    EXPECT_EQ(estimate_median({5}, 1).median, 5);
    EXPECT_FALSE(estimate_median({5, 6}, 1).interval);
    EXPECT_TRUE(estimate_median({5, 6, 7}, 1).interval);
}

TEST(MedianEstimate, ThreeSamplesGiveTheirRange) {
    // Each extreme is the median of 7 resamples of 27, far more than the tails.
    EXPECT_EQ(estimate_median({3, 1, 2}, 1).interval, (Interval{1, 3}));
}

TEST(MedianEstimate, EqualSamplesHaveNoWidth) {
    EXPECT_EQ(estimate_median(Sample(20, 4.5), 9).interval, (Interval{4.5, 4.5}));
}

TEST(MedianEstimate, IsTheSameForTheSameSeed) {
    const Sample sample = around(1000, 30, 0.2);
    const auto first = estimate_median(sample, 5);
    Sample shuffled = sample;
    std::ranges::reverse(shuffled);
    EXPECT_EQ(estimate_median(shuffled, 5).interval, first.interval);
    EXPECT_EQ(first.n, 30U);
}

TEST(MedianEstimate, OneOutlierMovesNothing) {
    Sample sample = around(100, 21, 0.01);
    sample[3] = 1e9;
    const auto estimate = estimate_median(sample, 2);
    EXPECT_NEAR(estimate.median, 100, 1);
    EXPECT_LT(estimate.interval->high, 102);
}

// 95 intervals of 100 should hold the true median; a broken tail or generator is far off.
TEST(MedianEstimate, CoversTheTruth) {
    std::mt19937_64 random(7);
    int held = 0;
    constexpr int kTries = 100;
    for (int i = 0; i < kTries; ++i) {
        Sample sample(15);
        for (double& value : sample)
            value = static_cast<double>(random() % 100'001);
        const auto interval = *estimate_median(sample, static_cast<uint64_t>(i)).interval;
        held += interval.low <= 50'000 && 50'000 <= interval.high ? 1 : 0;
    }
    EXPECT_GE(held, kTries * 88 / 100);
    EXPECT_LE(held, kTries * 99 / 100);
}

TEST(Ratio, OfTheMedians) {
    const auto estimate = estimate_ratio({100, 101, 99}, {200, 202, 198}, 1);
    EXPECT_DOUBLE_EQ(estimate.ratio, 2);
    EXPECT_DOUBLE_EQ(estimate.interval->low, 198.0 / 101);
    EXPECT_DOUBLE_EQ(estimate.interval->high, 202.0 / 99);
}

TEST(Ratio, WithoutADivisorThereIsNone) {
    EXPECT_EQ(estimate_ratio({}, {1, 2, 3}, 1).ratio, 0);
    EXPECT_EQ(estimate_ratio({1, 2, 3}, {}, 1).ratio, 0);
    EXPECT_FALSE(estimate_ratio({0, 2, 3}, {1, 2, 3}, 1).interval);
    EXPECT_FALSE(estimate_ratio(Sample(3, 1e-300), Sample(3, 1e300), 1).interval);
    EXPECT_FALSE(estimate_ratio({1, 2}, {1, 2, 3}, 1).interval);
}

TEST(Ratio, NothingReceivedIsARatioOfZero) {
    const auto estimate = estimate_ratio({1, 2, 3}, {0, 0, 0}, 1);
    EXPECT_EQ(judge(estimate, Better::Higher), Verdict::Slower);
}

Verdict verdict_of(const Sample& a, const Sample& b, Better better = Better::Higher) {
    return judge(estimate_ratio(a, b, 3), better);
}

TEST(Verdicts, KnownSamples) {
    const Sample base = around(1000, 10, 0.01);
    EXPECT_EQ(verdict_of(base, base), Verdict::Equal);
    EXPECT_EQ(verdict_of(base, around(1020, 10, 0.01)), Verdict::Equal) << "2 % is no difference";
    EXPECT_EQ(verdict_of(base, around(1200, 10, 0.01)), Verdict::Faster);
    EXPECT_EQ(verdict_of(base, around(800, 10, 0.01)), Verdict::Slower);
    EXPECT_EQ(verdict_of(base, around(1200, 10, 0.01), Better::Lower), Verdict::Slower);
    EXPECT_EQ(verdict_of(base, around(800, 10, 0.01), Better::Lower), Verdict::Faster);
    EXPECT_EQ(verdict_of(base, around(1000, 6, 0.5)), Verdict::NotEnoughData) << "too wide";
    EXPECT_EQ(verdict_of({1000, 1000}, {2000, 2000}), Verdict::NotEnoughData);
}

TEST(Verdicts, Edges) {
    const auto at = [](double low, double high) {
        return judge({.ratio = 1, .interval = Interval{low, high}}, Better::Higher);
    };
    EXPECT_EQ(at(0.95, 1.05), Verdict::Equal);
    EXPECT_EQ(at(0.95, 1.051), Verdict::NotEnoughData);
    EXPECT_EQ(at(1.0, 1.2), Verdict::NotEnoughData) << "1 is not excluded";
    EXPECT_EQ(at(1.001, 1.2), Verdict::Faster);
    EXPECT_EQ(at(0.5, 0.999), Verdict::Slower);
    EXPECT_EQ(name_of(Verdict::NotEnoughData), "not enough data");
    EXPECT_EQ(name_of(Verdict::Faster), "faster");
}

}  // namespace
}  // namespace perf
