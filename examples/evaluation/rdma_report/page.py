# SPDX-License-Identifier: Apache-2.0
"""The page: what the template needs, as plain values. Jinja escapes every text; only figures are put in as they are."""
from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from . import answers, estimate
from .documents import MODES, Evaluation, Point, Run, human_size
from .estimate import Estimate
from .figures import TITLES, Figure
from .findings import Finding
from .published import METRICS as PUBLISHED_METRICS
from .published import Publication, Value
from .series import METRICS, Collection, Ratio, Series

HERE = Path(__file__).parent
COLUMNS = tuple(METRICS.values())
COMPARED = ("bandwidth_bytes_per_s", "p50_ns", "p99_ns", "core_s_per_gb")
MOST_COMMANDS = 60


@dataclass(frozen=True)
class Table:
    caption: str
    head: list[str]
    rows: list[list[str]]
    marked: frozenset[int] = frozenset()  # rows that stand out, and say why in words


@dataclass
class Section:
    id: str
    title: str
    lead: list[str] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)


def number(value: float) -> str:
    if value >= 1000:
        return f"{value:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    if value == 0:
        return "0"
    return f"{value:#.3g}".rstrip(".") if value >= 0.001 else f"{value:.1e}"


def estimated(estimate: Estimate | None) -> str:
    """Round brackets are a 95 % interval, square ones the range of what was seen."""
    if estimate is None:
        return "–"
    if estimate.n == 1:
        return number(estimate.value)
    left, right = "()" if estimate.certain else "[]"
    return f"{number(estimate.value)} {left}{number(estimate.low)}–{number(estimate.high)}{right}"


def medians(collection: Collection, suite: str) -> list[Table]:
    """One for each mode: bandwidth and latency have other columns."""
    points = collection.points(suite)
    return [_medians(collection, suite, mode, [point for point in points if point.mode == mode])
            for mode in sorted({point.mode for point in points})]


def _medians(collection: Collection, suite: str, mode: str, points: list[Point]) -> Table:
    series_of = [(point, system, series) for point in points for system in collection.systems
                 if (series := collection.of(system, point)) is not None]
    shown = [metric for metric in COLUMNS if any(series.values(metric.name) for _, _, series in series_of)]
    rows = []
    for point, system, series in series_of:
        rows.append([point.label(), system.name, *(estimated(series.median(metric)) for metric in shown), *_aside(series)])
    head = ["point", "system", *(f"{metric.title.lower()}, {metric.unit}" for metric in shown), "path MTU", "n", "flags"]
    return Table(f"{TITLES[suite]}: medians of {MODES[mode]}", head, rows)


def _aside(series: Series) -> list[str]:
    flags = sorted({flag for result in series.results for flag in result.flags})
    mtus = "/".join(str(mtu) if mtu else "–" for mtu in sorted(series.mtus()))
    return [mtus, str(len(series.results)), ", ".join(flags) or "–"]


def ratio_table(caption: str, found: list[Ratio]) -> Table:
    """A row for each point; under six pairs there is no verdict."""
    shown = [METRICS[name] for name in COMPARED if any(each.metric.name == name for each in found)]
    by_point: dict[Point, dict[str, Ratio]] = {}
    for each in found:
        by_point.setdefault(each.point, {})[each.metric.name] = each
    rows = []
    for point, of in by_point.items():
        pairs = max(each.ratio.n for each in of.values())
        rows.append([point.label(), TITLES[point.suite], *(_judged(of.get(metric.name)) for metric in shown), str(pairs)])
    return Table(caption, ["point", "of", *(metric.title.lower() for metric in shown), "pairs"], rows)


def _judged(ratio: Ratio | None) -> str:
    if ratio is None:
        return "–"
    if not ratio.ratio.certain:
        return estimated(ratio.ratio)
    more = f": {estimate.repetitions_needed(ratio.ratio)} would do" if ratio.verdict == estimate.UNDECIDED else ""
    return f"{estimated(ratio.ratio)} {ratio.verdict}{more}"


