# SPDX-License-Identifier: Apache-2.0
"""The command line."""
from __future__ import annotations

import argparse
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType

from .campaign import Campaign
from .places import Failed, read_inventory
from .plan import SUITES, Refused, read_plan
from .store import Store

HERE = Path(__file__).resolve().parents[1]
REPORTER = HERE / "rdma-perf-report"


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="evaluate", description="Measures the systems of a plan against each other with rdma-perf, keeps what it measured, and makes a report. "
        "Interrupted, the same command goes on where it stopped.")
    parser.add_argument("plan", type=Path, help="a plan, as those beside this program")
    parser.add_argument("--profile", default="quick", help="of the plan: how long (default: quick)")
    parser.add_argument("--out", type=Path, default=Path("evaluation"), metavar="FOLDER", help="folder for what is measured (default: evaluation)")
    parser.add_argument("--suite", default="", metavar="LIST", help=f"only these of the profile: {','.join(SUITES)}")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a value that the plan needs; repeatable")
    parser.add_argument("--inventory", type=Path, metavar="FILE", help="an Ansible inventory, for plans that name its hosts")
    parser.add_argument("--dry-run", action="store_true", help="print the commands and change nothing")
    parser.add_argument("--no-report", action="store_true", help="measure only")
    return parser


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def report(folder: Path) -> int:
    program = shutil.which("rdma-perf-report") or (str(REPORTER) if REPORTER.exists() else "")
    words = [program or "rdma-perf-report", "--html", str(folder / "report.html"), "--figures", str(folder / "figures"), str(folder)]
    if not program:
        say(f"the report is made where rdma-perf-report is installed, by: {shlex.join(words)}")
        return 0
    status = subprocess.run(words, check=False).returncode
    if status == 0:
        say(f"report: {folder / 'report.html'}")
    return status


def values_of(words: list[str]) -> dict[str, str]:
    values = {}
    for each in words:
        name, equals, value = each.partition("=")
        if not equals or not value:
            raise Refused(f"--set {each}: is not NAME=VALUE")
        values[name] = value
    return values


def evaluate(options: argparse.Namespace) -> int:
    inventory = read_inventory(options.inventory) if options.inventory else {}
    plan = read_plan(options.plan, options.profile, inventory, values_of(options.set))
    suites = [each for each in options.suite.split(",") if each]
    in_profile = [suite.name for suite in plan.profile.suites]
    for suite in suites:
        if suite not in in_profile:
            raise Refused(f"--suite {suite}: profile {plan.profile.name} has only {', '.join(in_profile)}")
    store = Store(options.out, plan)
    campaign = Campaign(plan, store, say)
    if options.dry_run:
        for words in campaign.commands(suites):
            print(shlex.join(words))
        return 0
    with store:
        campaign.run(suites)
    return 0 if options.no_report else report(options.out)


def interrupt(_number: int, _frame: FrameType | None) -> None:
    """Once: containers and servers are removed on the way out, and that is not to be interrupted again."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


def main(words: list[str]) -> int:
    options = parser().parse_args(words)
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, interrupt)
    try:
        return evaluate(options)
    except Refused as error:
        say(f"evaluate: {error}")
        return 2
    except (Failed, OSError) as error:
        say(f"evaluate: {error}")
        return 1
    except KeyboardInterrupt:
        say("evaluate: interrupted: the same command goes on from here")
        return 130
