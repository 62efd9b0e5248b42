# SPDX-License-Identifier: Apache-2.0
"""Figures, by matplotlib: SVG that stands in a page, and files. Colours are Okabe and Ito's, told apart by markers too."""
from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .documents import Point, human_size
from .estimate import Estimate
from .published import METRICS as PUBLISHED_METRICS
from .published import Publication
from .series import METRICS, Collection, Metric, Ratio

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
WIDTH = 4.7  # inches: at the width of a phone its text is still read
TITLES = {"basic": "Sizes", "cpu": "Processors", "multi_dev": "Devices", "multi_qp": "Queue pairs", "software": "SoftRoCE and Soft-iWARP",
          "transfers": "TCP and RDMA, one and several transfers", "run": "Measurements"}
MOST_ROWS = 60  # of a figure of ratios


@dataclass(frozen=True)
class Figure:
    name: str  # of its files
    title: str
    alt: str
    svg: str


@dataclass(frozen=True)
class Axis:
    label: str
    of: Callable[[Point], int]
    text: Callable[[int], str]


SIZE = Axis("size of a message", lambda point: point.size, human_size)
DEVICES = Axis("devices, each with a client", lambda point: point.clients, str)
QPS = Axis("queue pairs", lambda point: point.qps, str)
AXES = {"multi_dev": DEVICES, "multi_qp": QPS}
SHOWN = {"basic": ("p50_ns", "bandwidth_bytes_per_s", "percent_of_payload_limit"), "cpu": ("core_s_per_gb", "client_cores", "server_cores"),
         "multi_dev": ("bandwidth_bytes_per_s", "core_s_per_gb"), "multi_qp": ("bandwidth_bytes_per_s", "core_s_per_gb"),
         "software": ("p50_ns", "bandwidth_bytes_per_s", "core_s_per_gb"), "run": ("p50_ns", "bandwidth_bytes_per_s")}


class Painter:
    """Matplotlib, loaded when it is needed; writes files too if it has a folder."""

    def __init__(self, folder: Path | None) -> None:
        import matplotlib

        matplotlib.use("Agg")
        matplotlib.rcParams.update({
            "svg.fonttype": "none", "text.parse_math": False, "font.family": "sans-serif", "font.size": 9.5, "axes.spines.top": False,
            "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.35, "axes.titlesize": 10.5, "legend.frameon": False,
            "figure.constrained_layout.use": True})
        from matplotlib.figure import Figure as Canvas

        self._matplotlib = matplotlib
        self._canvas = Canvas
        self._folder = folder
        if folder:
            folder.mkdir(parents=True, exist_ok=True)

    def draw(self, name: str, title: str, alt: str, paint: Callable[[Any], None], height: float = 3.2) -> Figure:
        # Names of shapes within the SVG come from this: each figure has its own, the same in each run.
        self._matplotlib.rcParams["svg.hashsalt"] = name
        canvas = self._canvas(figsize=(WIDTH, height))
        axes = canvas.subplots()
        paint(axes)
        axes.set_title(title, loc="left")
        buffer = io.StringIO()
        canvas.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        if self._folder:
            (self._folder / f"{name}.svg").write_text(buffer.getvalue(), encoding="utf-8")
            canvas.set_layout_engine("none")  # it keeps the places that it has in the SVG
            canvas.savefig(self._folder / f"{name}.png", dpi=160)
        return Figure(name, title, alt, _inline(buffer.getvalue(), name))


def _inline(svg: str, name: str) -> str:
    """Of a file's text what stands in a page: no prologue, no size but its proportions, ids of its own."""
    body = svg[svg.index("<svg "):]
    head, rest = body.split(">", 1)
    head = re.sub(r' (?:width|height)="[^"]*"', "", head)
    rest = re.sub(r"<metadata>.*?</metadata>", "", rest, flags=re.DOTALL)
    rest = re.sub(r'( id="|url\(#|href="#)', rf"\g<1>{name}-", rest)
    return f'{head} aria-hidden="true" focusable="false">{rest}'


def style(index: int) -> dict[str, Any]:
    return {"color": COLOURS[index % len(COLOURS)], "marker": MARKERS[index % len(MARKERS)]}


