# SPDX-License-Identifier: Apache-2.0
"""Reads what a job left behind (files of GoogleTest and ctest, a guest's log) and counts it."""
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

CHECKS = re.compile(r"^(?:scenario )?[\w.-]+: (\d+) checks, (\d+) failed$")
GTEST = {"ran": re.compile(r"^\[=+\] (\d+) tests? from .* ran\."), "passed": re.compile(r"^\[  PASSED  \] (\d+) tests?\."),
         "skipped": re.compile(r"^\[  SKIPPED \] (\d+) tests?")}
END = re.compile(r"^many: end (.*): status (\d+) after (\d+) s")
FUZZ = re.compile(r"^(\w+) +\d+ executions +(\d+) s  (.*)$")
FAILURE = re.compile(r"^not ok|\[  FAILED  \]|^lab: |panic")
LAB = "lab: "  # what the lab itself says
LAB_STATUS = {64: "wrong usage of tests/lab/run", 69: "something is missing on this machine", 70: "the guest died",
              124: "timeout"}


@dataclass
class Outcome:
    """`errors` are failures beside those counted; `cases` name some of those counted; `skips` have their reasons; `times` are
    seconds of what the job ran, by name."""
    run: int = 0
    passed: int = 0
    failed: int = 0
    skips: list = field(default_factory=list)
    errors: list = field(default_factory=list)
    cases: list = field(default_factory=list)
    times: dict = field(default_factory=dict)

    @property
    def good(self):
        return not self.failed and not self.errors

    def count(self, passed, failed):
        self.run, self.passed, self.failed = self.run + passed + failed, self.passed + passed, self.failed + failed


def read(path):
    return Path(path).read_text(encoding="utf-8", errors="replace").splitlines() if Path(path).exists() else []


def failures(path):
    """What failed, each with the lines that a scenario showed of it, for the terminal."""
    shown, found = 0, []
    for line in read(path):
        if FAILURE.search(line):
            shown = 12
            found.append(line)
        elif line.startswith("# ") and shown:
            shown -= 1
            found.append(line)
        else:
            shown = 0
    return found[:80]


def skip_reason(output):
    """GoogleTest's reason for a skip is the line behind 'FILE:LINE: Skipped'; a check's, or the lab's, begins with 'skipped:'."""
    lines = [line.strip().removeprefix(LAB) for line in output.splitlines()]
    for line, following in zip(lines, lines[1:] + [""]):
        if line.startswith("skipped: "):
            return line.removeprefix("skipped: ")
        if line.endswith(": Skipped") and following:
            return following
    return "no reason given"


def gtest(path, status, outcome):
    """Of a program of tests: each test counts. One that died has no file, and is itself a failure."""
    cases = list(ElementTree.parse(path).getroot().iter("testcase")) if Path(path).exists() else []
    counts = Counter()
    for case in cases:
        name = f"{case.get('classname')}.{case.get('name')}"
        outcome.times[name] = outcome.times.get(name, 0) + float(case.get("time", 0))
        if case.get("result") in ("skipped", "suppressed"):
            skipped = case.find("skipped")
            reason = ("" if skipped is None else skipped.get("message", "")).strip()
            outcome.skips.append(reason.splitlines()[-1] if reason else "no reason given")
            continue
        failure = case.find("failure")
        counts["passed" if failure is None else "failed"] += 1
        if failure is not None:
            outcome.cases.append(f"{name}: {' | '.join(failure.get('message', '').split(chr(10)))[:400]}")
    if not cases or (status != "run" and not counts["failed"]):
        outcome.errors.append(f"{Path(path).stem} did not come to its end")
    outcome.count(counts["passed"], counts["failed"])


def ctest(junit_files, folder):
    """What ctest ran; `folder` has a file of each GoogleTest program. The second JUnit file is of what was run again, and counts
    instead."""
    outcome = Outcome()
    if not all(Path(path).exists() for path in junit_files):
        outcome.errors.append("ctest did not finish")
        return outcome
    last = {case.get("name"): case for path in junit_files for case in ElementTree.parse(path).getroot().iter("testcase")}
    for name, case in last.items():
        if re.search(r"\.\d+$", name):
            gtest(Path(folder, name + ".xml"), case.get("status"), outcome)
            continue
        outcome.times[name] = float(case.get("time", 0))
        skipped = case.find("skipped")
        # A test whose program is missing is "skipped" for ctest; here it is a failure.
        if skipped is not None and skipped.get("message", "").startswith(("SKIP_", "Disabled")):
            outcome.skips.append(skip_reason(case.findtext("system-out") or ""))
        elif case.get("status") == "run":
            outcome.count(1, 0)
        else:
            outcome.count(0, 1)
            outcome.cases.append(name)
    if not outcome.run:
        outcome.errors.append("ctest found no test")
    return outcome


def called(scenario):
    """What the lines of scenarios/many call a scenario: without the settings before it."""
    words = scenario.split("|")
    while re.match(r"^[A-Z_]+=", words[0]):
        words = words[1:]
    return " ".join(words)


