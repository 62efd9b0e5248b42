// SPDX-License-Identifier: Apache-2.0
// Statistics over repetitions: the median, because one disturbed repetition must not move it, and
// intervals by the percentile bootstrap, because nothing is known about how measurements scatter.
// Same samples and same seed give the same numbers on every machine.
//
// An interval can be no wider than from the smallest to the largest sample. With n of them that
// range covers the median with 1 - 2^(1-n): 75 % for 3, 94 % for 5, 97 % for 6. So "95 %" is true
// from six repetitions on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "perf/base/words.h"

namespace perf {

inline constexpr size_t kDraws = 2000;       // of a bootstrap
inline constexpr size_t kEnoughSamples = 3;  // for an interval that says anything
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

MedianEstimate estimate_median(std::vector<double> sample, uint64_t seed);

struct RatioEstimate {
    double ratio = 0;                  // median of b / median of a; 0 if there is none
    std::optional<Interval> interval;  // none below kEnoughSamples on a side, or without a ratio
};

// Each draw takes as many samples from a and from b as they have. Samples are not negative.
RatioEstimate estimate_ratio(std::vector<double> a, std::vector<double> b, uint64_t seed);

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