def published_table(publication: Publication, collection: Collection, found: list[Ratio]) -> Table:
    rows, marked = [], set()
    ours = {(each.system.mode, each.point, each.metric.name): each.ratio for each in found}
    for value in publication.values:
        metric = METRICS[PUBLISHED_METRICS[value.metric][0]]
        here = ours.get((value.system.mode, value.point, metric.name))
        if value.unequal_mtu:
            marked.add(len(rows))
        rows.append([value.system.name, f"{value.metric.replace('_', ' ')}, {value.point.verb} {human_size(value.point.size)}"
                     + (f", {value.point.clients} clients" if value.point.clients > 1 else ""),
                     _with_unit(value.host, value.unit), _with_unit(value.container, value.unit),
                     number(value.ratio) if value.ratio else "–", _mtus(value),
                     *_here(collection, value), estimated(here), f"{value.source}; {value.figure}"])
    head = ["system", "what", "host", "container", "ratio", "path MTU", "here: host", "here: container", "here: ratio", "source"]
    return Table(f"{publication.name}: published, and measured here", head, rows, frozenset(marked))


def _with_unit(value: float | None, unit: str) -> str:
    return "–" if value is None else f"{number(value)} {unit}"


def _mtus(value: Value) -> str:
    host, container = value.system.host.mtu, value.system.container.mtu
    return f"{host} against {container}: not like for like" if value.unequal_mtu else str(host)


def _here(collection: Collection, value: Value) -> list[str]:
    """What was measured here of the same mode and point: on the host, in a container."""
    metric = METRICS[PUBLISHED_METRICS[value.metric][0]]
    cells = {"host": "–", "container": "–"}
    for system in collection.systems:
        series = collection.of(system, value.point) if system.mode == value.system.mode else None
        estimate = series.median(metric) if series else None
        if estimate and system.kind in cells:
            cells[system.kind] = f"{number(estimate.value)} {metric.unit}"
    return list(cells.values())


def environment_table(runs: list[Run]) -> Table:
    """A column for each side of each system, of its first run."""
    columns: dict[str, dict[str, str]] = {}
    for run in runs:
        for side, facts in run.environment.items():
            columns.setdefault(f"{run.system.name}: {side}", dict(facts))
    names = list(dict.fromkeys(name for facts in columns.values() for name in facts))
    rows = [[name, *(facts.get(name, "–") for facts in columns.values())] for name in names]
    return Table("Both sides of each system, as found before its first run", ["", *columns], rows)


def settings_table(collection: Collection) -> Table:
    """Every flag of the points as they ran; of a list those values that occur."""
    columns: dict[str, dict[str, set[str]]] = {}
    for (name, point), series in collection.series.items():
        of = columns.setdefault(f"{TITLES[point.suite]}: {name}", {})
        for result in series.results:
            for setting, value in result.settings:
                of.setdefault(setting, set()).add(value)
    names = sorted({setting for of in columns.values() for setting in of})
    rows = [[name, *(_some(columns[column].get(name, set())) for column in sorted(columns))] for name in names]
    return Table("Settings of the points, as they ran", ["setting", *sorted(columns)], rows)


def _some(values: set[str]) -> str:
    ordered = sorted(values, key=lambda value: (len(value), value))
    return ", ".join(ordered) if len(ordered) <= 8 else f"{', '.join(ordered[:3])} … {ordered[-1]} ({len(ordered)} values)"


def commands(runs: list[Run]) -> list[str]:
    """One for each suite and system: repetitions have the same."""
    seen: dict[tuple[str, str], str] = {}
    for run in runs:
        if run.command:
            seen.setdefault((run.suite, run.system.name), " ".join(run.command))
    return list(seen.values())[:MOST_COMMANDS]


def render(evaluation: Evaluation, collection: Collection, runs: list[Run], findings: list[Finding], sections: list[Section],
           publication: Publication | None) -> str:
    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
                              lstrip_blocks=True)
    started = sorted(run.started for run in runs)
    return environment.get_template("page.html").render(
        style=Markup((HERE / "page.css").read_text(encoding="utf-8")), about=evaluation, answers=answers.of(collection), findings=findings, sections=sections,
        systems=collection.systems, publication=publication, runs=len(runs), results=sum(len(run.results) for run in runs),
        first=started[0] if started else "", last=started[-1] if started else "", tools=sorted({run.tool for run in runs}),
        environment=environment_table(runs), settings=settings_table(collection), commands=commands(runs), figure=Markup)
