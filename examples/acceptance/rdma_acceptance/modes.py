# SPDX-License-Identifier: Apache-2.0
"""The annotations of each mode's containers, the data that passes between them, and checks that several modes have."""
from __future__ import annotations

import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .engine import Container, refusal, short
from .host import text_of
from .run import Run
from .tools import Done, Failed, Skipped

VERIFY = 90.0  # seconds; rdmactl's own deadline is 60
MODES = ("softroce", "shared", "vf", "asap2")


def annotations_of(run: Run, mode: str, number: int, *more: str) -> list[str]:
    """Of the first and second container of a pair: the second is on the other port, if there is one. (Two ports on one bridge would
    make a ring with their switch.)"""
    second = number % 2 == 1
    pf = run.pf2 if run.pf2 and second and mode != "asap2" else run.pf
    words = [f"mode={mode}", run.ip(number)]
    if mode in ("softroce", "shared"):
        words.append(f"parent={pf.netdev or pf.given}")
    elif run.facts.pools[0]:
        words.append(f"pool={run.facts.pools[1] if second and run.facts.pools[1] else run.facts.pools[0]}")
    else:
        words.append(f"device={pf.address}")
    if mode == "asap2":
        words.append(f"bridge={run.facts.bridge}")
    return words + list(more)


@dataclass(frozen=True)
class Traffic:
    bandwidth: float  # bytes a second, the most of all points
    latency: float  # nanoseconds, the least median
    mtu: tuple[int, int]  # the active path MTU of both ports
    growth: dict[str, int]  # counters that should stand still

    def text(self) -> str:
        parts = [rate_text(self.bandwidth), f"{self.latency / 1000:.1f} us", f"path MTU {min(self.mtu)}"]
        return ", ".join(parts + [f"{name} +{count}" for name, count in sorted(self.growth.items())])


def rate_text(bytes_per_second: float) -> str:
    bits = bytes_per_second * 8
    return f"{bits / 1e9:.1f} Gbit/s" if bits >= 1e9 else f"{bits / 1e6:.0f} Mbit/s"


def traffic_of(report: dict[str, Any]) -> Traffic:
    """Of a report of rdma-perf, schema rdma-perf/1."""
    results = report.get("results") or []
    wrong = [r for r in results if (r.get("verify") or {}).get("data_ok") is False]
    if wrong:
        raise Failed(f"wrong data arrived: {wrong[0]['point']['verb']} of {wrong[0]['point']['size_bytes']} bytes")
    errors = report.get("errors") or []
    if errors:
        raise Failed(f"{errors[0].get('text')}" + (f": {errors[0]['fix']}" if errors[0].get("fix") else ""))
    rates = [r["bandwidth"]["bandwidth_bytes_per_s"] for r in results if r.get("bandwidth")]
    medians = [r["latency"]["p50_ns"] for r in results if r.get("latency")]
    if not results or not (rates or medians):
        raise Failed("rdma-perf measured nothing")
    mtus = [int(((report["env"].get(side) or {}).get("device") or {}).get("active_mtu_bytes") or 0) for side in ("client", "server")]
    growth: dict[str, int] = {}
    for result in results:
        for side in (result.get("counters") or {}).values():
            for name, count in (side or {}).items():
                if re.search(r"(?i)retrans|rnr_nak|timeout|out_of_seq|discard", name) and count:
                    growth[name] = growth.get(name, 0) + int(count)
    return Traffic(max(rates, default=0.0), min(medians, default=0.0), (mtus[0], mtus[1]), growth)


def report_in(done: Done) -> dict[str, Any]:
    """Of `rdmactl verify --json`, or of rdma-perf's own JSON."""
    answer = done.json()
    if not isinstance(answer, dict):
        raise Failed(done.said())
    if "results" in answer:
        return answer
    report = (answer.get("client") or {}).get("out")
    if isinstance(report, dict) and (report.get("results") or report.get("errors")):
        return report
    said = "; ".join(line.strip() for side in ("client", "server") for line in ((answer.get(side) or {}).get("err") or "").splitlines()[-2:])
    raise Failed(str(answer.get("error") or said or done.said())[:500])


def verify(run: Run, a: Container, other: Container | str) -> Traffic:
    """Data from container `a` to another one, or to a host where `rdma-perf serve` runs: every byte is checked. By rdmactl, whose
    message sizes are fixed; with --size by rdma-perf in the containers."""
    if not run.facts.size:
        to = other if isinstance(other, str) else other.id
        return traffic_of(report_in(run.tools.run(["rdmactl", "verify", a.id, to, "--json"], VERIFY)))
    return inside(run, a, other, ["--size", run.facts.size, "--verb", "write,send"])


