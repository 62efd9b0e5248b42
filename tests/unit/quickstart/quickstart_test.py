#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""examples/quickstart --host, with stand-ins for the programs that look at this machine or change it. The lab runs the rest of the example."""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[3]
CHANGING = ("apt-get", "dnf", "cmake", "podman")


class OnThisMachine(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.programs = Path(folder.name)
        self.calls = self.programs / "calls"
        self.put("dpkg-query", "exit 1")  # no package is installed
        for name in CHANGING:
            self.put(name, "exit 1")

    def put(self, name: str, then: str) -> None:
        path = self.programs / name
        path.write_text(f'#!/bin/sh\necho {name} >>"{self.calls}"\n{then}\n', encoding="utf-8")
        path.chmod(0o755)

    def run_on(self, kernel_has_rxe: bool, **variables: str) -> str:
        """Runs it, which ends at the first thing that it lacks; what it has printed until then."""
        self.put("modprobe", "exit 0" if kernel_has_rxe else "exit 1")
        environment = {name: value for name, value in os.environ.items() if name != "RDMA_IMAGE"}
        done = subprocess.run([ROOT / "examples/quickstart", "--host"], env=environment | variables | {"PATH": f"{self.programs}:{os.environ['PATH']}"},
                              capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 69, done.stdout + done.stderr)
        lacks = "run it as root" if os.geteuid() != 0 else "Podman 4.3.1" if kernel_has_rxe else "no rdma_rxe"
        self.assertIn(lacks, done.stderr)
        return done.stdout

    def called(self) -> set[str]:
        return set(self.calls.read_text(encoding="utf-8").split())

    def test_its_needs_come_before_all_else(self) -> None:
        shown = self.run_on(kernel_has_rxe=False)
        for need in ("kernel   Linux", "time  ", "disk  ", "memory  ", "below /usr", "localhost/rdma-hook-example", "by apt-get", "g++", "libibverbs-dev"):
            self.assertIn(need, shown)
        self.assertFalse(self.called() & set(CHANGING))

    def test_an_image_of_yours_is_not_built(self) -> None:
        self.assertNotIn("Containerfile", self.run_on(kernel_has_rxe=False, RDMA_IMAGE="registry/image"))

    def test_nothing_is_installed_beside_a_podman_that_is_too_old(self) -> None:
        self.put("podman", "echo 4.3.1")
        self.run_on(kernel_has_rxe=True)
        self.assertFalse(self.called() & {"apt-get", "dnf", "cmake"})


if __name__ == "__main__":
    unittest.main()
