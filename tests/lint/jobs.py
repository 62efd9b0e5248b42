#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the table of jobs (tests/runner/table.py) against the tree: nothing changes that no job looks at.

usage: jobs.py ROOT
"""
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "runner"))
import plan as planning  # noqa: E402
import table  # noqa: E402

# Shards of the full form are for an evening: each is to end within this, by the table's seconds.
SHARDS = 16


def files(root):
    """The files of the tree, whether it is a checkout or not."""
    try:
        listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True)
        return [name for name in listed.stdout.splitlines() if (root / name).is_file()]
    except (OSError, subprocess.CalledProcessError):
        return [str(path.relative_to(root)) for path in root.rglob("*")
                if path.is_file() and path.relative_to(root).parts[0] not in ("build", ".git")]


def unit_tests(texts):
    """What the names of unit tests begin with, by what CMakeLists.txt of tests/ say."""
    for text in texts:
        yield from re.findall(r"\brdma_test\((\w+) LABEL unit\b", text)
        for names, made in re.findall(r"foreach\(test ([^)]*)\)(.*?)endforeach", text, re.DOTALL):
            yield from (f"{kind}.{Path(name).name}" for kind in re.findall(r"NAME (\w+)\.\$\{name\}", made) for name in names.split())


def check(paths, areas, jobs, units, read, tests=()):
    """Sentences, one for each gap."""
    scenarios = {path.removeprefix(planning.SCENARIOS) for path in paths if path.startswith(planning.SCENARIOS) and path.endswith(".sh")}
    libraries = {name for name in scenarios if name.endswith("-lib.sh") or name == "lib.sh"}
    for path in paths:
        if not planning.areas_of(path, areas) and not path.startswith(planning.SCENARIOS):
            yield f"{path}: no area of the table has it: a change of it would run nothing"
    for area, patterns in areas.items():
        for pattern in patterns:
            if not any(planning.matches(path, pattern) for path in paths):
                yield f"area {area}: nothing matches '{pattern}'"
        if not any(area in job.sees for job in jobs):
            yield f"area {area}: no job sees it"
    for name in sorted(scenarios - libraries - set().union(*(job.scripts for job in jobs)) - ELSEWHERE):
        yield f"{name}: no job runs this scenario"
    for job in jobs:
        for script in job.scripts - scenarios:
            yield f"{job.name}: there is no scenario {script}"
        for area in job.sees - set(areas):
            yield f"{job.name}: there is no area {area}"
        for other in set(job.after) - {each.name for each in jobs}:
            yield f"{job.name}: it comes after '{other}', which is no job"
    for name, sees in units.items():
        for area in set(sees.split()) - set(areas):
            yield f"unit tests {name}: there is no area {area}"
    for test in tests:
        if not any(re.fullmatch(name, test) for name in units):
            yield f"unit test {test}: the table has no row for it"
    fuzzed = {word for job in jobs if job.kind == "fuzz" for word in job.run[1:]}
    for target in sorted({Path(path).stem.removesuffix("_fuzz") for path in paths if path.endswith("_fuzz.cc")} ^ fuzzed):
        yield f"fuzz target {target}: it is in tests/fuzz or in the table, and not in the other"
    names = [job.name for job in jobs]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"{name}: two jobs have this name"
    for script in sorted(set().union(*(job.scripts for job in jobs))):
        for library in planning.sources_of(script, read) - scenarios:
            yield f"{script}: it sources {library}, which is not there"
    full = planning.of_form(jobs, "full")
    for number in range(1, SHARDS + 1):
        mine = planning.shard([job for job in full if job.rung != "build"], number, SHARDS)
        minutes = sum(map(planning.cost, mine)) / 60
        if minutes > planning.SHARD_SECONDS / 60:
            yield f"shard {number}/{SHARDS} of the full form takes {round(minutes)} min by the table: cut its jobs"


# Started by tests/lab/power-loss; and by hand, for figures (CONTRIBUTING.md).
ELSEWHERE = {"arm64.sh", "power-loss.sh", "bench-attach.sh", "bench-crowd.sh", "bench-duel.sh", "bench-shim.sh"}


def main():
    root = Path(sys.argv[1])
    paths = files(root)
    tests = list(unit_tests((root / path).read_text(encoding="utf-8") for path in paths if path.startswith("tests/") and path.endswith("CMakeLists.txt")))
    problems = list(check(paths, table.AREAS, table.JOBS, table.UNITS, planning.read_scenario, tests))
    print("\n".join(problems) if problems else f"jobs: {len(table.JOBS)} jobs, {len(table.AREAS)} areas")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