def inside(run: Run, a: Container, other: Container | str, options: list[str]) -> Traffic:
    """By rdma-perf in container `a`, with these options, and a server in the other one."""
    if not isinstance(other, str):
        spawned = run.engine.spawn(other, ["rdma-perf", "serve", "--once", "--bind", "0.0.0.0"])
        if not spawned.ok or not run.tools.wait_for(20, lambda: listens(other.pid)):  # type: ignore[union-attr]
            raise Skipped("rdma-perf does not run in the container: the image needs libibverbs, and a C library no older than this host's")
    words = ["rdma-perf", "run", other if isinstance(other, str) else other.address, *options, "--json", "-"]
    return traffic_of(report_in(run.engine.exec(a, words, VERIFY)))


def between(run: Run, mode: str) -> str:
    a, b = run.pair(mode)
    seen = verify(run, a, b)
    run.number(mode, "bandwidth_bytes_per_s", seen.bandwidth)
    run.number(mode, "latency_ns", seen.latency)
    return seen.text()


def to_peer(run: Run, mode: str) -> str:
    if not run.facts.peer:
        raise Skipped("no --peer")
    a, _ = run.pair(mode)
    seen = verify(run, a, run.facts.peer)
    run.number(mode, "peer_bandwidth_bytes_per_s", seen.bandwidth)
    run.number(mode, "peer_latency_ns", seen.latency)
    run.kept["peer traffic"] = seen
    return seen.text()


def plan(run: Run, mode: str) -> str:
    words = [word for each in annotations_of(run, mode, 0) for word in ("-a", f"rdma.{each}")]
    done = run.tools.run(["rdmactl", "plan", *words])
    if done.ok:
        return f"{len(done.out.splitlines())} lines"
    raise refusal(done.said())


def start(run: Run, mode: str) -> str:
    """Starts two containers, and tells of the first."""
    a, b = run.start_pair(mode, annotations_of(run, mode, 0), annotations_of(run, mode, 1))
    for each in (a, b):
        if mode != "asap2" and each.attached.get("port_state") not in (None, "", "ACTIVE"):
            raise Failed(f"the port of {each.device} is {each.attached['port_state']} as the container begins")
    active = run.facts.numbers[mode].get("active_ms")
    return f"{a.device} ({a.attached.get('provider')}) and {a.netdev} with {a.address}; started in {a.ms} ms, the second in {b.ms} ms" + (
        f", port ACTIVE after {active} ms" if active is not None else "")


def by_cm(run: Run, mode: str) -> str:
    """Connections by rdma_cm, both ways, by rdma-perf in the containers."""
    if run.facts.exclusive:
        raise Skipped("RDMA namespace mode exclusive: rdma_cm does not work over SoftRoCE there, and is not tried")
    a, b = run.pair(mode)
    options = ["--cm", "--verb", "send", "--mode", "bw", "--size", "4096", "--time", "200ms"]
    return ", ".join(rate_text(inside(run, *way, options).bandwidth) for way in ((a, b), (b, a)))


def listens(pid: int) -> bool:
    """Something of the process's network namespace listens on port 18600."""
    return re.search(r":48A8 0+:0000 0A ", text_of(Path(f"/proc/{pid}/net/tcp"))) is not None


def killed(run: Run, mode: str) -> str:
    """Kills the container's init behind the engine's back: all that it had is taken back."""
    a, _ = run.pair(mode)
    os.kill(a.pid, signal.SIGKILL)
    run.tools.wait_for(30, lambda: not Path(f"/proc/{a.pid}").exists())
    run.end_pair(mode)
    run.tools.need(["rdmactl", "gc"])
    return run.still(run.kept[f"before {mode}"])


def crowd(run: Run, mode: str, count: int, rounds: int, *more: str) -> str:
    """So many containers at once, some times."""
    run.end_pair(mode)
    slowest = 0
    for _ in range(rounds):
        with ThreadPoolExecutor(count) as pool:
            started = list(pool.map(lambda i: run.engine.try_start(annotations_of(run, mode, i * 2, *more)), range(count)))
        failed = [done for container, done in started if container is None]
        slowest = max([slowest, *(container.ms for container, _ in started if container)])
        run.engine.end_all()
        if failed:
            raise refusal(f"{len(failed)} of {count} do not start: {short(failed[0])}")
    return f"{count} at once, {rounds} times; the slowest in {slowest} ms"