def guest(log, status, scenarios):
    """What a guest ran (tests/lab/scenarios/many)."""
    outcome = Outcome()
    if status == 77:
        outcome.skips.append(skip_reason("\n".join(read(log))))
        return outcome
    wanted = [called(each) for each in scenarios]
    checks, tests, skipped, cases, ended = None, {}, [], [], 0
    for line in read(log):
        if line.startswith("many: begin "):
            checks, tests, skipped, cases = None, {}, [], []
        elif line.startswith("not ok"):
            cases.append(line)
        elif line.startswith("skipped: "):
            skipped.append(line.removeprefix("skipped: "))
        elif found := CHECKS.match(line):
            checks = int(found[1]), int(found[2])
        elif (found := END.match(line)) and found[1] in wanted:
            ended += 1
            outcome.times[found[1]] = float(found[3])
            outcome.skips += skipped
            outcome.cases += cases
            if tests.get("ran"):
                ran = tests["ran"] - tests.get("skipped", 0)
                checks = ran, ran - tests.get("passed", 0)
                outcome.skips += ["contract: not for this kernel or RDMA mode"] * tests.get("skipped", 0)
            run, failed = checks or (0, 0)
            outcome.count(run - failed, failed)
            if checks is None or (int(found[2]) and not failed):
                outcome.errors.append(f"{found[1]} ended with status {found[2]}" + ("" if checks else " and no closing line"))
        else:
            tests |= {key: int(found[1]) for key, pattern in GTEST.items() if (found := pattern.match(line))}
    if ended < len(wanted):
        outcome.errors.append(f"{LAB_STATUS.get(status, f'status {status}')}; ended: {ended} of {len(wanted)} scenarios")
        outcome.cases += cases
    del outcome.cases[20:]
    return outcome


def tree(log, status):
    """A tree of the lab. That one is left out (77) is counted for each guest that wants it."""
    said = [line.removeprefix(LAB) for line in read(log) if line.startswith(LAB)] or [f"status {status}"]
    return Outcome(errors=[] if status in (0, 77) else [f"the lab's tree, in which nothing is rdma-hook's, cannot be made: {said[-1]}"])


def fuzz(log, status):
    """What tests/fuzz/run ran."""
    outcome, lines = Outcome(), read(log)
    if status == 69:
        outcome.skips.append(skip_reason("\n".join(lines)))
        return outcome
    for target, seconds, result in (found.groups() for found in map(FUZZ.match, lines) if found):
        outcome.count(int(result == "ok"), int(result != "ok"))
        outcome.times[f"fuzz {target}"] = float(seconds)
        if result != "ok":
            outcome.cases.append(f"{target}: {result.removeprefix('FAILED: ')}")
    if not outcome.run or (status and not outcome.failed):
        outcome.errors.append(f"tests/fuzz/run ended with status {status}")
    return outcome


def checks(log, status):
    """What a script ran that ends like a scenario."""
    outcome, lines = Outcome(), read(log)
    if status == 77:
        outcome.skips.append(skip_reason("\n".join(lines)))
        return outcome
    closing = CHECKS.match(lines[-1]) if lines else None
    run, failed = (int(closing[1]), int(closing[2])) if closing else (0, 0)
    outcome.count(run - failed, failed)
    if not closing or (status and not failed):
        outcome.errors.append(f"ended with status {status}")
    outcome.skips += [line.removeprefix("skipped: ") for line in lines if line.startswith("skipped: ")]
    outcome.cases += [line for line in lines if line.startswith("not ok")][:20]
    return outcome


def command(status):
    """Of a command that is itself the test."""
    outcome = Outcome()
    outcome.count(int(status == 0), int(status != 0))
    if status:
        outcome.cases.append(f"status {status}")
    return outcome


def closing(outcomes, unsteady, seconds):
    """The last lines of a run, and its status. `outcomes` are by job; `unsteady` are lines of what passed at its second try."""
    lines, skips, times = [], Counter(), {}
    run = passed = failed = 0
    for name, outcome in outcomes.items():
        failed_here = outcome.failed + len(outcome.errors)
        if outcome.run or failed_here:
            lines.append(f"{name + ':':56} {outcome.run:5} run, {outcome.passed:5} passed, {failed_here:3} failed")
        run, passed, failed = run + outcome.run + len(outcome.errors), passed + outcome.passed, failed + failed_here
        skips.update(f"{name}: {reason}" for reason in outcome.skips)
        times |= {f"{what} ({name})": spent for what, spent in outcome.times.items()}
    lines += [f"failed: {name}: {what}" for name, outcome in outcomes.items() for what in outcome.errors + outcome.cases
              if not outcome.good]
    lines += [f"unsteady (failed, then passed alone): {each}" for each in unsteady]
    lines += [f"skipped: {count} x {each}" for each, count in sorted(skips.items())]
    dearest = sorted(times.items(), key=lambda each: -each[1])[:10]
    if dearest:
        lines += ["the dearest:"] + [f"{spent:8.1f} s  {what}" for what, spent in dearest]
    if not run:
        lines.append("failed: nothing was run")
    minutes, rest = divmod(int(seconds), 60)
    lines.append(f"tests run: {run}, passed: {passed}, failed: {failed}, skipped: {sum(skips.values())}, unsteady: {len(unsteady)} "
                 f"({minutes} min {rest} s)")
    # The same once more, in a form that other programs read.
    lines.append(f"{passed} passed, {failed} failed, {sum(skips.values())} skipped")
    return lines, int(bool(failed or not run))


def to_json(outcome):
    return asdict(outcome)
