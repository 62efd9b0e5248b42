// SPDX-License-Identifier: Apache-2.0
#include "perf/measure/statistics.h"

#include <limits>
#include <numeric>
#include <random>
#include <utility>

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

Sample one_to(size_t n) {
    Sample sample(n);
    std::iota(sample.begin(), sample.end(), 1.0);
    return sample;
}

void expect_estimate(const RatioEstimate& found, double ratio, double low, double high) {
    EXPECT_NEAR(found.ratio, ratio, 1e-12);
    ASSERT_TRUE(found.interval);
    EXPECT_NEAR(found.interval->low, low, 1e-12);
    EXPECT_NEAR(found.interval->high, high, 1e-12);
}

TEST(Median, IsTheMiddle) {
    EXPECT_EQ(median({}), 0);
    EXPECT_EQ(median({7}), 7);
    EXPECT_EQ(median({9, 1, 5}), 5);
    EXPECT_EQ(median({4, 1, 2, 100}), 3);
    constexpr double kHuge = std::numeric_limits<double>::max();
    EXPECT_EQ(median({kHuge, kHuge}), kHuge);
}

TEST(MedianEstimate, HasNoIntervalBelowSixSamples) {
    EXPECT_EQ(estimate_median({}).n, 0U);
    EXPECT_EQ(estimate_median({5}).median, 5);
    EXPECT_FALSE(estimate_median(one_to(5)).interval);
    EXPECT_EQ(estimate_median({3, 1, 6, 2, 5, 4}).interval, (Interval{1, 6}));
}

// As many at each end as the tables of the sign test say.
TEST(MedianEstimate, LeavesOutWhatTheSignTestRejects) {
    constexpr std::pair<unsigned, unsigned> kTable[] = {
        {6, 0}, {8, 0}, {9, 1}, {12, 2}, {20, 5}, {1000, 468}};
    for (const auto& [n, outside] : kTable) {
        const auto estimate = estimate_median(one_to(n));
        EXPECT_EQ(estimate.n, n);
        EXPECT_EQ(estimate.interval, (Interval{outside + 1.0, static_cast<double>(n - outside)}));
    }
}

TEST(MedianEstimate, OneOutlierMovesNothing) {
    Sample sample = around(100, 21, 0.01);
    sample[3] = 1e9;
    const auto estimate = estimate_median(sample);
    EXPECT_NEAR(estimate.median, 100, 1);
    EXPECT_LT(estimate.interval->high, 102);
}

// tests/unit/report/report_test.py has the same pairs.
const Sample kBefore = {100, 104, 98, 103, 97, 101, 99, 105};
const Sample kAfter = {92, 99, 90, 97, 95, 91, 94, 96};

TEST(RatioOfPairs, IsThatOfTheReport) {
    expect_estimate(ratio_of_pairs(kBefore, kAfter),
                    0.9333579274682027,
                    0.9104454355364241,
                    0.9603801836186431);
}

TEST(RatioOfPairs, IgnoresACommonDrift) {
    Sample slower = one_to(6);
    for (double& value : slower)
        value *= 0.75;
    expect_estimate(ratio_of_pairs(one_to(6), slower), 0.75, 0.75, 0.75);
}

TEST(RatioOfPairs, OnlyWhatIsInBothCounts) {
    EXPECT_EQ(ratio_of_pairs({}, {1, 2, 3}).ratio, 0);
    EXPECT_EQ(ratio_of_pairs({0, 1}, {1, 0}).ratio, 0);
    expect_estimate(ratio_of_pairs({1, 1, 0, 1, 1, 1, 1}, {2, 2, 9, 2, 2, 2, 2, 9}), 2, 2, 2);
    EXPECT_FALSE(ratio_of_pairs({1, 1, 0, 1, 1, 1}, {2, 2, 9, 2, 2, 2}).interval);
}

