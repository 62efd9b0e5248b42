# SPDX-License-Identifier: Apache-2.0
"""The whole: both sides of all systems are started, probed and compared; then trial by trial, each kept as it is done."""
from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from . import mtu, parents, schedule
from .places import Failed, Place, call, facts_of
from .plan import Plan, Refused, System
from .schedule import Trial
from .store import RUN_SCHEMA, Store

ATTEMPTS = 2  # of a trial: a busy machine may make one miss a deadline; the file says how many it took
SERVER_STARTS = 180  # seconds
PAUSE = 0.3  # between two tries to connect
NO_CONNECTION = 5  # rdma-perf's exit code
NETDEVS_MATTER = ("transfers", "software")


@dataclass
class Pair:
    """Both sides of a system, running."""

    server: Place
    client: Place
    path_mtu: int
    environment: dict[str, dict[str, str]]


class Campaign:
    def __init__(self, plan: Plan, store: Store, say: Callable[[str], None]) -> None:
        self._plan = plan
        self._store = store
        self._say = say
        self._seconds: dict[str, list[float]] = {}

    def run(self, suites: Sequence[str]) -> int:
        """How many were measured."""
        trials = schedule.trials_of(self._plan, suites)
        pending = [trial for trial in trials if not self._store.has(trial.file)]
        for trial in trials:
            if trial not in pending:
                self._note(trial, self._store.seconds(trial.file))
        if len(pending) < len(trials):
            self._say(f"{len(trials) - len(pending)} of {len(trials)} runs are there already")
        if not pending:
            return 0
        with ExitStack() as stack:
            wanted = {trial.system.name for trial in trials}
            pairs = {system.name: self._start(stack, system) for system in self._plan.systems if system.name in wanted}
            agreed = self._agree(pairs, {trial.step.suite for trial in trials})
            for done, trial in enumerate(pending):
                self._measure(trial, pairs[trial.system.name], agreed)
                left = schedule.time_left(pending[done + 1:], self._seconds)
                self._say(f"[{len(trials) - len(pending) + done + 1}/{len(trials)}] {trial.text}: {self._last(trial):.1f} s; "
                          f"about {schedule.human_time(left or 0)} left")
        return len(pending)

    def commands(self, suites: Sequence[str]) -> list[list[str]]:
        """What run() would call, in order; changes nothing."""
        places = {system.name: self._places(system) for system in self._plan.systems}
        trials = schedule.trials_of(self._plan, suites)
        wanted = {trial.system.name for trial in trials}
        commands = []
        for name, (server, client) in places.items():
            if name in wanted:
                commands += [server.start_words() or server.words(server.serve_words())]
                commands += [client.start_words()] if client.start_words() else []
        return commands + [places[trial.system.name][1].words([self._plan.program, *schedule.words_of(trial, 0)]) for trial in trials]

    def _places(self, system: System) -> tuple[Place, Place]:
        return Place(self._plan, system, system.server, "server"), Place(self._plan, system, system.client, "client")

    def _start(self, stack: ExitStack, system: System) -> Pair:
        self._say(f"{system.name}: starting both sides")
        server, client = (stack.enter_context(place) for place in self._places(system))
        report = self._probe(system, server, client)
        environment = {}
        for name, place in (("server", server), ("client", client)):
            environment[name] = facts_of(place.side.node) | place.engine_version()
        return Pair(server, client, mtu.path_of(report, mtu.results_of(report)[0]), environment | {"probe": report["env"]})

    def _probe(self, system: System, server: Place, client: Place) -> dict[str, Any]:
        """A few messages: shows that it works before time is spent, and what device and MTU it has."""
        words = ["run", system.addresses[0], "--verb", "send", "--mode", "lat", "--size", "64", "--iterations", "20", "--json", "-",
                 "--timeout", "30s", *(["--cm"] if system.by_cm else [])]
        end = time.monotonic() + SERVER_STARTS
        failed = False
        while True:
            try:
                return self._report(call(client.words([self._plan.program, *words]), self._plan.deadline), system.name)
            except Failed as error:
                # Only a connection shows that a server listens by now.
                starts = error.status == NO_CONNECTION and time.monotonic() <= end
                if server.has_ended() or (failed and not starts):
                    raise Refused(f"{system.name}: the two sides do not reach each other: {error}\nthe server said: {server.said()}") from error
                if starts:
                    time.sleep(PAUSE)
                else:  # as with every other run, once more
                    failed = True
                    self._say(f"{system.name}: again, because {str(error).splitlines()[-1]}")

    def _agree(self, pairs: dict[str, Pair], suites: set[str]) -> mtu.Agreed:
        seen, ends = [], []
        baselines = {system.name: system.baseline for system in self._plan.systems}
        for name, pair in pairs.items():
            netdevs = {}
            for which, place in (("server", pair.server), ("client", pair.client)):
                device = pair.environment["probe"][which]["device"]
                netdev = device["netdev"] or place.netdev_of(device["device"])
                netdevs[f"{which} {netdev}"] = place.mtu_of(netdev)
                ends.append(parents.Seen(name, baselines[name], which, place.side.node, netdev, *place.parent_of(netdev)))
            seen.append(mtu.Seen(name, pair.path_mtu, netdevs))
        if self._plan.one_parent:
            parents.check(ends)
        agreed = mtu.agree(self._plan.mtu_rule, seen, bool(suites & set(NETDEVS_MATTER)))
        self._say(f"path MTU {agreed.path or 'none'} for all{', set by us' if agreed.set_by_us else ''}")
        return agreed

    def _measure(self, trial: Trial, pair: Pair, agreed: mtu.Agreed) -> None:
        words = pair.client.words([self._plan.program, *schedule.words_of(trial, agreed.for_system(trial.system.name, pair.path_mtu))])
        started, begin = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), time.monotonic()
        attempt, text = 0, ""
        while not text:
            attempt += 1
            try:
                text = call(words, self._plan.deadline)
            except Failed as error:
                if attempt == ATTEMPTS:
                    raise Refused(f"{trial.text}: {error}\nwhat was measured is kept: the same command goes on from there") from error
                self._say(f"{trial.text}: again, because {str(error).splitlines()[-1]}")
        report = self._report(text, trial.text)
        mtu.check_results(report, agreed, trial.text)
        seconds = time.monotonic() - begin
        self._note(trial, seconds)
        self._store.keep(trial.file, {
            "schema": RUN_SCHEMA, "plan": {"name": self._plan.name, "sha256": self._plan.digest, "profile": self._plan.profile.name},
            "suite": trial.step.suite,
            "system": {"name": trial.system.name, "kind": trial.system.kind, "mode": trial.system.mode, "baseline": trial.system.baseline or None},
            "repetition": trial.repetition, "position": trial.position, "started": started, "seconds": round(seconds, 2), "command": words,
            "environment": {side: pair.environment[side] for side in ("client", "server")}, "mtu": agreed.record(trial.system.name),
            "attempts": attempt, "report": report})

    def _report(self, text: str, what: str) -> dict[str, Any]:
        try:
            report = json.loads(text)
            if not isinstance(report, dict) or not mtu.results_of(report) or report["errors"]:
                raise ValueError("it has no results")
        except (ValueError, KeyError, RecursionError) as error:
            raise Refused(f"{what}: {self._plan.program} wrote no report: {error}") from error
        return report

    def _note(self, trial: Trial, seconds: float) -> None:
        self._seconds.setdefault(f"{trial.step.name} {trial.system.name}", []).append(seconds)

    def _last(self, trial: Trial) -> float:
        return self._seconds[f"{trial.step.name} {trial.system.name}"][-1]
