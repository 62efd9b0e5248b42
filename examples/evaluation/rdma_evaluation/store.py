# SPDX-License-Identifier: Apache-2.0
"""What was measured: a folder with evaluation.json and one file for each run in raw/. A file is there whole or not at all,
and one that is there is not measured again."""
from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any

from .plan import Plan, Refused

SCHEMA = "rdma-evaluation/1"
RUN_SCHEMA = "rdma-evaluation-run/1"


def write_atomically(path: Path, document: dict[str, Any]) -> None:
    part = path.with_name(f".{path.name}.part")
    with part.open("w", encoding="utf-8") as stream:
        json.dump(document, stream, separators=(",", ":"))
        stream.write("\n")
        stream.flush()
        os.fsync(stream.fileno())
    part.rename(path)


class Store:
    def __init__(self, folder: Path, plan: Plan) -> None:
        self.folder = folder
        self._plan = plan
        self._raw = folder / "raw"
        self._lock = -1

    def __enter__(self) -> "Store":
        """For this plan, and for one who measures at a time."""
        self._raw.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._claim()
        except Refused:
            os.close(self._lock)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._lock)

    def _claim(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Refused(f"{self.folder}: another evaluation writes there: wait for its end, or give another --out") from error
        about = self.folder / "evaluation.json"
        if about.exists() and self._read(about).get("plan_sha256") != self._plan.digest:
            raise Refused(f"{self.folder}: has the runs of another plan or profile: give another --out")
        write_atomically(about, {"schema": SCHEMA, "title": self._plan.title, "emulation": self._plan.emulation, "plan": self._plan.name,
                                 "profile": self._plan.profile.name, "plan_sha256": self._plan.digest})

    def has(self, name: str) -> bool:
        path = self._raw / name
        if not path.exists():
            return False
        document = self._read(path)
        if document.get("schema") != RUN_SCHEMA or document.get("plan", {}).get("sha256") != self._plan.digest:
            raise Refused(f"{path}: is no run of this plan: remove it, or give another --out")
        return True

    def seconds(self, name: str) -> float:
        return float(self._read(self._raw / name)["seconds"])

    def keep(self, name: str, document: dict[str, Any]) -> None:
        write_atomically(self._raw / name, document)

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise Refused(f"{path}: cannot be read: {error}; remove it, and it is measured again") from error
        if not isinstance(document, dict):
            raise Refused(f"{path}: is no object; remove it, and it is measured again")
        return document
