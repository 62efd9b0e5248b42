# SPDX-License-Identifier: Apache-2.0
"""Both ends of a run: a server and its client, started, waited for, and ended."""
import os
import shlex
import signal
import subprocess
import time

import perftest

AGAIN = 0.1  # seconds: after which a client tries again whether its server listens


class Failed(Exception):
    """A run that ended without a result."""


class Side:
    """One end: starts programs, and ends them."""

    def __init__(self, prefix):
        self.prefix = shlex.split(prefix)

    def start(self, words):
        # A group of its own: what a prefix starts for us ends with it.
        return subprocess.Popen([*self.prefix, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, errors="replace", start_new_session=True, env=os.environ | {"LC_ALL": "C"})

    def run(self, words, limit):
        process = self.start(words)
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            end(process)
            raise Failed(f"{words[0]} did not end within {limit:.0f} s") from None
        except BaseException:
            end(process)
            raise
        return process.returncode, out, err


def end(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    with process:  # closes its pipes
        process.wait()


def has_ended(process, limit):
    try:
        process.wait(limit)
    except subprocess.TimeoutExpired:
        return False
    return True


def outcome_of(server):
    out, err = server.communicate()
    return f"status {server.returncode} there: {perftest.last_line(err, out)}"


def answer(there, serve, here, ask, limit, grace):
    """What the client printed. The server serves one, and ends within `grace` seconds of it."""
    server = there.start(serve)
    try:
        due = time.monotonic() + limit
        while True:
            status, out, err = here.run(ask, limit)
            if status == 0:
                break
            # A client that came before its server listens left no trace there. One that failed later ends the server.
            said = f"status {status} here: {perftest.last_line(err, out)}"
            if has_ended(server, AGAIN):
                raise Failed(f"{said}; {outcome_of(server)}")
            if time.monotonic() > due:
                raise Failed(said)
        if not has_ended(server, grace):
            raise Failed("its server did not end with its client")
        if server.returncode != 0:
            raise Failed(outcome_of(server))
        return out
    finally:
        end(server)
