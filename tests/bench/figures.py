# SPDX-License-Identifier: Apache-2.0
"""What the benches share: one measured process, and what may be said of many."""
import dataclasses
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples/evaluation"))

from rdma_report import estimate  # noqa: E402

STEP = 0.001  # of a figure: what is less than a microsecond counts as one


def measured(floor, command, figures, stdin="", cwd=None):
    """The cost of one process, by the launcher of floor.cc, which adds nothing of its own; and its output."""
    output = pathlib.Path(f"{figures}.output")  # a file: a container that inherits it keeps nobody waiting
    with output.open("w+b") as out, pathlib.Path(f"{figures}.errors").open("w+b") as errors:
        done = subprocess.run(
            [floor, "measure", str(figures), *command], input=stdin.encode(), stdout=out, stderr=errors, cwd=cwd, check=False
        )
        errors.seek(0)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: status {done.returncode}: {errors.read().decode()}")
    wall, user, system, memory, _ = (int(word) for word in pathlib.Path(figures).read_text().split())
    cost = {"wall": wall / 1000, "user": user / 1000, "system": system / 1000, "total": (user + system) / 1000, "memory": memory}
    return cost, output.read_text()


def middle(values):
    """The mean without the outer fifths: the kernel hands CPU time out in steps, which a median would keep."""
    cut = len(values) // 5
    return statistics.fmean(sorted(values)[cut : len(values) - cut])


def ratio(above, below, figure):
    """Of two ways that were run in turn: as many times each run took what its pair did."""
    return dataclasses.asdict(estimate.of_ratio([(max(b[figure], STEP), max(a[figure], STEP)) for a, b in zip(above, below)]))


def difference(above, below, figure):
    """What each run took more than its pair."""
    return dataclasses.asdict(estimate.of_differences([a[figure] - b[figure] for a, b in zip(above, below)]))


def shown(found, digits):
    """Round brackets are a 95 % interval, square ones the range of fewer than six runs."""
    left, right = "()" if found["n"] >= estimate.ENOUGH else "[]"
    return f"{found['value']:.{digits}f} {left}{found['low']:.{digits}f} to {found['high']:.{digits}f}{right}"


def exact_accounting():
    path = pathlib.Path("/sys/devices/system/cpu/nohz_full")
    return path.exists() and path.read_text().strip().endswith("1")
