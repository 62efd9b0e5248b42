// SPDX-License-Identifier: Apache-2.0
#include "perf/engine/stats.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace perf {
namespace {

TEST(Histogram, EmptyIsZero) {
    const Histogram h;
    EXPECT_EQ(h.count(), 0U);
    EXPECT_EQ(h.min(), 0U);
    EXPECT_EQ(h.quantile(0.5), 0U);
    EXPECT_EQ(h.mean(), 0.0);
}

TEST(Histogram, SmallValuesAreExact) {
    Histogram h;
    for (uint64_t i = 1; i <= 1000; ++i)
        h.record(i);
    const LatencySummary s = summarize(h);
    EXPECT_EQ(s.samples, 1000U);
    EXPECT_EQ(s.min_ns, 1U);
    EXPECT_EQ(s.p50_ns, 500U);
    EXPECT_EQ(s.p90_ns, 900U);
    EXPECT_EQ(s.p99_ns, 990U);
    EXPECT_EQ(s.p999_ns, 999U);
    EXPECT_EQ(s.p9999_ns, 1000U);
    EXPECT_EQ(s.max_ns, 1000U);
    EXPECT_DOUBLE_EQ(s.mean_ns, 500.5);
}

TEST(Histogram, OneSampleIsEveryQuantile) {
    Histogram h;
    h.record(123456789);
    for (const double q : {0.0, 0.5, 0.999, 1.0})
        EXPECT_EQ(h.quantile(q), 123456789U);
}

TEST(Histogram, HasTheSamplesSinceAnEarlierOne) {
    Histogram h;
    Histogram earlier;
    EXPECT_EQ(h.since(earlier).count(), 0U);
    h.record(10);
    h.record(1'000'000);
    earlier.merge(h.since(earlier));
    EXPECT_EQ(earlier.count(), 2U);
    h.record(10, 3);
    h.record(5'000'000);
    const Histogram later = h.since(earlier);
    EXPECT_EQ(later.count(), 4U);
    EXPECT_EQ(later.min(), 10U);
    EXPECT_NEAR(static_cast<double>(later.max()), 5e6, 5e3);
    EXPECT_NEAR(later.mean(), (30 + 5e6) / 4, 2e3);
    earlier.merge(later);
    EXPECT_EQ(h.since(earlier).count(), 0U);
}

TEST(Histogram, ThreeDigitsAtEveryMagnitude) {
    std::mt19937_64 random(1);
    for (unsigned bits = 1; bits < 36; ++bits) {
        Histogram h;
        std::vector<uint64_t> values(999);
        for (uint64_t& value : values) {
            value = random() % (uint64_t{1} << bits);
            h.record(value);
        }
        std::ranges::sort(values);
        for (const double q : {0.01, 0.5, 0.9, 0.99}) {
            const auto exact =
                static_cast<double>(values[static_cast<size_t>(std::ceil(q * 999.0)) - 1]);
            EXPECT_NEAR(static_cast<double>(h.quantile(q)), exact, exact / 1000 + 1e-9) << bits;
        }
        EXPECT_EQ(h.max(), values.back());
        EXPECT_EQ(h.quantile(1), values.back());
    }
}

TEST(Histogram, HugeValuesKeepTheMaximum) {
    Histogram h;
    h.record(UINT64_MAX);
    h.record(1);
    EXPECT_EQ(h.max(), UINT64_MAX);
    EXPECT_EQ(h.quantile(0.5), 1U);
    EXPECT_GE(h.quantile(1), (uint64_t{1} << 36U) - 1);
}

TEST(Histogram, ManyAtOnceAreAsIfRecordedOneByOne) {
    Histogram at_once;
    Histogram one_by_one;
    for (uint64_t i = 1; i < 100; ++i) {
        at_once.record(i * i, i);
        for (uint64_t k = 0; k < i; ++k)
            one_by_one.record(i * i);
    }
    EXPECT_EQ(at_once.count(), one_by_one.count());
    EXPECT_EQ(at_once.quantile(0.3), one_by_one.quantile(0.3));
    EXPECT_EQ(at_once.min(), one_by_one.min());
    EXPECT_EQ(at_once.max(), one_by_one.max());
    EXPECT_DOUBLE_EQ(at_once.mean(), one_by_one.mean());
}

TEST(Histogram, MergeIsAsIfRecordedTogether) {
    Histogram a;
    Histogram b;
    Histogram both;
    for (uint64_t i = 0; i < 5000; ++i) {
        (i % 3 == 0 ? a : b).record(i * i);
        both.record(i * i);
    }
    a.merge(b);
    EXPECT_EQ(a.count(), both.count());
    EXPECT_EQ(a.quantile(0.9), both.quantile(0.9));
    EXPECT_EQ(a.min(), both.min());
    EXPECT_EQ(a.max(), both.max());
    EXPECT_DOUBLE_EQ(a.mean(), both.mean());
}

}  // namespace
}  // namespace perf
