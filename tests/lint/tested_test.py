#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of docs/tested: what it reads of guests' output, and what it writes."""
import importlib.machinery
import importlib.util
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
spec = importlib.util.spec_from_loader("tested", importlib.machinery.SourceFileLoader("tested", str(ROOT / "docs/tested")))
tested = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tested)

PLAIN = """ok 1 - dockerd
# | engine | softroce |
# tested on Linux 7.2, glibc 2.43
# | engine | softroce | shared |
# |---|---|---|
# | Docker 28 | pass | not here (no HCA: --hca) |
# | runc | FAIL (2) | with --full |
scenario matrix.sh: 3 checks, 2 failed
# | late | pass |
"""
HCA = """# tested on Linux 7.2, glibc 2.43
# | engine | shared |
# |---|---|
# | Docker 28 | pass |
# tested on Linux 7.3, glibc 2.41
# | engine | softroce |
# |---|---|
# | Docker 26 | pass |
"""


class Tested(unittest.TestCase):
    def tables(self, *logs):
        tables = {}
        for log in logs:
            tested.read(log.splitlines(), tables)
        return tables

    def test_guests_of_one_host_share_a_table(self):
        for logs in ((PLAIN, HCA), (HCA, PLAIN)):
            first = self.tables(*logs)["Linux 7.2, glibc 2.43"]
            self.assertEqual(first, {"Docker 28": {"softroce": "pass", "shared": "pass"}, "runc": {"softroce": "FAIL (2)", "shared": "with --full"}})

    def test_a_failure_stays(self):
        again = PLAIN.replace("FAIL (2)", "pass")
        for logs in ((PLAIN, again), (again, PLAIN)):
            self.assertEqual(self.tables(*logs)["Linux 7.2, glibc 2.43"]["runc"]["softroce"], "FAIL (2)")

    def test_a_page_is_read_back(self):
        tables = self.tables(PLAIN, HCA)
        page = tested.HEAD + "\n".join(tested.written(tables))
        self.assertEqual(list(tested.written(tested.of_page(page))), list(tested.written(tables)))

    def test_cells_are_laid_over_a_page(self):
        page = tested.HEAD + "\n".join(tested.written(self.tables(PLAIN)))
        added = self.tables(PLAIN.replace("FAIL (2)", "pass"), HCA.replace("shared", "host"))
        self.assertEqual(tested.laid_over(tested.of_page(page), added), {
            "Linux 7.2, glibc 2.43": {"Docker 28": {"softroce": "pass", "host": "pass"}, "runc": {"softroce": "pass"}},
            "Linux 7.3, glibc 2.41": {"Docker 26": {"softroce": "pass"}}})

    def test_page(self):
        self.assertEqual(list(tested.written(self.tables(PLAIN, HCA))), [
            "Linux 7.2, glibc 2.43:\n", "| engine | `softroce` | `shared` |", "|---|---|---|", "| Docker 28 | pass | pass |", "| runc | FAIL (2) |  |", "",
            "Linux 7.3, glibc 2.41:\n", "| engine | `softroce` |", "|---|---|", "| Docker 26 | pass |", ""])


if __name__ == "__main__":
    unittest.main()
