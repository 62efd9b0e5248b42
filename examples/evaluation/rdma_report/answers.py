# SPDX-License-Identifier: Apache-2.0
"""The answer of the page: one sentence for each system that is compared with a baseline."""
from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import mean

from . import estimate
from .documents import Point, System
from .estimate import Estimate
from .series import METRICS, Collection, Metric

ASKED = ((METRICS["bandwidth_bytes_per_s"], "bandwidth"), (METRICS["p50_ns"], "latency"))
MOST_REPETITIONS = 1000  # that anybody would make


def of(collection: Collection) -> list[str]:
    found = []
    for system in collection.systems:
        baseline = collection.system(system.baseline)
        if baseline:
            found.append(f"{system.name} against {baseline.name}: {_answer(collection, baseline, system)}.")
    return found


def _answer(collection: Collection, baseline: System, system: System) -> str:
    points = _points(collection, baseline, system)
    if not points:
        return "nothing that both measured"
    if obstacle := _obstacle(collection, baseline, system, points):
        return f"no answer, {obstacle}"
    parts = []
    for metric, name in ASKED:
        ratio = overall(collection, baseline, system, points, metric)
        if ratio:
            parts.append(f"{name} is {sentence(ratio)}")
    return "; ".join(parts) or "nothing that both measured"


def _points(collection: Collection, baseline: System, system: System) -> list[Point]:
    """Of RDMA. Sizes say most, if they were measured."""
    points = [point for point in collection.points()
              if point.transport != "tcp" and collection.of(system, point) and collection.of(baseline, point)]
    return [point for point in points if point.suite == "basic"] or points


def _obstacle(collection: Collection, baseline: System, system: System, points: Iterable[Point]) -> str:
    for point in points:
        both = [series for each in (baseline, system) if (series := collection.of(each, point))]
        if any(result.data_ok is False for series in both for result in series.results):
            return "because wrong data arrived"
        if len({mtu for series in both for mtu in series.mtus() if mtu}) > 1:
            return "because their path MTUs differ"
    return ""


def overall(collection: Collection, baseline: System, system: System, points: Iterable[Point], metric: Metric) -> Estimate | None:
    """Over all points alike: of each repetition the geometric mean of the points' ratios, and of these what is known of any ratio."""
    logs: dict[int, list[float]] = {}
    for point in points:
        ours, theirs = collection.of(system, point), collection.of(baseline, point)
        if not ours or not theirs:
            continue
        before, after = theirs.values(metric.name), ours.values(metric.name)
        for repetition in before.keys() & after.keys():
            if before[repetition] > 0 and after[repetition] > 0:
                logs.setdefault(repetition, []).append(math.log(after[repetition] / before[repetition]))
    return estimate.of_ratio([(1.0, math.exp(mean(each))) for each in logs.values()])


def sentence(ratio: Estimate) -> str:
    """How a value differs, and whether that is more than noise."""
    if not ratio.certain:
        return (f"{change(ratio.value)}, but {ratio.n} repetition{'s' if ratio.n > 1 else ''} cannot tell that from noise; "
                f"{_enough(ratio)} would do")
    interval = f"(95 % interval: {change(ratio.low)} to {change(ratio.high)})"
    if ratio.low > 1 or ratio.high < 1:
        return f"{change(ratio.value)} {interval}"
    if estimate.is_equal(ratio):
        return f"{change(ratio.value)}, not told apart from noise {interval}"
    return f"{change(ratio.value)}, not told apart from noise {interval}; {_enough(ratio)} would do"


def change(ratio: float) -> str:
    if ratio >= 2:
        return f"{ratio:.2g} times as high"
    percent = abs(ratio - 1) * 100
    if percent < 0.1:
        return "the same"
    return f"{percent:.{0 if percent >= 9.95 else 1}f} % {'lower' if ratio < 1 else 'higher'}"


def _enough(ratio: Estimate) -> str:
    needed = estimate.repetitions_needed(ratio)
    return f"about {needed} repetitions" if needed <= MOST_REPETITIONS else f"more than {MOST_REPETITIONS} repetitions"
