# SPDX-License-Identifier: Apache-2.0
"""What a reader has to know before the numbers: what was not equal, what was flagged, what is too little."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from . import estimate
from .documents import MODES, Run
from .published import Publication
from .series import Collection


@dataclass(frozen=True)
class Finding:
    severity: str  # "wrong": do not compare; "doubt"; "note"
    title: str
    text: str


def of_measurements(collection: Collection, runs: list[Run]) -> list[Finding]:
    found = [*_unequal_mtu(collection), *_wrong_data(collection), *_errors(runs), *_idle(collection), *_flags(collection), *_versions(runs)]
    fewest = min((len(series.results) for series in collection.series.values()), default=0)
    if collection.series and fewest < estimate.ENOUGH:
        found.append(Finding("note", "No 95 % intervals",
                             f"At least one point has {fewest} repetitions. Below {estimate.ENOUGH} not even the whole range of what was "
                             f"seen covers 95 %: brackets [ ] show that range instead. Measure {estimate.ENOUGH} repetitions or more."))
    return found


def of_publication(publication: Publication) -> list[Finding]:
    found = []
    for system in publication.systems:
        if system.host.mtu == system.container.mtu:
            continue
        found.append(Finding("wrong", f"{publication.name}: unequal MTU, {system.name}",
                             f"Path MTU {system.host.mtu} on the host, {system.container.mtu} in the other: the headers alone make "
                             f"bandwidth {system.limit_ratio():.3f} of the host's. {_explained(publication, system.mode)}"
                             "The ratios of this system compare MTUs, not host and container."))
    return found


def _explained(publication: Publication, mode: str) -> str:
    ratios = [value.ratio for value in publication.values
              if value.system.mode == mode and value.metric == "bandwidth" and value.ratio]
    if not ratios:
        return ""
    corrected = [ratio / next(s.limit_ratio() for s in publication.systems if s.mode == mode) for ratio in ratios]
    return (f"Published are {min(ratios):.3f} to {max(ratios):.3f}; with that taken off, {min(corrected):.3f} to {max(corrected):.3f} are left. ")


def _unequal_mtu(collection: Collection) -> Iterable[Finding]:
    """Of one point, over all systems; where there is no path MTU (TCP, iWARP) there is nothing to compare."""
    unequal: dict[frozenset[tuple[str, int]], int] = {}
    for point in collection.points():
        seen = {(name, mtu) for (name, at), series in collection.series.items() if at == point for mtu in series.mtus() if mtu}
        if len({mtu for _, mtu in seen}) > 1:
            unequal[frozenset(seen)] = unequal.get(frozenset(seen), 0) + 1
    for seen, count in unequal.items():
        text = ", ".join(f"{mtu} of {name}" for name, mtu in sorted(seen))
        yield Finding("wrong", "Unequal MTU", f"Path MTU {text} ({count} points): these points do not compare like with like.")


def _wrong_data(collection: Collection) -> Iterable[Finding]:
    wrong = [series for series in collection.series.values() if any(each.data_ok is False for each in series.results)]
    for series in wrong[:20]:
        yield Finding("wrong", "Wrong data", f"{series.system.name}: {MODES[series.point.mode]} of {series.point.label()}: what arrived is not what was sent.")


def _errors(runs: list[Run]) -> Iterable[Finding]:
    for run in runs:
        for error in run.errors[:3]:
            yield Finding("doubt", "A run ended early", f"{run.source}: {error}")


def _idle(collection: Collection) -> Iterable[Finding]:
    """Nothing can be divided by them: ratios are without these pairs."""
    for system in collection.systems:
        count = sum(1 for (name, _), series in collection.series.items() if name == system.name
                    for each in series.results if each.metrics.get("bandwidth_bytes_per_s") == 0)
        if count:
            yield Finding("doubt", "Nothing was transferred", f"{system.name}: {count} results of bandwidth are 0: no message was completed in their time. "
                          "Measure longer, or on a machine that is less busy. Ratios are without them.")


def _flags(collection: Collection) -> Iterable[Finding]:
    counts: Counter[tuple[str, str]] = Counter()
    totals: Counter[str] = Counter()
    for series in collection.series.values():
        for result in series.results:
            totals[series.system.name] += 1
            for flag in set(result.flags):
                counts[series.system.name, flag] += 1
    for (name, flag), count in sorted(counts.items()):
        yield Finding("doubt", f"Flag {flag}", f"{name}: {count} of {totals[name]} results.")


def _versions(runs: list[Run]) -> Iterable[Finding]:
    for what, seen in (("versions of rdma-perf", {run.tool for run in runs}),
                       ("kernels", {value for run in runs for facts in run.environment.values() for name, value in facts if name == "kernel"})):
        if len(seen) > 1:
            yield Finding("doubt", f"Different {what}", ", ".join(sorted(seen)))
