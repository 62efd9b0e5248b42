#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whole runs of examples/acceptance/accept: it ends all that it starts, however it ends itself. The engine and rdma-hook are stand-ins
(stand_in.py)."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[3]
STAND_IN = Path(__file__).with_name("stand_in.py")


def has_ended(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("Z")
    except FileNotFoundError:
        return True


@unittest.skipIf(os.geteuid() != 0, "it is a program of root's")
class WholeRuns(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "bin").mkdir()
        for name in ("podman", "rdmactl", "rdma", "devlink", "ovs-vsctl", "modprobe", "modinfo", "nsenter", "ip", "dmesg", "journalctl", "udevadm"):
            (self.folder / "bin" / name).symlink_to(STAND_IN)
        self.environment = os.environ | {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "STAND_IN": str(self.folder)}
        self.program = [sys.executable, "-B", "-c", "import sys; from pathlib import Path; sys.path.insert(0, sys.argv.pop(1));"
                        "from rdma_acceptance import undo, command; undo.Undo.__init__.__defaults__ = (Path(sys.argv.pop(1)), undo.call);"
                        "sys.exit(command.main(sys.argv[1:]))", str(ROOT / "examples/acceptance"), str(self.folder / "run")]

    def accept(self, *options: str) -> subprocess.Popen[str]:
        return subprocess.Popen([*self.program, "--out", str(self.folder), *options], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True)

    def containers(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("container-*"))

    def test_a_run_ends_all_that_it_started(self) -> None:
        process = self.accept("--pf", "lo", "--modes", "softroce", "--checks", "R2,R3,R6")
        said, _ = process.communicate(timeout=120)
        self.assertIn("ok   R2", said)
        self.assertIn("ok   Z1", said)
        self.assertEqual(self.containers(), [])
        self.assertFalse((self.folder / "run/undo.json").exists())
        self.assertTrue(list(self.folder.glob("rdma-hook-acceptance-*.tar.*")))

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        end = time.monotonic() + 60
        while not is_so():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def wait_for_container(self, process: subprocess.Popen[str]) -> None:
        end = time.monotonic() + 60
        while not self.containers():
            self.assertIsNone(process.poll(), process.stdout.read() if process.poll() is not None and process.stdout else "")
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def test_interrupted_it_ends_them_too(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            (self.folder / "slow").touch()  # the container's start hangs
            process = self.accept("--pf", "lo", "--modes", "softroce", "--checks", "R2")
            self.wait_for_container(process)
            process.send_signal(number)
            said, _ = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 130, said)
            self.assertEqual(self.containers(), [])
            self.assertFalse((self.folder / "run/undo.json").exists())

    def test_killed_it_is_undone_by_the_next(self) -> None:
        (self.folder / "slow").touch()
        process = self.accept("--pf", "lo", "--modes", "softroce", "--checks", "R2")
        self.wait_for_container(process)
        process.kill()
        process.communicate(timeout=60)
        self.assertTrue(self.containers())
        for monitor in self.folder.glob("monitor-*"):
            self.wait_until(lambda: has_ended(monitor.name.partition("-")[2]))
        said, _ = self.accept("--restore").communicate(timeout=60)
        self.assertIn("an earlier run left: ", said)
        self.assertEqual(self.containers(), [])

    def test_kept_until_it_is_asked_back(self) -> None:
        said, _ = self.accept("--pf", "lo", "--modes", "softroce", "--checks", "R2", "--keep").communicate(timeout=120)
        self.assertIn("left for a look", said)
        self.assertEqual(len(self.containers()), 2)
        self.accept("--restore").communicate(timeout=60)
        self.assertEqual(self.containers(), [])

    def test_words_that_are_refused_before_anything(self) -> None:
        for options, status, reason in (((), 64, "--pf"), (("--pf", "nothing0"), 64, "nothing0"), (("--pf", "lo", "--modes", "x"), 64, "--modes x"),
                                        (("--pf", "lo", "--modes", "asap2"), 64, "needs --bridge"), (("--pf", "lo", "--address", "10.0.0.250/24"), 64, "15 more"),
                                        (("--pf", "lo", "--peer", "-o"), 2, "--peer"), (("--pf", "lo", "--image", "a b"), 64, "is none"), (("--pf", "lo", "--size", "64;id"), 64, "--size")):
            process = self.accept(*options)
            said, _ = process.communicate(timeout=60)
            self.assertEqual((process.returncode, reason in said), (status, True), said)
        self.assertFalse((self.folder / "calls").exists() and "podman run" in (self.folder / "calls").read_text())


if __name__ == "__main__":
    unittest.main()
