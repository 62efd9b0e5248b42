#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts tests for tests/run.

usage: results.py ctest NAME FOLDER JUNIT-FILE...    what ctest ran; FOLDER has a file of each GoogleTest program. The second
                                                     file is of what was run again, which counts instead
       results.py lab NAME LOG STATUS SCENARIO...    what a guest ran (tests/lab/scenarios/many)
       results.py fuzz NAME LOG STATUS               what tests/fuzz/run ran
       results.py checks NAME LOG STATUS             what a script ran that ends like a scenario
       results.py sum RESULTS SECONDS                the closing lines; status 1 if anything failed

The others print lines for RESULTS: "count NAME RUN PASSED FAILED", "skip NAME REASON", "fail NAME WHAT", "case NAME WHAT".
A skip is counted by its line; a fail is a failure beside those that were counted; a case is one of those that were, by its name and what
it expected. tests/run adds "unsteady NAME WHAT":
what failed and was run again, in another guest if it was one, whose lines tell how that went. Of a log, only what belongs to
the scenarios that are named counts.
"""
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

CHECKS = re.compile(r"^(?:scenario )?[\w.-]+: (\d+) checks, (\d+) failed$")
GTEST = {"ran": re.compile(r"^\[=+\] (\d+) tests? from .* ran\."), "passed": re.compile(r"^\[  PASSED  \] (\d+) tests?\."),
         "skipped": re.compile(r"^\[  SKIPPED \] (\d+) tests?")}
END = re.compile(r"^many: end (.*): status (\d+) after")
FUZZ = re.compile(r"^(\w+) +\d+ executions +\d+ s  (.*)$")
LAB_STATUS = {64: "wrong usage of tests/lab/run", 69: "something is missing on this machine", 70: "the guest died",
              124: "timeout"}


def skip_reason(output):
    """GoogleTest's reason for a skip is the line behind 'FILE:LINE: Skipped'; a check's begins with 'skipped:'."""
    lines = [line.strip() for line in output.splitlines()]
    for line, following in zip(lines, lines[1:] + [""]):
        if line.startswith("skipped: "):
            return line.removeprefix("skipped: ")
        if line.endswith(": Skipped") and following:
            return following
    return "no reason given"


def gtest(name, path, status, counts):
    """Of a program of tests: each test counts. One that died has no file, and is itself a failure."""
    cases = list(ElementTree.parse(path).getroot().iter("testcase")) if Path(path).exists() else []
    outcomes = Counter()
    for case in cases:
        if case.get("result") in ("skipped", "suppressed"):
            skipped = case.find("skipped")
            reason = "" if skipped is None else skipped.get("message", "")
            print(f"skip {name} {reason.strip().splitlines()[-1] if reason.strip() else 'no reason given'}")
        else:
            failure = case.find("failure")
            outcomes["passed" if failure is None else "failed"] += 1
            if failure is not None:
                print(f"case {name} {case.get('classname')}.{case.get('name')}: {' | '.join(failure.get('message', '').split(chr(10)))[:400]}")
    if not cases or (status != "run" and not outcomes["failed"]):
        print(f"fail {name} {Path(path).stem} did not come to its end")
    counts.update(outcomes)


def ctest(name, folder, paths):
    if not all(Path(path).exists() for path in paths):
        print(f"fail {name} ctest did not finish")
        return
    counts = Counter()
    last = {case.get("name"): case for path in paths for case in ElementTree.parse(path).getroot().iter("testcase")}
    for case in last.values():
        if re.search(r"\.\d$", case.get("name")):
            gtest(name, Path(folder, case.get("name") + ".xml"), case.get("status"), counts)
            continue
        skipped = case.find("skipped")
        # A test whose program is missing is "skipped" for ctest; for us it is a failure.
        if skipped is not None and skipped.get("message", "").startswith(("SKIP_", "Disabled")):
            print(f"skip {name} {skip_reason(case.findtext('system-out') or '')}")
        else:
            counts["passed" if case.get("status") == "run" else "failed"] += 1
            if case.get("status") != "run":
                print(f"case {name} {case.get('name')}")
    if not counts:
        print(f"fail {name} ctest found no test")
    print(f"count {name} {counts['passed'] + counts['failed']} {counts['passed']} {counts['failed']}")


def called(scenario):
    """What the lines of scenarios/many call a scenario: without the settings before it."""
    words = scenario.split("|")
    while re.match(r"^[A-Z_]+=", words[0]):
        words = words[1:]
    return " ".join(words)


def lab(name, path, status, scenarios):
    wanted = [called(each) for each in scenarios]
    if status == "77":
        print(f"skip {name} the mirror no longer has this kernel series")
        return
    checks, gtest, skipped, ended, run, failed = None, {}, [], 0, 0, 0
    for line in Path(path).read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("many: begin "):
            checks, gtest, skipped = None, {}, []
        elif line.startswith("skipped: "):
            skipped.append(line.removeprefix("skipped: "))
        elif found := CHECKS.match(line):
            checks = int(found[1]), int(found[2])
        elif (found := END.match(line)) and found[1] in wanted:
            ended += 1
            for reason in skipped:
                print(f"skip {name} {reason}")
            if gtest.get("ran"):
                ran = gtest["ran"] - gtest.get("skipped", 0)
                checks = ran, ran - gtest.get("passed", 0)
                for _ in range(gtest.get("skipped", 0)):
                    print(f"skip {name} contract: not for this kernel or RDMA mode")
            run, failed = run + (checks or (0, 0))[0], failed + (checks or (0, 0))[1]
            if checks is None or (int(found[2]) != 0 and checks[1] == 0):
                print(f"fail {name} {found[1]} ended with status {found[2]}"
                      + ("" if checks else " and no closing line"))
        else:
            gtest |= {key: int(found[1]) for key, pattern in GTEST.items() if (found := pattern.match(line))}
    if ended < len(scenarios):
        print(f"fail {name} {LAB_STATUS.get(int(status), f'status {status}')}; ended: {ended} of {len(scenarios)} scenarios; "
              f"see {path}")
    print(f"count {name} {run} {run - failed} {failed}")


def fuzz(name, path, status):
    lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    if status == "69":
        print(f"skip {name} {lines[-1].removeprefix('skipped: ') if lines else 'no reason given'}")
        return
    outcomes = [found.groups() for found in map(FUZZ.match, lines) if found]
    for target, outcome in outcomes:
        if outcome != "ok":
            print(f"fail {name} {target}: {outcome.removeprefix('FAILED: ')}")
    passed = sum(outcome == "ok" for _, outcome in outcomes)
    if not outcomes or (status != "0" and passed == len(outcomes)):
        print(f"fail {name} tests/fuzz/run ended with status {status}: see {path}")
    print(f"count {name} {passed} {passed} 0")


def checks(name, path, status):
    lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    closing = CHECKS.match(lines[-1]) if lines else None
    if status == "77":
        print(f"skip {name} {skip_reason(chr(10).join(lines))}")
        return
    run, failed = (int(closing[1]), int(closing[2])) if closing else (0, 0)
    if not closing or (status != "0" and not failed):
        print(f"fail {name} ended with status {status}: see {path}")
    print(f"count {name} {run} {run - failed} {failed}")


def total(path, seconds):
    run = passed = failed = 0
    skips, fails, cases, unsteady = Counter(), [], [], []
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        kind, name, rest = line.split(" ", 2)
        if kind == "count":
            counted = [int(number) for number in rest.split()]
            run, passed, failed = run + counted[0], passed + counted[1], failed + counted[2]
            print(f"{name + ':':28} {counted[0]:5} run, {counted[1]:5} passed, {counted[2]:3} failed")
        elif kind == "skip":
            skips[f"{name}: {rest}"] += 1
        elif kind == "case":
            cases.append(f"{name}: {rest}")
        elif kind == "unsteady":
            unsteady.append(f"{name}: {rest}")
        else:
            fails.append(f"{name}: {rest}")
    run, failed = run + len(fails), failed + len(fails)
    for each in fails + cases:
        print(f"failed: {each}")
    for each in unsteady:
        print(f"unsteady (failed, then run again): {each}")
    for each, times in sorted(skips.items()):
        print(f"skipped: {times} x {each}")
    if run == 0:
        print("failed: nothing was run")
    print(f"tests run: {run}, passed: {passed}, failed: {failed}, skipped: {sum(skips.values())}, "
          f"unsteady: {len(unsteady)} ({seconds // 60} min {seconds % 60} s)")
    return 1 if failed or run == 0 else 0


def main():
    match sys.argv[1:]:
        case ["ctest", name, folder, *paths]:
            ctest(name, folder, paths)
        case ["lab", name, path, status, *scenarios]:
            lab(name, path, status, scenarios)
        case ["fuzz", name, path, status]:
            fuzz(name, path, status)
        case ["checks", name, path, status]:
            checks(name, path, status)
        case ["sum", path, seconds]:
            sys.exit(total(path, int(seconds)))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
