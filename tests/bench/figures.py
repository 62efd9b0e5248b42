# SPDX-License-Identifier: Apache-2.0
"""What the benches share: one measured process, and what may be said of many."""
import os
import pathlib
import random
import statistics
import subprocess
import sys


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


def interval(value, size):
    """value() of what is there, and the middle 95 % of what chance would make of it (bootstrap): value gets `size` indexes."""
    dice = random.Random(1)
    draws = sorted(value(dice.choices(range(size), k=size)) for _ in range(2000))
    return {"value": value(range(size)), "low": draws[49], "high": draws[1949]}


def ratio(above, below, figure):
    """The ratio of the middles of two ways that were run equally often."""

    def once(some):
        return middle([above[i][figure] for i in some]) / max(middle([below[i][figure] for i in some]), 1e-9)

    return interval(once, len(above))


def difference(above, below, figure):
    """The middle of what each run took more than its pair."""
    pairs = [a[figure] - b[figure] for a, b in zip(above, below)]
    return interval(lambda some: middle([pairs[i] for i in some]), len(pairs))


def exact_accounting():
    path = pathlib.Path("/sys/devices/system/cpu/nohz_full")
    return path.exists() and path.read_text().strip().endswith("1")
