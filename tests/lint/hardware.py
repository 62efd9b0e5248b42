#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on a table of supported hardware that says anything else than the tests, and on a quirk of an adapter that no fake has.

usage: hardware.py ROOT

docs/supported-hardware.md has one line for each adapter of tests/fakes/adapters.cc, by the name in its last column. A cell
begins with `test` where a case of tests/unit/hook/adapter_cases.h attaches, with `no` where all of its cases are refused,
and where there is no case with anything but `test`. A `no` has its reason behind it. Each quirk in tests/fakes/adapters.cc is
read by another file of that folder: a test on a quirk that none reads would pass with any driver.
"""
import re
import sys
from pathlib import Path

PAGE = "docs/supported-hardware.md"
ADAPTER = re.compile(r'\.nic = Nic::\w+,\s*\.name = "(\w+)"')
QUIRK = re.compile(r'^ +\{"(\w+)",', re.MULTILINE)
CASE = re.compile(r'Case\{\s*Nic::(\w+),\s*"(\w+)",\s*Mode::(\w+)(,\s*"[^"]+")?')
COLUMNS = (("host", "Shared"), ("shared", "Shared"), ("vf", "Shared"), ("vf", "Exclusive"), ("asap2", "Shared"))
WORDS = ("test", "source", "no")


def cases(text):
    """Whether one attaches, by adapter, mode and RDMA mode."""
    found = {}
    for nic, mode, rdma_mode, says in CASE.findall(text):
        found[nic, mode, rdma_mode] = found.get((nic, mode, rdma_mode), False) or not says
    return found


def rows(page):
    """The cells of each adapter, by its name."""
    found = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        name = re.fullmatch(r"`(\w+)`", cells[-1])
        if line.startswith("|") and name:
            found.setdefault(name[1], []).append(cells[1:-1])
    return found


def check_cell(cell, attaches):
    word = re.match(r"\w*", cell)[0]
    if word not in WORDS:
        return f"begins with none of {', '.join(WORDS)}"
    if word == "no" and not re.match(r"no: \w", cell):
        return "has no reason behind `no: `"
    wanted = {True: "test", False: "no"}.get(attaches)
    if wanted and word != wanted:
        return f"is not `{wanted}`, as its case in adapter_cases.h says"
    if attaches is None and word == "test":
        return "is `test`, and adapter_cases.h has no case for it"
    return None


def check(root):
    def read(name):
        return (root / name).read_text(encoding="utf-8")

    table, tested = rows(read(PAGE)), cases(read("tests/unit/hook/adapter_cases.h"))
    names = ADAPTER.findall(read("tests/fakes/adapters.cc"))
    fakes = "".join(path.read_text(encoding="utf-8") for path in (root / "tests/fakes").glob("*.cc") if path.name != "adapters.cc")
    for quirk in QUIRK.findall(read("tests/fakes/adapters.cc")):
        if f'"{quirk}"' not in fakes:
            yield f"tests/fakes/adapters.cc: no fake has the quirk {quirk}"
    for name in sorted(set(table) - set(names)):
        yield f"{PAGE}: {name} is no adapter of tests/fakes/adapters.cc"
    for name in names:
        lines = table.get(name, [])
        if len(lines) != 1 or len(lines[0]) != len(COLUMNS):
            yield f"{PAGE}: {name} has not one line with {len(COLUMNS)} cells"
            continue
        for (mode, rdma_mode), cell in zip(COLUMNS, lines[0]):
            problem = check_cell(cell, tested.get((name, mode, rdma_mode)))
            if problem:
                yield f"{PAGE}: {name}, {mode}, RDMA mode {rdma_mode.lower()}: '{cell}' {problem}"
    if f"]({PAGE})" not in read("README.md"):
        yield f"README.md: has no link to {PAGE}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    problems = list(check(Path(sys.argv[1])))
    print("\n".join(problems) or "hardware: the table says what the tests say")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
