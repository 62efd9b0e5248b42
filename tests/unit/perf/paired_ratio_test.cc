// SPDX-License-Identifier: Apache-2.0
#include "perf/measure/paired_ratio.h"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace perf {
namespace {

using Pairs = std::vector<RunPair>;

// Pairs whose ratios have these logarithms, at any level.
Pairs with_logs(const std::vector<double>& logs) {
    Pairs pairs;
    for (const double log : logs) {
        const double a = 1 + static_cast<double>(pairs.size() % 5);
        pairs.push_back({.a = a, .b = a * std::exp(log)});
    }
    return pairs;
}

// Two-sided 5 % points of the signed-rank test, as any table of it has them.
TEST(SignedRank, CriticalValuesAreThoseOfTheTables) {
    const std::pair<size_t, size_t> known[] = {{6, 0},
                                               {7, 2},
                                               {8, 3},
                                               {9, 5},
                                               {10, 8},
                                               {11, 10},
                                               {12, 13},
                                               {15, 25},
                                               {20, 52},
                                               {25, 89},
                                               {30, 137}};
    for (const auto& [n, critical] : known)
        EXPECT_EQ(signed_rank_critical(n), critical) << n;
}

// Six values 1 to 6: the 21 means lie symmetrically around 3.5, and all of them are in the
// interval.
TEST(PairedRatio, SixPairsByHand) {
    const auto estimate = estimate_paired_ratio(with_logs({4, 1, 6, 2, 5, 3}));
    EXPECT_DOUBLE_EQ(estimate.ratio, std::exp(3.5));
    ASSERT_TRUE(estimate.interval);
    EXPECT_DOUBLE_EQ(estimate.interval->low, std::exp(1));
    EXPECT_DOUBLE_EQ(estimate.interval->high, std::exp(6));
}

// Of seven, two means are outside on each side: 1 and 1.5 below, so the next, (1+3)/2, is the end.
TEST(PairedRatio, SevenPairsByHand) {
    const auto estimate = estimate_paired_ratio(with_logs({1, 2, 3, 4, 5, 6, 7}));
    EXPECT_DOUBLE_EQ(estimate.ratio, std::exp(4));
    ASSERT_TRUE(estimate.interval);
    EXPECT_DOUBLE_EQ(estimate.interval->low, std::exp(2));
    EXPECT_DOUBLE_EQ(estimate.interval->high, std::exp(6));
}

TEST(PairedRatio, WhatSlowsBothRunsOfAPairIsNotSeen) {
    Pairs pairs;
    for (int i = 0; i < 8; ++i)
        pairs.push_back({.a = 100.0 * (1 + i), .b = 110.0 * (1 + i)});
    const auto estimate = estimate_paired_ratio(pairs);
    EXPECT_NEAR(estimate.ratio, 1.1, 1e-12);
    EXPECT_NEAR(estimate.interval->high - estimate.interval->low, 0, 1e-12);
}

TEST(PairedRatio, OneDisturbedRunMovesNothing) {
    auto logs = std::vector<double>(12, 0.01);
    logs[4] = -3;
    const auto estimate = estimate_paired_ratio(with_logs(logs));
    EXPECT_NEAR(estimate.ratio, std::exp(0.01), 1e-9);
    EXPECT_NEAR(estimate.interval->low, std::exp(0.01), 1e-9);
}

TEST(PairedRatio, NoIntervalOfFivePairs) {
    const auto estimate = estimate_paired_ratio(with_logs({1, 2, 3, 4, 5}));
    EXPECT_DOUBLE_EQ(estimate.ratio, std::exp(3));
    EXPECT_FALSE(estimate.interval);
    EXPECT_EQ(judge(estimate, Better::Higher), Verdict::NotEnoughData);
}

TEST(PairedRatio, WithoutNumbersThereIsNone) {
    EXPECT_EQ(estimate_paired_ratio({}).ratio, 0);
    for (const double bad : {0.0, -1.0, std::nan("")}) {
        auto pairs = with_logs({1, 2, 3, 4, 5, 6});
        pairs[2].a = bad;
        EXPECT_EQ(estimate_paired_ratio(pairs).ratio, 0);
        EXPECT_FALSE(estimate_paired_ratio(pairs).interval);
    }
    const double huge = std::numeric_limits<double>::max();
    EXPECT_EQ(estimate_paired_ratio(Pairs(6, {.a = 1e-300, .b = huge})).ratio, 0);
}

// Eight pairs: the test's own level is 2 * 5/256, so that 96.1 % of the intervals hold the truth.
TEST(PairedRatio, CoversTheTruthAsOftenAsItSays) {
    std::mt19937_64 random(11);
    // The sum of two uniform numbers around zero: symmetric, and nothing like a normal one.
    const auto noise = [&] {
        const auto uniform = [&] { return static_cast<double>(random() >> 11U) * 0x1p-53; };
        return 0.2 * (uniform() + uniform() - 1);
    };
    constexpr int kTries = 2000;
    constexpr double kTruth = 0.04;
    int held = 0;
    for (int i = 0; i < kTries; ++i) {
        std::vector<double> logs(8);
        for (double& log : logs)
            log = kTruth + noise();
        const auto interval = *estimate_paired_ratio(with_logs(logs)).interval;
        const double truth = std::exp(kTruth);
        held += interval.low <= truth && truth <= interval.high ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(held) / kTries, 0.961, 0.015);
}

}  // namespace
}  // namespace perf
