// SPDX-License-Identifier: Apache-2.0
// The ratio of two things that were measured in turn. The two runs of a pair are neighbours in
// time: what slows the machine down slows both, so their ratio scatters less than either of them.
#pragma once

#include <span>

#include "perf/measure/statistics.h"

namespace perf {

// Below it no interval covers 95 %: all of five ratios lie on one side of the truth in 6 % of
// cases.
inline constexpr size_t kEnoughPairs = 6;

struct RunPair {
    double a = 0;
    double b = 0;
};

// b/a by Hodges and Lehmann, on a logarithmic scale: the median of the means of each two ratios,
// and of each with itself. The interval has those values that Wilcoxon's signed-rank test does not
// reject at 5 %; the test's distribution is counted out, not approximated. One disturbed run moves
// neither, and no distribution of the ratios is assumed but that it is symmetric. No ratio (0)
// without pairs or if a value is not above zero; no interval below kEnoughPairs.
RatioEstimate estimate_paired_ratio(std::span<const RunPair> pairs);

// How many of the smallest, and of the greatest, of these means are outside of the interval of n
// pairs: the critical value of the two-sided signed-rank test at 5 %. n is at least kEnoughPairs.
size_t signed_rank_critical(size_t n);

}  // namespace perf
