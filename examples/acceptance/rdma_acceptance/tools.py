# SPDX-License-Identifier: Apache-2.0
"""Programs that the kit calls: lists of words without a shell, each with a deadline, all of them kept as evidence."""
from __future__ import annotations

import errno
import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

OUTPUT = 4 << 20  # bytes of a stream that are read
SHOWN = 64 << 10  # of them in the evidence
GRACE = 5.0  # seconds for a program that was told to end


class Failed(Exception):
    """A check that found something wrong: the reason, in one line."""


class Skipped(Exception):
    """A check that does not apply here: the reason, in one line."""


class Late(Failed):
    """The deadline has passed."""


@dataclass(frozen=True)
class Done:
    """A program that ended. `status` is None if it was killed at its deadline, 127 if there is none of this name."""

    words: tuple[str, ...]
    status: int | None
    out: str
    err: str
    ms: int

    @property
    def ok(self) -> bool:
        return self.status == 0

    def said(self) -> str:
        """Its last line, for a reason."""
        lines = [line.strip() for line in (self.err.strip() or self.out.strip()).splitlines() if line.strip()]
        if self.status is None:
            return f"{shlex.join(self.words[:3])}: no end after {self.ms} ms" + (f"; it said: {lines[-1][:300]}" if lines else "")
        return lines[-1][:500] if lines else f"{shlex.join(self.words[:3])}: status {self.status}"

    def json(self) -> Any:
        try:
            return json.loads(self.out)
        except ValueError as error:
            raise Failed(f"{shlex.join(self.words[:4])} printed no JSON: {error}") from error


class Tools:
    """Runs programs until the deadline of the check that `begin` named."""

    def __init__(self) -> None:
        self._deadline: float | None = None
        self._log: list[str] = []

    def begin(self, limit: float | None) -> None:
        """A check begins: its time, and evidence of its own."""
        self._deadline = None if limit is None else time.monotonic() + limit
        self._log = []

    def evidence(self) -> str:
        return "\n".join(self._log)

    def note(self, text: str) -> None:
        self._log.append(text)

    def left(self, limit: float) -> float:
        """Of so many seconds those that the check has; Late if it has none."""
        if self._deadline is None:
            return limit
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise Late("the check's time is up")
        return min(limit, left)

    def run(self, words: Sequence[str], limit: float = 60, text: str = "") -> Done:
        """Never raises for how the program ends."""
        limit = self.left(limit)
        done = call(words, limit, text)
        status = "killed at its deadline" if done.status is None else f"status {done.status}"
        parts = [f"$ {shlex.join(done.words)}    # {status}, {done.ms} ms"]
        parts += [stream[:SHOWN].rstrip("\n") for stream in (done.out, done.err) if stream.strip()]
        self._log.append("\n".join(parts))
        return done

    def look(self, words: Sequence[str], limit: float = 60) -> Done:
        """As run, without evidence: for questions that are asked again and again."""
        return call(words, self.left(limit))

    def need(self, words: Sequence[str], limit: float = 60, text: str = "") -> Done:
        """Failed, with its last line, unless it ends with status 0."""
        done = self.run(words, limit, text)
        if not done.ok:
            raise Failed(done.said())
        return done

    def wait_for(self, limit: float, is_so: Callable[[], bool]) -> bool:
        """Asks until it is so: for answers of other programs, which have no event to wait for."""
        end = time.monotonic() + self.left(limit)
        while not is_so():
            if time.monotonic() >= end:
                return False
            time.sleep(0.05)
        return True


def spawn(words: Sequence[str], **streams: Any) -> subprocess.Popen[bytes]:
    """Starts a program in a session of its own: a Ctrl-C at the terminal reaches the kit alone, which ends its programs. The kernel ends
    them if the kit is killed. OSError: there is no such program."""
    program = shutil.which(words[0])
    if not program:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), words[0])
    with_us = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
    return subprocess.Popen([*with_us, program, *words[1:]], start_new_session=True, env={**os.environ, "LC_ALL": "C"}, **streams)


def call(words: Sequence[str], limit: float, text: str = "") -> Done:
    """Waits for the program alone: an engine's monitor, which goes on in the background, keeps the files of the output open."""
    begin = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as given:
        given.write(text.encode())
        given.seek(0)
        try:
            process = spawn(words, stdin=given, stdout=out, stderr=err)
        except OSError as error:
            return Done(tuple(words), 127, "", f"{words[0]}: {error.strerror}", 0)
        status: int | None = None
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            end(process)
        except BaseException:  # an interrupt as well
            end(process)
            raise
        streams = []
        for each in (out, err):
            each.seek(0)
            streams.append(each.read(OUTPUT).decode(errors="replace"))
        return Done(tuple(words), status, streams[0], streams[1], round((time.monotonic() - begin) * 1000))


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends the program and all of its session."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass
        try:
            process.wait(GRACE)
            return
        except subprocess.TimeoutExpired:
            continue
