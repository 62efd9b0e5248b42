# SPDX-License-Identifier: Apache-2.0
"""The command line."""
from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import documents, findings, published, series
from .documents import Evaluation, Run
from .strict import BadDocument

NEEDS = "rdma-perf-report: {} is missing: apt-get install python3-jinja2 python3-matplotlib{}"


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rdma-perf-report", description="Makes one page, without anything from a network, of what rdma-perf measured.",
        epilog="Example: rdma-perf-report --html report.html --baseline host host=host.json container=container.json")
    parser.add_argument("source", nargs="*", type=str,
                        help="the folder of an evaluation, or [NAME=]FILE of `rdma-perf run --json`")
    parser.add_argument("--html", type=Path, default=Path("report.html"), help="the page (default: report.html)")
    parser.add_argument("--figures", type=Path, help="a folder that gets each figure as SVG and PNG, too")
    parser.add_argument("--no-figures", action="store_true", help="tables only; needs no matplotlib")
    parser.add_argument("--baseline", default="", metavar="NAME", help="the system that the others are compared with")
    parser.add_argument("--published", type=Path, default=published.OURS, metavar="FILE",
                        help="published numbers to show beside (default: those of the thesis)")
    parser.add_argument("--no-published", action="store_true", help="without published numbers")
    parser.add_argument("--title", default="", help="the title of the page")
    return parser


def read_sources(sources: list[str]) -> tuple[Evaluation, list[Run]]:
    about, runs = None, []
    for source in sources:
        if Path(source).is_dir():
            about, more = documents.read_evaluation(Path(source))
            runs += more
            continue
        name, _, path = source.rpartition("=") if not Path(source).exists() else ("", "", source)
        runs.append(documents.read_run(Path(path), name))
    return about or Evaluation("What rdma-perf measured", "", ""), runs


def main(words: list[str]) -> int:
    options = parser().parse_args(words)
    try:
        about, runs = read_sources(options.source)
        publication = None if options.no_published else published.read(options.published)
        if not runs and publication is None:
            raise BadDocument("no source was given: name the folder of an evaluation, or a file of rdma-perf --json")
        if options.title:
            about = Evaluation(options.title, about.emulation, about.profile)
        elif not runs and publication:
            about = Evaluation(publication.title, "", "")
        if options.baseline and options.baseline not in {run.system.name for run in runs}:
            raise BadDocument(f"--baseline {options.baseline}: no source has this name, only {', '.join(sorted({run.system.name for run in runs}))}")
        text = make(about, runs, publication, options)
        options.html.parent.mkdir(parents=True, exist_ok=True)
        options.html.write_text(text, encoding="utf-8")
    except BadDocument as error:
        print(f"rdma-perf-report: {error}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        hint = "; or --no-figures" if error.name == "matplotlib" else ""
        print(NEEDS.format(error.name, hint), file=sys.stderr)
        return 69
    except OSError as error:
        print(f"rdma-perf-report: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def make(about: Evaluation, runs: list[Run], publication: published.Publication | None, options: argparse.Namespace) -> str:
    from . import page, sections

    collection = series.collect(runs, options.baseline)
    found = findings.of_measurements(collection, runs) + (findings.of_publication(publication) if publication else [])
    found.sort(key=lambda finding: ("wrong", "doubt", "note").index(finding.severity))
    painter = None
    if not options.no_figures:
        from .figures import Painter

        painter = Painter(options.figures)
    return page.render(about, collection, runs, found, sections.all_of(collection, publication, painter), publication)
