# SPDX-License-Identifier: Apache-2.0
"""Which runs there are, and in which order. Pure."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean

from .plan import Plan, Suite, System

THESIS = ("basic", "cpu", "multi_dev", "multi_qp")


@dataclass(frozen=True)
class Step:
    """What one call of rdma-perf measures."""

    name: str
    suite: str
    words: tuple[str, ...]  # of rdma-perf, but for the addresses
    clients: int = 1  # 0: one for each address


@dataclass(frozen=True)
class Trial:
    """One call, of one system."""

    step: Step
    system: System
    repetition: int
    position: int  # in the order of all

    @property
    def file(self) -> str:
        return f"{self.step.name}-{self.repetition:03}-{self.system.name}.json"

    @property
    def text(self) -> str:
        return f"{self.step.name}, {self.system.name}, repetition {self.repetition}"


def steps_of(suite: Suite, time: str) -> list[Step]:
    timing = ("--time", time)
    if suite.name == "transfers":
        words = ("run", "--verb", "send", "--mode", "bw", "--transport", "rc,tcp", "--size", suite.sizes, *timing)
        return [Step(f"transfers-{count}", suite.name, words, count) for count in suite.transfers]
    if suite.name == "software":
        # iWARP is connected by rdma_cm only, and so is what stands beside it; it has no latency of write.
        of = ("--cm", "--size", suite.sizes, *timing)
        return [Step("software-bw", suite.name, ("run", "--verb", "write,read,send", "--mode", "bw", *of)),
                Step("software-lat", suite.name, ("run", "--verb", "read,send", "--mode", "lat", *of))]
    words = ("thesis", "--suite", suite.name, "--reps", "1", *timing)
    if suite.name in ("basic", "cpu"):
        words += ("--size", suite.sizes)
    if suite.name == "multi_qp":
        words += ("--qps", suite.qps)
    return [Step(suite.name, suite.name, words, 0 if suite.name == "multi_dev" else 1)]


def takes_part(system: System, suite: str) -> bool:
    # What rdma_cm alone connects can be measured by the one suite that uses it.
    return suite in system.suites and (not system.by_cm or suite == "software")


def trials_of(plan: Plan, suites: Sequence[str] = ()) -> list[Trial]:
    """Every second repetition backwards: host, container, container, host. What drifts with time drifts away."""
    trials: list[Trial] = []
    for suite in plan.profile.suites:
        if suites and suite.name not in suites:
            continue
        systems = [system for system in plan.systems if takes_part(system, suite.name)]
        for step in steps_of(suite, plan.profile.time):
            for repetition in range(1, plan.profile.repetitions + 1):
                for system in systems if repetition % 2 else reversed(systems):
                    trials.append(Trial(step, system, repetition, len(trials) + 1))
    return trials


def words_of(trial: Trial, mtu: int) -> list[str]:
    """What rdma-perf is called with. `mtu` is the path MTU for all, 0 where there is none to set."""
    addresses = trial.system.addresses
    count = trial.step.clients or len(addresses)
    # More clients than addresses: an address is named again, for a connection of its own.
    hosts = [addresses[index % len(addresses)] if trial.step.clients == 0 else addresses[0] for index in range(count)]
    words = [trial.step.words[0], *hosts, *trial.step.words[1:]]
    if mtu:
        words += ["--mtu", str(mtu)]
    return [*words, "--timeout", "30s", "--json", "-"]


def time_left(pending: Iterable[Trial], seconds: dict[str, list[float]]) -> float | None:
    """By what trials of the same step and system took, else of the step, else of any. Nothing is known before the first."""
    taken = [value for values in seconds.values() for value in values]
    if not taken:
        return None
    total = 0.0
    for trial in pending:
        same = seconds.get(f"{trial.step.name} {trial.system.name}")
        of_step = [value for name, values in seconds.items() if name.startswith(f"{trial.step.name} ") for value in values]
        total += mean(same or of_step or taken)
    return total


def human_time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
