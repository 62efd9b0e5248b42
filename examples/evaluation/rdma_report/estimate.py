# SPDX-License-Identifier: Apache-2.0
"""Medians and ratios with what is known of them. Exact and without draws: the same files give the same page.
perf/measure/statistics.h has the same methods, with the same numbers."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

ENOUGH = 6  # repetitions: with fewer not even the whole range covers 95 %
UNDECIDED = "not enough data"
MARGIN = 0.05  # as that of `rdma-perf compare`


@dataclass(frozen=True)
class Estimate:
    """`low` and `high` are a 95 % interval if `certain`, else the range of what was seen."""

    value: float
    low: float
    high: float
    n: int

    @property
    def certain(self) -> bool:
        return self.n >= ENOUGH


def of_median(sample: Sequence[float]) -> Estimate:
    """The interval goes from the k-th smallest to the k-th greatest: the sign test's."""
    ordered = sorted(sample)
    n = len(ordered)
    outside = sign_critical(n) if n >= ENOUGH else 0
    return Estimate(median(ordered), ordered[outside], ordered[n - 1 - outside], n)


def sign_critical(n: int) -> int:
    """How many at each end the interval of a median of n leaves out."""
    tail = 0.0
    for k in range(n):
        tail += math.comb(n, k) / 2**n
        if tail > 0.025:
            return max(k - 1, 0)
    return 0


def of_differences(differences: Sequence[float]) -> Estimate:
    """Of runs that were neighbours in time: Hodges and Lehmann, with the interval of Wilcoxon's signed-rank test. One disturbed run
    moves neither."""
    n = len(differences)
    means = sorted((differences[i] + differences[j]) / 2 for i in range(n) for j in range(i, n))
    outside = signed_rank_critical(n) if n >= ENOUGH else 0
    return Estimate(median(means), means[outside], means[-1 - outside], n)


def of_ratio(pairs: Sequence[tuple[float, float]]) -> Estimate | None:
    """b/a of such runs, on a logarithmic scale."""
    logs = [math.log(b / a) for a, b in pairs if a > 0 and b > 0]
    if not logs:
        return None
    found = of_differences(logs)
    return Estimate(math.exp(found.value), math.exp(found.low), math.exp(found.high), found.n)


def signed_rank_critical(n: int) -> int:
    """How many of the means of two at each end the test at 5 % rejects; its distribution is counted out."""
    ways = [1]
    for rank in range(1, n + 1):
        longer = ways + [0] * rank
        for total, count in enumerate(ways):
            longer[total + rank] += count
        ways = longer
    tail = 0
    for total, count in enumerate(ways):
        tail += count
        if tail > 0.025 * 2**n:
            return max(total - 1, 0)
    return 0


def verdict(ratio: Estimate | None, more_is_better: bool) -> str:
    if ratio is None or not ratio.certain:
        return UNDECIDED
    if is_equal(ratio):
        return "equal"
    if ratio.low > 1:
        return "faster" if more_is_better else "slower"
    if ratio.high < 1:
        return "slower" if more_is_better else "faster"
    return UNDECIDED


def is_equal(ratio: Estimate) -> bool:
    return 1 - MARGIN <= ratio.low and ratio.high <= 1 + MARGIN


def repetitions_needed(ratio: Estimate) -> int:
    """About how many would decide, whether by an interval without 1 or by one within the margin. An interval shrinks with the root
    of their number; the range of fewer than six stands for the interval that six would have."""
    middle, half = abs(math.log(ratio.value)), math.log(ratio.high / ratio.low) / 2
    wanted = max(middle, math.log(1 + MARGIN) - middle)
    return max(ENOUGH, ratio.n + 1, math.ceil(max(ratio.n, ENOUGH) * (half / wanted) ** 2))
