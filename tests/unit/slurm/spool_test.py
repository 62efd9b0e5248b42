#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""examples/slurm/rdma-spool, called as slurmd and slurmstepd call it, with a stand-in for rdma-runtime: no folder that another user
made is ever used. tests/lab/scenarios/slurm.sh has Slurm itself, and the attack. It needs root, as it works for two users."""
from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "examples/slurm/rdma-spool"
ROOTS, OTHER = 0, 65534


class Spool(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.folder.chmod(0o755)
        self.spool = self.folder / "slurm-oci"
        runtime = self.folder / "rdma-runtime"
        runtime.write_text('#!/bin/sh\necho "started $*"\n', encoding="utf-8")
        runtime.chmod(0o755)
        text = SCRIPT.read_text(encoding="utf-8")
        self.assertIn("\nspool=/run/slurm-oci\n", text)
        self.assertIn("\nPATH=", text)
        self.script = self.folder / "rdma-spool"
        self.script.write_text(text.replace("\nspool=/run/slurm-oci\n", f"\nspool={self.spool}\n").replace("\nPATH=", f"\nPATH={self.folder}:"),
                               encoding="utf-8")
        self.script.chmod(0o755)

    def call(self, *arguments: str, user: int = ROOTS, **variables: str) -> subprocess.CompletedProcess[str]:
        """Slurm gives its prologs no PATH."""
        return subprocess.run(["/bin/sh", str(self.script), *arguments], env=variables, user=user, group=user, extra_groups=[],
                              capture_output=True, text=True, check=False, cwd="/")

    def prolog(self, user: int) -> subprocess.CompletedProcess[str]:
        return self.call(SLURM_SCRIPT_CONTEXT="prolog_slurmd", SLURM_JOB_UID=str(user), SLURM_JOB_ID="7")

    def epilog(self, user: int) -> subprocess.CompletedProcess[str]:
        return self.call(SLURM_SCRIPT_CONTEXT="epilog_slurmd", SLURM_JOB_UID=str(user), SLURM_JOB_ID="7")

    def bundle(self, user: int) -> Path:
        """As slurmstepd makes it: 0770 of the user, config.json writable by nobody but in a folder that its group may write."""
        bundle = self.spool / str(user) / "7/0/0"
        for each in (bundle.parents[1], bundle.parent, bundle):
            each.mkdir()
            os.chown(each, user, user)
            each.chmod(0o770)
        (bundle / "config.json").write_text("{}", encoding="utf-8")
        (bundle / "config.json").chmod(0o770)
        os.chown(bundle / "config.json", user, user)
        return bundle

    def run_bundle(self, bundle: Path, user: int) -> subprocess.CompletedProcess[str]:
        return self.call("run", str(bundle), "node.root.7.0.0", user=user)

    def refused(self, done: subprocess.CompletedProcess[str], text: str) -> None:
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertNotIn("started", done.stdout)
        self.assertRegex(done.stderr, rf"\Ardma-spool: [^\n]*{text}[^\n]*\n\Z")

    def mode(self, path: Path) -> tuple[int, int]:
        about = path.lstat()
        return about.st_uid, stat.S_IMODE(about.st_mode)

    def test_each_user_has_a_folder_of_his_own(self) -> None:
        for user in (ROOTS, OTHER, ROOTS, OTHER):
            done = self.prolog(user)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(self.mode(self.spool / str(user)), (user, 0o700))
        self.assertEqual(self.mode(self.spool), (ROOTS, 0o755))

    def test_a_bundle_starts_and_only_its_user_can_write_it(self) -> None:
        for user in (ROOTS, OTHER):
            self.prolog(user)
            bundle = self.bundle(user)
            done = self.run_bundle(bundle, user)
            self.assertEqual((done.returncode, done.stdout), (0, f"started run --bundle {bundle} node.root.7.0.0\n"), done.stderr)
            self.assertEqual((self.mode(bundle)[1], self.mode(bundle / "config.json")[1]), (0o750, 0o750))

    def test_a_folder_that_another_user_made_before_is_refused(self) -> None:
        for make in (Path.mkdir, Path.touch, lambda path: path.symlink_to(self.folder)):
            self.spool.mkdir(mode=0o1777)
            mine = self.spool / str(ROOTS)
            make(mine)
            os.chown(mine, OTHER, OTHER, follow_symlinks=False)
            self.refused(self.prolog(ROOTS), f"{mine} .*rm -r {mine}")
            self.assertEqual(self.mode(self.spool), (ROOTS, 0o755))
            if mine.is_dir() and not mine.is_symlink():
                self.refused(self.run_bundle(self.bundle(ROOTS), ROOTS), f"{mine} .*rm -r {mine}")
            shutil.rmtree(self.spool)

    def test_nothing_starts_without_the_prolog(self) -> None:
        (self.spool / str(ROOTS)).mkdir(parents=True, mode=0o770)
        (self.spool / str(ROOTS)).chmod(0o770)
        self.refused(self.run_bundle(self.bundle(ROOTS), ROOTS), "Prolog=")

    def test_a_bundle_of_another_user_is_refused(self) -> None:
        self.prolog(ROOTS)
        bundle = self.bundle(ROOTS)
        os.chown(bundle, OTHER, OTHER)
        self.refused(self.run_bundle(bundle, ROOTS), f"rm -r {bundle}")
        bundle.rename(bundle.with_name("1"))
        bundle.symlink_to(self.folder)
        self.refused(self.run_bundle(bundle, ROOTS), f"rm -r {bundle}")

    def test_a_bundle_elsewhere_is_refused(self) -> None:
        self.prolog(ROOTS)
        self.prolog(OTHER)
        self.refused(self.run_bundle(self.folder, ROOTS), "ContainerPath")
        self.refused(self.run_bundle(self.bundle(OTHER), ROOTS), "ContainerPath")

    def test_the_epilog_removes_what_the_job_left_and_follows_no_link(self) -> None:
        kept = self.folder / "kept"
        (kept / "7").mkdir(parents=True)
        self.prolog(OTHER)
        (self.bundle(OTHER).parent / "1").symlink_to(kept)
        (self.spool / str(OTHER) / "8").mkdir()
        self.assertEqual(self.epilog(OTHER).returncode, 0)
        self.assertEqual([path.name for path in (self.spool / str(OTHER)).iterdir()], ["8"])
        shutil.rmtree(self.spool / str(OTHER))
        (self.spool / str(OTHER)).symlink_to(kept)
        self.assertEqual(self.epilog(OTHER).returncode, 0)
        self.assertTrue((kept / "7").is_dir())

    def test_another_call_is_refused(self) -> None:
        self.refused(self.call(), "Prolog or Epilog")
        self.refused(self.call(SLURM_SCRIPT_CONTEXT="prolog_task"), "Prolog or Epilog")


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: it needs root, for folders of two users")
        sys.exit(77)
    unittest.main()
