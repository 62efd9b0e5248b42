# SPDX-License-Identifier: Apache-2.0
"""The way back. Each change of the host is written to a journal, as the program call that undoes it, before it is made; undoing runs
these calls, the last first. A run that was killed is undone by the next one. All of them may run twice, and after a change that was
never made."""
from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from .tools import Done, call

FOLDER = Path("/run/rdma-hook-acceptance")  # ends with the boot, as most of what it names does
LIMIT = 180.0  # seconds, for one call: an adapter with many VFs takes its time


class Busy(Exception):
    """Another run has the journal."""


class Undo:
    def __init__(self, folder: Path = FOLDER, run: Callable[[Sequence[str], float], Done] = call) -> None:
        self._path = folder / "undo.json"
        self._run = run
        self._mutex = threading.RLock()  # containers are started in threads
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock: IO[str] = (folder / "lock").open("w", encoding="utf-8")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._lock.close()
            raise Busy("another run of accept is at work on this host") from error
        self._steps: list[dict[str, Any]] = self._load()

    def _load(self) -> list[dict[str, Any]]:
        try:
            return list(json.loads(self._path.read_text(encoding="utf-8"))["steps"])
        except FileNotFoundError:
            return []

    def _save(self) -> None:
        if not self._steps:
            self._path.unlink(missing_ok=True)
            return
        new = self._path.with_suffix(".new")
        with new.open("w", encoding="utf-8") as stream:
            json.dump({"steps": self._steps}, stream)
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(self._path)

    def steps(self) -> list[str]:
        return [str(step["what"]) for step in self._steps]

    def plan(self, what: str, words: Sequence[str], gone: str = "") -> None:
        """Writes down, before a change, the call that undoes it. `gone` is a regular expression of its words if there is nothing to undo."""
        with self._mutex:
            self._steps.append({"what": what, "words": list(words), "gone": gone})
            self._save()

    def _undo(self, step: dict[str, Any]) -> str:
        done = self._run(step["words"], LIMIT)
        if done.ok or (step["gone"] and re.search(step["gone"], done.err + done.out)):
            with self._mutex:
                self._steps.remove(step)
                self._save()
            return ""
        return f"{step['what']}: {done.said()}; by hand: {shlex.join(step['words'])}"

    def back(self, what: str) -> str:
        """Undoes the last step of this name. Returns the trouble, or nothing; with trouble the step is tried again at the end."""
        with self._mutex:
            found = next((step for step in reversed(self._steps) if step["what"] == what), None)
        return self._undo(found) if found else ""

    def all_back(self) -> list[str]:
        """Undoes everything, and returns all trouble. A step that fails stops nothing, and stays in the journal."""
        return [trouble for trouble in map(self._undo, reversed(list(self._steps))) if trouble]

    def close(self) -> None:
        self._lock.close()