def around(estimates: list[Estimate]) -> list[list[float]]:
    return [[max(each.value - each.low, 0) for each in estimates], [max(each.high - each.value, 0) for each in estimates]]


def of_suite(painter: Painter, collection: Collection, suite: str) -> Iterator[Figure]:
    if suite == "transfers":
        yield from _transfers(painter, collection)
        return
    points = collection.points(suite)
    for name in SHOWN[suite]:
        for verb in sorted({point.verb for point in points}):
            figure = _curve(painter, collection, suite, METRICS[name], [point for point in points if point.verb == verb])
            if figure:
                yield figure


def _curve(painter: Painter, collection: Collection, suite: str, metric: Metric, points: list[Point]) -> Figure | None:
    axis = AXES.get(suite, SIZE)
    curves = []
    for index, system in enumerate(collection.systems):
        curve = []
        for point in points:
            series = collection.of(system, point)
            estimate = series.median(metric) if series else None
            if estimate:
                curve.append((axis.of(point), estimate))
        if curve:
            curves.append((index, system.name, sorted(curve, key=lambda each: each[0])))
    if not curves:
        return None

    def paint(axes: Any) -> None:
        for index, name, curve in curves:
            estimates = [estimate for _, estimate in curve]
            axes.errorbar([x for x, _ in curve], [each.value for each in estimates], yerr=around(estimates), label=name, capsize=2.5,
                          markersize=5, linewidth=1.4, **style(index))
        ticks = sorted({x for _, _, curve in curves for x, _ in curve})
        axes.set_xscale("log", base=2)
        every = max(1, -(-len(ticks) // 7))
        axes.set_xticks(ticks[::every], [axis.text(x) for x in ticks[::every]], fontsize=8.5)
        axes.set_xticks([], minor=True)
        axes.set_xlabel(axis.label)
        axes.set_ylabel(metric.unit)
        if metric.name in ("p50_ns", "p99_ns") or (metric.name == "core_s_per_gb" and axis is SIZE):
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:.0e}"[0] in "25" else "")
        else:
            axes.set_ylim(bottom=0)
        axes.legend(fontsize=8.5)

    verb = points[0].verb
    title = f"{metric.title}, {verb}"
    return painter.draw(f"{suite}-{metric.name}-{verb}", title, _alt(title, axis, metric, curves), paint)


def _alt(title: str, axis: Axis, metric: Metric, curves: list[tuple[int, str, list[tuple[int, Estimate]]]]) -> str:
    ends = []
    for _, name, curve in curves:
        (first, low), (last, high) = curve[0], curve[-1]
        ends.append(f"{name}: {low.value:.3g} {metric.unit} at {axis.text(first)}, {high.value:.3g} {metric.unit} at {axis.text(last)}")
    return f"{title}, by {axis.label}. " + "; ".join(ends) + ". All values are in the table of medians."


def _transfers(painter: Painter, collection: Collection) -> Iterator[Figure]:
    points = collection.points("transfers")
    for metric in (METRICS["bandwidth_bytes_per_s"], METRICS["core_s_per_gb"]):
        kinds = sorted({(point.clients, point.transport) for point in points}, key=lambda kind: (kind[0], kind[1] != "tcp"))
        labels = [f"{clients} × {'TCP' if transport == 'tcp' else 'RDMA'}" for clients, transport in kinds]
        rows = []
        for index, system in enumerate(collection.systems):
            found = []
            for place, kind in enumerate(kinds):
                for point in points:
                    series = collection.of(system, point) if (point.clients, point.transport) == kind else None
                    estimate = series.median(metric) if series else None
                    if estimate:
                        found.append((place, estimate))
            if found:
                rows.append((index, system.name, found))
        if not rows:
            continue
        width = 0.8 / len(rows)

        def paint(axes: Any, rows: Any = rows, width: float = width, labels: list[str] = labels, metric: Metric = metric) -> None:
            for number, (index, name, found) in enumerate(rows):
                places = [place + (number - (len(rows) - 1) / 2) * width for place, _ in found]
                estimates = [estimate for _, estimate in found]
                axes.bar(places, [each.value for each in estimates], width * 0.92, yerr=around(estimates), capsize=3, label=name,
                         color=COLOURS[index % len(COLOURS)], hatch=("", "///", "...", "xx")[index % 4], edgecolor="white")
            axes.set_xticks(range(len(labels)), labels)
            axes.set_ylabel(metric.unit)
            axes.grid(visible=False, axis="x")
            axes.margins(y=0.22)
            axes.legend(fontsize=8.5, ncols=2)

        told = "; ".join(f"{name}, {labels[place]}: {each.value:.3g} {metric.unit}" for _, name, found in rows for place, each in found)
        yield painter.draw(f"transfers-{metric.name}", metric.title, f"{metric.title}, all transfers together. {told}.", paint)


def of_ratios(painter: Painter, name: str, title: str, found: list[Ratio]) -> Figure:
    """Points below each other, each with the interval of its ratio."""
    rows = found[:MOST_ROWS]

    def paint(axes: Any) -> None:
        estimates = [each.ratio for each in rows]
        axes.errorbar([each.value for each in estimates], range(len(rows)), xerr=around(estimates), linestyle="", capsize=2.5, markersize=5,
                      **style(0))
        axes.axvline(1, color="black", linewidth=1)
        axes.axvspan(0.95, 1.05, color="#999999", alpha=0.25, linewidth=0)
        axes.set_yticks(range(len(rows)), [each.point.label() for each in rows], fontsize=8)
        axes.set_ylim(len(rows) - 0.3, -0.7)
        _ratio_axis(axes)

    alt = f"{title}. " + "; ".join(f"{each.point.label()}: {each.ratio.value:.3g}" for each in rows) + "."
    return painter.draw(name, title, alt, paint, 1.0 + 0.24 * len(rows))


def _ratio_axis(axes: Any) -> None:
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, 0.8), max(high, 1.25))
    ticks = [tick for tick in (0.1, 0.2, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100, 200) if min(low, 0.8) <= tick <= max(high, 1.25)]
    if len(ticks) > 7:
        ticks = [tick for tick in ticks if tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200)]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("ratio; the grey band is ± 5 %")


