# SPDX-License-Identifier: Apache-2.0
"""Checks, one after the other: each has its time, a line on the terminal, and evidence. A failure stops nothing."""
from __future__ import annotations

import contextlib
import fnmatch
import ipaddress
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .capture import netlink_of, sysfs_of
from .engine import Container, Engine
from .host import SYS, Facts, Pf, difference, names_in, picture, text_of
from .tools import Failed, Skipped, Tools
from .undo import Undo


@dataclass(frozen=True)
class Check:
    id: str
    text: str
    mode: str  # "" for those of every host
    look: Callable[["Run"], str]  # returns what was seen; raises Failed or Skipped
    limit: float


@dataclass
class Outcome:
    id: str
    text: str
    status: str  # ok, FAIL, skip
    ms: int
    reason: str  # what was seen, if it is ok
    evidence: str = ""

    def line(self) -> str:
        return f"{self.status:<4} {self.id:<3} {self.text}" + (f": {self.reason}" if self.reason else "") + f" ({self.ms} ms)"


@dataclass
class Run:
    """All that a check may use."""

    facts: Facts
    pf: Pf
    pf2: Pf | None
    tools: Tools
    undo: Undo
    engine: Engine
    anonymous: bool = False
    evidence: dict[str, str] = field(default_factory=dict)  # file below raw/ to text
    outcomes: list[Outcome] = field(default_factory=list)
    kept: dict[str, Any] = field(default_factory=dict)  # what one check leaves for another
    _pairs: dict[str, tuple[Container, Container]] = field(default_factory=dict)

    # ---- addresses: sixteen in a row, the first is given
    def ip(self, number: int) -> str:
        first = ipaddress.ip_interface(self.facts.address)
        return f"ip={first.ip + number}/{first.network.prefixlen}"

    # ---- two containers, for several checks
    def pair(self, mode: str) -> tuple[Container, Container]:
        """Those that the mode's own check started; started now if only some checks run. Skipped if they could not be."""
        from .modes import annotations_of  # modes knows Run

        if mode in self._pairs:
            return self._pairs[mode]
        if self.kept.get(f"no pair {mode}"):
            raise Skipped(f"needs two containers of mode {mode}, which did not start")
        return self.start_pair(mode, annotations_of(self, mode, 0), annotations_of(self, mode, 1))

    def start_pair(self, mode: str, first: list[str], second: list[str]) -> tuple[Container, Container]:
        self.end_pair(mode)  # and whatever another check left: the addresses are few
        self.kept[f"no pair {mode}"] = True
        self.kept[f"before {mode}"] = self.picture()
        with PortWatch() as watch:
            a = self.engine.start(*first)
        self.number(mode, "provider", a.attached.get("provider"))
        self.number(mode, "active_ms", watch.active_ms(a.device))
        b = self.engine.start(*second)
        self.number(mode, "start_ms", b.ms)  # the first one loads modules and warms caches
        self.kept.pop(f"no pair {mode}")
        self._pairs[mode] = (a, b)
        return a, b

    def end_pair(self, mode: str) -> None:
        self._pairs.pop(mode, None)
        self.engine.end_all()

    # ---- the adapter, as it is now
    def record(self, stage: str = "") -> str:
        """Sysfs and netlink, for fixtures; `stage`: -vfs, -switchdev."""
        pfs = [pf for pf in (self.pf, self.pf2) if pf]
        self.evidence[f"netlink{stage}.txt"] = netlink_of(pfs)
        text = sysfs_of(pfs, SYS)
        if text:
            self.evidence[f"sysfs{stage}.txt"] = text
        return text

    # ---- all as before
    def picture(self) -> list[str]:
        return picture(self.tools, [pf for pf in (self.pf, self.pf2) if pf])

    def still(self, before: list[str]) -> str:
        """Waits at most 30 seconds; Failed with the first lines that differ."""
        left: list[str] = []

        def same() -> bool:
            left[:] = difference(before, self.picture())
            return not left

        if not self.tools.wait_for(30, same):
            self.tools.note("\n".join(left))
            raise Failed("not as before: " + "; ".join(line[:160] for line in left[:4]))
        return "all as before"

    # ---- the five numbers, by mode
    def number(self, mode: str, name: str, value: Any) -> None:
        if value is not None:
            self.facts.numbers.setdefault(mode, {}).setdefault(name, value)

    # ---- checks
    def one(self, check: Check) -> Outcome:
        self.tools.begin(check.limit)
        begin = time.monotonic()
        try:
            status, reason = "ok", check.look(self)
        except Skipped as why:
            status, reason = "skip", str(why)
        except Failed as why:
            status, reason = "FAIL", str(why)
        except Exception as error:  # a mistake of the kit's own, or an answer that nobody foresaw: it stops nothing
            self.tools.note(traceback.format_exc())
            status, reason = "FAIL", f"the check itself failed: {type(error).__name__}: {error}"
        outcome = Outcome(check.id, check.text, status, round((time.monotonic() - begin) * 1000), " ".join(reason.split()))
        log = self.tools.evidence()
        if log:
            outcome.evidence = f"raw/checks/{check.id}.txt"
            self.evidence[f"checks/{check.id}.txt"] = log + "\n"
        self.tools.begin(None)
        self.outcomes.append(outcome)
        with contextlib.suppress(OSError):  # the terminal may be gone
            print(outcome.line(), flush=True)
        return outcome

    def all(self, checks: list[Check], modes: list[str], wanted: list[str], keep: bool = False) -> None:
        """Those of the modes whose id fits a pattern. Between modes no container is left, nor at the end unless they are kept."""
        last = ""
        for check in checks:
            if check.mode and check.mode not in modes:
                continue
            if wanted and not any(fnmatch.fnmatchcase(check.id, pattern) for pattern in wanted):
                continue
            if check.mode != last and last:
                self.settle(last)
            last = check.mode or last
            self.one(check)
        if last and not keep:
            self.settle(last)

    def settle(self, mode: str) -> None:
        try:
            self.end_pair(mode)
        except Failed as why:
            self.tools.note(f"a container does not end: {why}")  # Z1 says so, too


class PortWatch:
    """When RDMA ports of this host become ACTIVE while a container starts. Ports have events only for who opens the device."""

    def __init__(self) -> None:
        self._begin = 0.0
        self._seen: dict[str, tuple[bool, float | None]] = {}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        while not self._end.wait(0.02):
            for device, active in self._now():
                was, since = self._seen.get(device, (False, None))
                if active != was:
                    since = time.monotonic() if active else None
                self._seen[device] = (active, since)

    @staticmethod
    def _now() -> list[tuple[str, bool]]:
        folder = SYS / "class/infiniband"
        return [(device, text_of(folder / device / "ports/1/state").startswith("4:")) for device in names_in(folder)]

    def __enter__(self) -> "PortWatch":
        self._seen = {device: (active, None) for device, active in self._now()}
        self._begin = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(5)

    def active_ms(self, device: str) -> int | None:
        """From the start on; None if the port was ACTIVE before, or was not seen to become so."""
        since = self._seen.get(device, (False, None))[1]
        return None if since is None else max(0, round((since - self._begin) * 1000))
