// SPDX-License-Identifier: Apache-2.0
// Statistics over repetitions: one that is disturbed moves none of them, and nothing is taken for
// granted of how they scatter. Intervals are those of tests: the sign test for medians, Wilcoxon's
// signed ranks for ratios of pairs, Mann and Whitney's for ratios of two groups; the estimate of
// both is Hodges and Lehmann's. examples/evaluation/rdma_report/estimate.py has the same numbers.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "perf/base/words.h"

namespace perf {

inline constexpr size_t kEnoughSamples = 6;  // with fewer not even the whole range covers 95 %
inline constexpr double kEqualMargin = 0.05;

struct Interval {
    double low = 0;
    double high = 0;

    bool operator==(const Interval&) const = default;
};

// Of a sample without an order; 0 without samples.
double median(std::vector<double> sample);

struct MedianEstimate {
    size_t n = 0;
    double median = 0;
    std::optional<Interval> interval;  // none below kEnoughSamples
};

MedianEstimate estimate_median(std::vector<double> sample);

struct RatioEstimate {
    double ratio = 0;                  // 0 if there is none
    std::optional<Interval> interval;  // none below kEnoughSamples pairs, or on a side
};

// b/a of what was measured in turn: equal places are pairs. One with a zero does not count.
RatioEstimate ratio_of_pairs(const std::vector<double>& a, const std::vector<double>& b);

// b/a of what was measured apart: the median of all ratios of a value of b to one of a. Samples are
// not negative; with a zero in a there is no ratio.
RatioEstimate ratio_of_groups(const std::vector<double>& a, const std::vector<double>& b);

enum class Verdict { Equal, Faster, Slower, NotEnoughData };
template <>
inline constexpr WordList kWords<Verdict>{"verdict",
                                          {"equal", "faster", "slower", "not enough data"}};

// Which way a number is good.
enum class Better { Higher, Lower };

// Equal: the whole interval is within kEqualMargin of 1. Faster, slower (b, seen from a): it is
// not, and excludes 1. Everything else is too wide to say: more repetitions are needed.
Verdict judge(const RatioEstimate& estimate, Better better);

}  // namespace perf