def of_publication(painter: Painter, publication: Publication, found: list[Ratio]) -> Iterator[Figure]:
    """Its ratios; beside them those measured here, where the mode is the same."""
    for metric in ("latency", "bandwidth"):
        values = [value for value in publication.values if value.metric == metric and value.ratio]
        if not values:
            continue
        ours = {(each.system.mode, each.point): each for each in found if each.metric.name == PUBLISHED_METRICS[metric][0]}
        labels = [f"{value.system.name}{' *' if value.unequal_mtu else ''}: {value.point.verb} {human_size(value.point.size)}" for value in values]

        def paint(axes: Any, values: Any = values, labels: list[str] = labels, ours: Any = ours) -> None:
            for unequal, label in ((False, publication.name), (True, f"{publication.name}, * unequal MTU")):
                places = [place for place, value in enumerate(values) if value.unequal_mtu == unequal]
                if places:
                    axes.plot([values[place].ratio for place in places], places, linestyle="", markersize=6, label=label,
                              color=COLOURS[0] if not unequal else COLOURS[1], marker="o" if not unequal else "X")
            here = [(place, ours[value.system.mode, value.point].ratio) for place, value in enumerate(values)
                    if (value.system.mode, value.point) in ours]
            if here:
                axes.errorbar([each.value for _, each in here], [place for place, _ in here], xerr=around([each for _, each in here]),
                              linestyle="", capsize=2.5, markersize=5, color=COLOURS[2], marker="^", label="measured here")
            axes.axvline(1, color="black", linewidth=1)
            axes.axvspan(0.95, 1.05, color="#999999", alpha=0.25, linewidth=0)
            axes.set_yticks(range(len(values)), labels, fontsize=8)
            axes.set_ylim(len(values) - 0.3, -0.7)
            _ratio_axis(axes)
            axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.4, -0.6 / (0.22 * len(values) + 0.2)), ncols=1)

        title = f"{metric.capitalize()}, container/host"
        alt = f"{title}. " + "; ".join(f"{label}: {value.ratio:.3g}" for label, value in zip(labels, values)) + "."
        yield painter.draw(f"{publication.name}-{metric}", title, alt, paint, 1.5 + 0.22 * len(values))
