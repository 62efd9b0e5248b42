# SPDX-License-Identifier: Apache-2.0
"""Files as rdma-perf and an evaluation write them, for tests of the report."""
from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def point(verb: str = "write", mode: str = "bw", size: int = 4096, **more: Any) -> Json:
    return {"verb": verb, "mode": mode, "size_bytes": size, "qps": 1, "threads": 1, "clients": 1, "direction": "forward", "rate_per_s": 0,
            "depth": 128, "batch": 16, "slots": 128, "iterations": 0, "time_ms": 50, "mtu_bytes": 1024, "poll": "yield",
            "server_poll": "yield", "verify": "edges", "seed": 1, "transport": "rc", "connect": "exchange", "inline_bytes": 0} | more


def result(at: Json, value: float, rep: int = 1, flags: tuple[str, ...] = (), data_ok: bool = True, limit: float | None = None) -> Json:
    """`value` is the bandwidth in bytes per second, or the median latency in ns."""
    busy = {"window_s": 2.0, "own_user_s": 0.5, "own_system_s": 0.5, "machine_busy_s": 2.0, "softirq_s": 0.1, "kernel_work_elsewhere_s": 0.1,
            "steal_s": 0.0, "idle_busy_s": 0.0}
    bandwidth = {"messages": 1000, "warmup_messages": 10, "lost_messages": 0, "window_s": 2.0, "bandwidth_bytes_per_s": value,
                 "rate_messages_per_s": value / at["size_bytes"], "parts": []}
    latency = {"kind": "half_round_trip", "loop": "closed", "samples": 100, "min_ns": int(value / 2), "mean_ns": value, "p50_ns": int(value),
               "p90_ns": int(value), "p99_ns": int(value * 2), "p99_9_ns": None, "p99_99_ns": None, "max_ns": int(value * 3)}
    return {"rep": rep, "point": at, "verify": {"mode": "edges", "data_ok": data_ok, "messages": 1, "bytes": 1, "lost": 0},
            "bandwidth": bandwidth if at["mode"] == "bw" else None, "latency": latency if at["mode"] == "lat" else None,
            "percent_of_payload_limit": limit, "cpu": {"client": busy, "server": busy, "payload_bytes": int(value * 2)},
            "counters": {"client": {}, "server": {}}, "flags": list(flags)}


def side(host: str = "a", mtu: int = 1024) -> Json:
    device = {"device": "rxe0", "netdev": "rdma0", "port": 1, "gid_index": 1, "gid": "::ffff:10.9.0.1", "gid_type": "RoCE v2",
              "active_mtu_bytes": mtu, "lid": 0, "initiator_depth": 16, "responder_depth": 16}
    return {"host": host, "kernel": "7.3.0", "version": "0.9", "device": device}


def report(results: list[Json]) -> Json:
    """Of `rdma-perf run`."""
    return {"schema": "rdma-perf/1", "tool": {"name": "rdma-perf", "version": "0.9"}, "started": "2026-11-01T10:00:00Z",
            "plan": {"verbs": ["write"], "seed": 1}, "env": {"client": side(), "server": side("b")}, "results": results, "summary": [],
            "errors": []}


def thesis(suite: str, results: list[Json]) -> Json:
    return {"schema": "rdma-perf-thesis/1", "tool": {"name": "rdma-perf", "version": "0.9"}, "started": "2026-11-01T10:00:00Z", "reps": 1,
            "time_ms": 50, "plan": {"suites": [suite], "seed": 1}, "env": {"client": side(), "server": side("b")},
            "suites": [{"name": suite, "rows": [], "results": results}], "errors": []}


def envelope(suite: str, name: str, repetition: int, document: Json, **more: Any) -> Json:
    return {"schema": "rdma-evaluation-run/1", "plan": {"name": "sample", "sha256": "0" * 64, "profile": "quick"}, "suite": suite,
            "system": {"name": name, "kind": name, "mode": "softroce", "baseline": "host" if name != "host" else None},
            "repetition": repetition, "position": 1, "started": "2026-11-01T10:00:00Z", "seconds": 1.5,
            "command": ["rdma-perf", "thesis", "10.9.0.1"], "environment": {"client": {"cpu": "a processor"}, "server": {"cpu": "a processor"}},
            "mtu": {"rule": "refuse", "path_bytes": 1024, "netdev_bytes": 1500}, "attempts": 1, "report": document} | more


def scatter(value: float, *seeds: int) -> float:
    """About `value`, the same each time."""
    return value * (1 + 0.04 * math.sin(sum(seed * 7.3 for seed in seeds)))


def basic(name: str, repetition: int, mtu: int = 1024, verbs: tuple[str, ...] = ("read", "write", "send")) -> Json:
    """A container 10 % slower than the host."""
    factor = 0.9 if name != "host" else 1.0
    results = []
    for verb_index, verb in enumerate(verbs):
        for size in (2, 64, 4096, 65536, 1 << 20):
            results.append(result(point(verb, "bw", size, mtu_bytes=mtu),
                                  scatter(factor * 40e6 * size / (size + 3000), repetition, size, verb_index), limit=min(99.0, size / 700)))
            if size <= 65536:
                results.append(result(point(verb, "lat", size, mtu_bytes=mtu), scatter((40e3 + size * 12) / factor, repetition, size, verb_index)))
    return envelope("basic", name, repetition, thesis("basic", results))


def several(suite: str, member: str, name: str, repetition: int) -> Json:
    results = [result(point("send", "bw", 65536, **{member: count}), scatter(20e6 * count**0.4, repetition, count),
                      flags=("retransmit",) if count > 4 else ()) for count in (1, 2, 4, 8)]
    return envelope(suite, name, repetition, thesis(suite, results))


def transfers(name: str, repetition: int) -> Json:
    results = [result(point("send", "bw", 65536, clients=clients, transport=transport, mtu_bytes=0 if transport == "tcp" else 1024),
                      scatter(20e6 * clients**0.3 * (3 if transport == "tcp" else 1), repetition, clients))
               for clients in (1, 4) for transport in ("rc", "tcp")]
    return envelope("transfers", name, repetition, report(results))


def write(folder: Path, runs: list[Json], title: str = "A sample", emulation: str = "An emulated machine.") -> Path:
    """The folder of an evaluation."""
    (folder / "raw").mkdir(parents=True)
    about = {"schema": "rdma-evaluation/1", "title": title, "emulation": emulation, "profile": "quick", "plan": {}}
    (folder / "evaluation.json").write_text(json.dumps(about), encoding="utf-8")
    for index, run in enumerate(runs):
        (folder / "raw" / f"{index:04}.json").write_text(json.dumps(run), encoding="utf-8")
    return folder


def evaluation(folder: Path, repetitions: int = 6) -> Path:
    """All suites; a figure takes long, and there is one for each verb."""
    runs = []
    for repetition in range(1, repetitions + 1):
        for name in ("host", "container"):
            runs += [basic(name, repetition, verbs=("read", "write")), several("multi_dev", "clients", name, repetition),
                     several("multi_qp", "qps", name, repetition), transfers(name, repetition)]
            cpu = basic(name, repetition, verbs=("write",))
            cpu["suite"] = "cpu"
            cpu["report"]["suites"][0]["name"] = "cpu"
            cpu["report"]["suites"][0]["results"] = [each for each in cpu["report"]["suites"][0]["results"] if each["bandwidth"]]
            runs.append(cpu)
    return write(folder, runs)