TEST(RatioOfGroups, IsTheMiddleOfAllRatios) {
    // Of 36 and of 64 ratios 5 and 13 at each end are left out, as the tables of the test say.
    expect_estimate(ratio_of_groups({103, 101, 105, 100, 104, 102}, {94, 90, 93, 95, 91, 92}),
                    0.9024365773437637,
                    92.0 / 105,
                    93.0 / 100);
    expect_estimate(ratio_of_groups(kBefore, kAfter), 0.9323655140714524, 94.0 / 104, 95.0 / 98);
}

TEST(RatioOfGroups, ManyAreAsManyTimesOne) {
    // 282 of 812 by count, too: above the tenth and below the twentieth.
    expect_estimate(ratio_of_groups(Sample(28, 1), one_to(29)), 15, 11, 19);
    expect_estimate(ratio_of_groups(Sample(100, 2), Sample(100, 3)), 1.5, 1.5, 1.5);
}

TEST(RatioOfGroups, WithoutADivisorThereIsNone) {
    EXPECT_EQ(ratio_of_groups({}, one_to(6)).ratio, 0);
    EXPECT_EQ(ratio_of_groups(one_to(6), {}).ratio, 0);
    EXPECT_EQ(ratio_of_groups({0, 2, 3, 4, 5, 6}, one_to(6)).ratio, 0);
    EXPECT_FALSE(ratio_of_groups(Sample(6, 1e-300), Sample(6, 1e300)).interval);
    EXPECT_TRUE(ratio_of_groups(one_to(6), one_to(6)).interval);
    EXPECT_FALSE(ratio_of_groups(one_to(5), one_to(60)).interval);
}

TEST(RatioOfGroups, NothingReceivedIsARatioOfZero) {
    const auto estimate = ratio_of_groups(one_to(6), Sample(6, 0));
    EXPECT_EQ(estimate.interval, (Interval{0, 0}));
    EXPECT_EQ(judge(estimate, Better::Higher), Verdict::Slower);
}

// Of 1000 intervals about 950 should hold the truth: by what they leave out 965, 952 and 955.
TEST(Estimates, CoverTheTruth) {
    std::mt19937_64 random(7);
    const auto draw = [&] {
        Sample sample(15);
        for (double& value : sample)
            value = static_cast<double>(random() % 100'001 + 1);
        return sample;
    };
    const auto holds = [](const std::optional<Interval>& interval, double truth) {
        return interval && interval->low <= truth && truth <= interval->high ? 1 : 0;
    };
    int medians = 0;
    int pairs = 0;
    int groups = 0;
    for (int i = 0; i < 1000; ++i) {
        const Sample a = draw();
        const Sample b = draw();
        medians += holds(estimate_median(a).interval, 50'001);
        pairs += holds(ratio_of_pairs(a, b).interval, 1);
        groups += holds(ratio_of_groups(a, b).interval, 1);
    }
    for (const int held : {medians, pairs, groups}) {
        EXPECT_GE(held, 930);
        EXPECT_LE(held, 985);
    }
}

Verdict verdict_of(const Sample& a, const Sample& b, Better better = Better::Higher) {
    return judge(ratio_of_groups(a, b), better);
}

TEST(Verdicts, KnownSamples) {
    const Sample base = around(1000, 10, 0.01);
    EXPECT_EQ(verdict_of(base, base), Verdict::Equal);
    EXPECT_EQ(verdict_of(base, around(1020, 10, 0.01)), Verdict::Equal) << "2 % is no difference";
    EXPECT_EQ(verdict_of(base, around(1200, 10, 0.01)), Verdict::Faster);
    EXPECT_EQ(verdict_of(base, around(800, 10, 0.01)), Verdict::Slower);
    EXPECT_EQ(verdict_of(base, around(1200, 10, 0.01), Better::Lower), Verdict::Slower);
    EXPECT_EQ(verdict_of(base, around(800, 10, 0.01), Better::Lower), Verdict::Faster);
    EXPECT_EQ(verdict_of(base, around(1000, 7, 0.5)), Verdict::NotEnoughData) << "too wide";
    EXPECT_EQ(verdict_of(Sample(5, 1000), Sample(5, 2000)), Verdict::NotEnoughData);
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
