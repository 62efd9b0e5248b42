# SPDX-License-Identifier: Apache-2.0
"""report.md and report.json, and the archive that has them."""
from __future__ import annotations

import io
import json
import os
import shlex
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

from .anonymous import Anonymous
from .modes import rate_text
from .run import Outcome, Run

SCHEMA = "rdma-acceptance/1"
# Of platform.virtual, above the numbers.
MACHINES = {"emulated": "**This machine is emulated** (QEMU without KVM): its throughput, latencies and times are not those of a real machine.",
            "virtual": "This machine is virtual: its throughput, latencies and times depend on what else its host does."}


def document(run: Run, host: str, started: str, state: str) -> dict[str, Any]:
    """Schema rdma-acceptance/1. `state`: complete, interrupted or stopped."""
    return {"schema": SCHEMA, "host": host, "started": started, "state": state, "command": shlex.join(["accept", *sys.argv[1:]]),
            "anonymous": run.anonymous, "platform": run.facts.platform,
            "adapter": {"netdev": run.pf.netdev, "address": run.pf.address, "driver": run.pf.driver}, "numbers": run.facts.numbers,
            "checks": [{"id": each.id, "text": each.text, "status": each.status, "ms": each.ms, "reason": each.reason, "evidence": each.evidence}
                       for each in run.outcomes]}


def platform_line(report: dict[str, Any]) -> str:
    of = report["platform"]
    parts = [of.get("adapter") or f"{report['adapter']['driver'] or 'no adapter'} ({report['adapter']['netdev'] or report['adapter']['address']})",
             f"firmware {of['firmware']}" if of.get("firmware") else "", of.get("link", ""),
             f"VFs {of['vfs']}" if of.get("vfs") else "",
             of.get("ofed") or ("modules: " + ", ".join(of["modules_not_of_the_kernel"]) if of.get("modules_not_of_the_kernel") else "the kernel's own modules"),
             of.get("kernel", ""), of.get("system", ""), f"RDMA namespace mode {of.get('rdma_mode', 'unknown')}", of.get("rdma_hook", ""), of.get("engine", "")]
    return " · ".join(part for part in parts if part)


def tally(report: dict[str, Any]) -> str:
    count = {status: sum(each["status"] == status for each in report["checks"]) for status in ("ok", "FAIL", "skip")}
    return f"{len(report['checks'])} checks: {count['ok']} ok, {count['FAIL']} failed, {count['skip']} skipped"


def numbers_table(report: dict[str, Any]) -> list[str]:
    lines = ["| mode | container start | more with a rebind | port ACTIVE after | between two containers | to the peer |", "|---|---|---|---|---|---|"]
    for mode, of in report["numbers"].items():
        cells = [f"{of[key]} ms" if of.get(key) is not None else "-" for key in ("start_ms", "rebind_ms", "active_ms")]
        for far in ("", "peer_"):
            bandwidth, latency = of.get(f"{far}bandwidth_bytes_per_s"), of.get(f"{far}latency_ns")
            cells.append(f"{rate_text(bandwidth)}, {latency / 1000:.1f} us" if bandwidth else "-")
        lines.append(f"| {mode}" + (f", by {of['provider']}" if of.get("provider") else "") + " | " + " | ".join(cells) + " |")
    if len(lines) == 2:
        return ["Nothing was measured."]
    machine = MACHINES.get(report["platform"].get("virtual", ""))
    return [*([machine, ""] if machine else []), *lines, "", "Container start: the engine's whole `run`, with the attach in it. Data: the best bandwidth and the least median latency of write, read and "
            "send over one queue pair, of 64 B, 4 KiB and 64 KiB if the command says nothing else; the bytes are checked."]


def page(report: dict[str, Any]) -> str:
    """One page of Markdown: failures first."""
    failed = [each for each in report["checks"] if each["status"] == "FAIL"]
    lines = [f"# rdma-hook acceptance: {report['host']}, {report['started'][:10]}", "", platform_line(report), "", f"`{report['command']}`", "",
             f"**{tally(report)}.**" + ("" if report["state"] == "complete" else f" The run was {report['state']}: it is not whole."), ""]
    if failed:
        lines += ["## Failures", ""]
        lines += [f"- **{each['id']}** {cell(each['text'])}: {cell(each['reason'])}" + (f" ([evidence]({each['evidence']}))" if each["evidence"] else "")
                  for each in failed] + [""]
    lines += ["## Numbers", "", *numbers_table(report), "", "## Checks", "", "| | id | check | seen | ms |", "|---|---|---|---|---|"]
    lines += [f"| {each['status']} | {each['id']} | {cell(each['text'])} | {cell(each['reason'])} | {each['ms']} |" for each in report["checks"]]
    return "\n".join(lines) + "\n"


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")[:400]


def outcome_of(identifier: str, text: str, trouble: list[str], begin: float, good: str) -> Outcome:
    ms = round((time.monotonic() - begin) * 1000)
    return Outcome(identifier, text, "FAIL" if trouble else "ok", ms, "; ".join(trouble) or good)


# ---- the archive ----------------------------------------------------------------------------------------------
def compression() -> str:
    try:
        import lzma  # noqa: F401
    except ImportError:  # a Python without it
        return "gz"
    return "xz"


def pack(folder: Path, run: Run, report: dict[str, Any], host: str, anonymous: Anonymous | None) -> Path:
    """One archive with one folder in it; readable by its owner alone."""
    texts = {f"raw/{name}": text for name, text in run.evidence.items()}
    if anonymous:
        for text in (*texts.values(), json.dumps(report)):
            anonymous.learn(text)
        texts = {name: anonymous.text(text) for name, text in texts.items()}
        report = anonymous.everything(report)
        host = str(report["host"])
    texts |= {"report.json": json.dumps(report, indent=1) + "\n", "report.md": page(report)}
    name = f"rdma-hook-acceptance-{host}-{time.strftime('%Y%m%d-%H%M%S')}"
    path = folder / f"{name}.tar.{compression()}"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream, tarfile.open(fileobj=stream, mode=f"w:{compression()}", format=tarfile.PAX_FORMAT) as archive:
        for each, text in sorted(texts.items()):
            data = text.encode(errors="replace")
            member = tarfile.TarInfo(f"{name}/{each}")
            member.size, member.mode, member.mtime = len(data), 0o644, int(time.time())
            archive.addfile(member, io.BytesIO(data))
    return path
