# SPDX-License-Identifier: Apache-2.0
"""What the files mean: of each run who was measured, how, and every result. Three kinds of files are known: those of
`rdma-perf run --json`, of `rdma-perf thesis --json` as older programs wrote them, and either of them in the envelope of an evaluation."""
from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from .strict import BadDocument, Node, load

RUN = "rdma-perf/1"
THESIS = "rdma-perf-thesis/1"  # of older programs: several suites in one document
ENVELOPE = "rdma-evaluation-run/1"
EVALUATION = "rdma-evaluation/1"
SUITES = ("basic", "cpu", "multi_dev", "multi_qp", "transfers", "software", "run")
VERBS = ("write", "read", "send", "write_imm", "send_imm", "fetch_add", "cmp_swap")
TRANSPORTS = ("rc", "uc", "ud", "srd", "tcp")
MODES = {"bw": "bandwidth", "lat": "latency"}
MAX_FILES = 5000


@dataclass(frozen=True, order=True)
class Point:
    """What was measured; a system has each of them once for each repetition."""

    suite: str
    verb: str
    mode: str
    size: int
    clients: int
    qps: int
    transport: str
    connect: str

    def label(self) -> str:
        parts = [self.verb, human_size(self.size)]
        if self.transport != "rc":
            parts.append(self.transport.upper())
        if self.connect == "cm":
            parts.append("rdma_cm")
        if self.clients > 1:
            parts.append(f"{self.clients} clients")
        if self.qps > 1:
            parts.append(f"{self.qps} QPs")
        return ", ".join(parts)


@dataclass(frozen=True)
class Result:
    point: Point
    repetition: int
    mtu: int  # path MTU; 0: none, as with TCP and iWARP
    metrics: dict[str, float]
    flags: tuple[str, ...]
    data_ok: bool | None
    settings: tuple[tuple[str, str], ...]  # of the point, all that rdma-perf says


@dataclass(frozen=True)
class System:
    name: str
    kind: str = ""
    mode: str = ""
    baseline: str = ""


@dataclass
class Run:
    """One file."""

    source: str
    system: System
    suite: str
    started: str
    tool: str
    results: list[Result]
    errors: tuple[str, ...]
    command: tuple[str, ...] = ()
    plan: tuple[tuple[str, str], ...] = ()
    # Of each side what is known, in the order in which it was said.
    environment: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Evaluation:
    """A folder with the runs of a plan."""

    title: str
    emulation: str  # why its numbers are none of hardware; empty: they are
    profile: str


def human_size(size: int) -> str:
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


def read_evaluation(folder: Path) -> tuple[Evaluation, list[Run]]:
    node = load(folder / "evaluation.json")
    node["schema"].word((EVALUATION,))
    about = Evaluation(node["title"].text(200), node.optional_text("emulation"), node.optional_text("profile"))
    files = sorted((folder / "raw").glob("*.json"))
    if not files:
        raise BadDocument(f"{folder}/raw: no run is there yet")
    if len(files) > MAX_FILES:
        raise BadDocument(f"{folder}/raw: more than {MAX_FILES} files")
    return about, [read_run(path) for path in files]


def read_run(path: Path, name: str = "") -> Run:
    """A file of any kind; `name` is the system's, where the file has none."""
    node = load(path)
    if node["schema"].word((RUN, THESIS, ENVELOPE)) != ENVELOPE:
        return _report(node, path.name, System(name or path.stem), None, 0)
    who = node["system"]
    system = System(who["name"].text(60), who.optional_text("kind"), who.optional_text("mode"), who.optional_text("baseline"))
    run = _report(node["report"], path.name, system, node["suite"].word(SUITES), node["repetition"].count())
    run.command = node["command"].texts()
    for side in ("client", "server"):
        run.environment[side] = node["environment"][side].pairs() + run.environment.get(side, ())
    run.environment["MTU"] = node["mtu"].pairs()
    return run


def _report(node: Node, source: str, system: System, suite: str | None, repetition: int) -> Run:
    """What rdma-perf itself wrote."""
    results: list[Result] = []
    if node["schema"].word((RUN, THESIS)) == RUN:
        for each in node["results"].items():
            results.append(_result(each, suite or "run", repetition))
    else:
        for table in node["suites"].items(len(SUITES)):
            of = table["name"].word(SUITES)
            for each in table["results"].items():
                results.append(_result(each, of, repetition))
    plan = node.get("plan")
    env = node.get("env")
    device = env["client"].get("device") if env else None
    if device and device.get("iwarp"):  # names an MTU that no packet has
        results = [replace(each, mtu=0) for each in results]
    return Run(source, system, suite or "", node["started"].text(40), f"rdma-perf {node['tool']['version'].text(60)}", results,
               tuple(each["text"].text() for each in node["errors"].items(100)), plan=plan.pairs() if plan else (),
               environment=_sides(env) if env else {})


def _sides(env: Node) -> dict[str, tuple[tuple[str, str], ...]]:
    sides = {}
    for side in ("client", "server"):
        facts = [(name, env[side][name].text(200)) for name in ("host", "kernel", "version")]
        device = env[side].get("device")
        sides[side] = tuple(facts) + (device.pairs() if device else ())
    return sides


def _result(node: Node, suite: str, repetition: int) -> Result:
    at = node["point"]
    point = Point(suite, at["verb"].word(VERBS), at["mode"].word(tuple(MODES)), at["size_bytes"].count(), at.optional_count("clients", 1),
                  at["qps"].count(), at["transport"].word(TRANSPORTS), at["connect"].word(("exchange", "cm")))
    ok = node["verify"].get("data_ok")
    return Result(point, repetition or node["rep"].count(), at["mtu_bytes"].count(), _metrics(node), node["flags"].texts(20),
                  None if ok is None else ok.value is True, at.pairs())


def _metrics(node: Node) -> dict[str, float]:
    metrics: dict[str, float | None] = {}
    if bandwidth := node.get("bandwidth"):
        metrics["bandwidth_bytes_per_s"] = bandwidth["bandwidth_bytes_per_s"].number()
    if latency := node.get("latency"):
        metrics["p50_ns"] = latency["p50_ns"].number()
        metrics["p99_ns"] = latency["p99_ns"].number()
    metrics["percent_of_payload_limit"] = node.optional_number("percent_of_payload_limit")
    cpu = node["cpu"]
    busy = 0.0
    for side in ("client", "server"):
        use = cpu.get(side)
        window = use["window_s"].number() if use else 0
        if not use or window <= 0:
            metrics[f"{side}_cores"] = None
            continue
        metrics[f"{side}_cores"] = use["machine_busy_s"].number() / window
        busy += use["machine_busy_s"].number()
    moved = cpu["payload_bytes"].number()
    if moved and None not in (metrics["client_cores"], metrics["server_cores"]):
        metrics["core_s_per_gb"] = busy / (moved / 1e9)
    return {name: value for name, value in metrics.items() if value is not None}
