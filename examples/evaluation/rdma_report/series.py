# SPDX-License-Identifier: Apache-2.0
"""All repetitions of a point together, system by system, and one system against another."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from . import estimate
from .documents import Point, Result, Run, System


@dataclass(frozen=True)
class Metric:
    name: str
    title: str
    unit: str
    scale: float  # from the unit of the files to this one
    more_is_better: bool = False


METRICS = {each.name: each for each in (
    Metric("bandwidth_bytes_per_s", "Bandwidth", "MiB/s", 1 / (1 << 20), True),
    Metric("p50_ns", "Median latency", "µs", 1e-3),
    Metric("p99_ns", "99th percentile of latency", "µs", 1e-3),
    Metric("client_cores", "Busy processors, client", "cores", 1),
    Metric("server_cores", "Busy processors, server", "cores", 1),
    Metric("core_s_per_gb", "Processor time of both sides", "core s/GB", 1),
    Metric("percent_of_payload_limit", "Share of the payload limit", "%", 1, True),
)}


@dataclass
class Series:
    """One point of one system."""

    system: System
    point: Point
    results: list[Result] = field(default_factory=list)

    def values(self, metric: str) -> dict[int, float]:
        """By repetition."""
        return {each.repetition: each.metrics[metric] for each in self.results if metric in each.metrics}

    def median(self, metric: Metric) -> estimate.Estimate | None:
        sample = [value * metric.scale for value in self.values(metric.name).values()]
        return estimate.of_median(sample) if sample else None

    def mtus(self) -> set[int]:
        return {each.mtu for each in self.results}


@dataclass(frozen=True)
class Ratio:
    """What a system has over its baseline."""

    point: Point
    metric: Metric
    baseline: System
    system: System
    ratio: estimate.Estimate
    verdict: str


@dataclass
class Collection:
    systems: list[System]
    series: dict[tuple[str, Point], Series]

    def of(self, system: System, point: Point) -> Series | None:
        return self.series.get((system.name, point))

    def points(self, suite: str | None = None) -> list[Point]:
        return sorted({point for _, point in self.series if suite in (None, point.suite)})

    def suites(self) -> list[str]:
        return sorted({point.suite for _, point in self.series})

    def system(self, name: str) -> System | None:
        return next((each for each in self.systems if each.name == name), None)


def collect(runs: Iterable[Run], baseline: str = "") -> Collection:
    """Systems are in the order in which they came; those without a baseline of their own get `baseline`."""
    systems: dict[str, System] = {}
    series: dict[tuple[str, Point], Series] = {}
    for run in runs:
        system = run.system
        if baseline and not system.baseline and system.name != baseline:
            system = System(system.name, system.kind, system.mode, baseline)
        system = systems.setdefault(system.name, system)
        for result in run.results:
            one = series.setdefault((system.name, result.point), Series(system, result.point))
            one.results.append(result)
    # Baselines first: that is how tables and legends are read.
    ordered = sorted(systems.values(), key=lambda each: bool(each.baseline))
    return Collection(ordered, series)


def ratios(collection: Collection) -> list[Ratio]:
    """Runs of one repetition are neighbours in time, so they are pairs."""
    found = []
    for system in collection.systems:
        baseline = collection.system(system.baseline)
        if not baseline:
            continue
        for point in collection.points():
            ours, theirs = collection.of(system, point), collection.of(baseline, point)
            if ours and theirs:
                found += list(_ratios_of(baseline, theirs, system, ours))
    return found


def _ratios_of(baseline: System, theirs: Series, system: System, ours: Series) -> Iterable[Ratio]:
    for metric in METRICS.values():
        before, after = theirs.values(metric.name), ours.values(metric.name)
        pairs = [(before[repetition], after[repetition]) for repetition in sorted(before.keys() & after.keys())]
        ratio = estimate.of_ratio(pairs)
        if ratio:
            yield Ratio(ours.point, metric, baseline, system, ratio, estimate.verdict(ratio, metric.more_is_better))
