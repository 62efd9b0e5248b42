#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on a source file of more than 800 lines, and names those of more than 500.

usage: budget.py ROOT

A file whose first 15 lines have a comment "budget: REASON" may be longer.
"""
import re
import sys
from pathlib import Path

LIMIT = 800
MANY = 500
HEAD = 15
FOLDERS = ("hook", "runtime-config", "netns", "perf", "tests", "examples", ".ci")
REASON = re.compile(r"\bbudget: *\S+")


def is_source(path, lines):
    if path.suffix in (".cc", ".h", ".sh", ".py"):
        return True
    # Scripts have no ending; they say what they are in their first line.
    return path.suffix == "" and bool(lines) and re.match(r"#!.*\b(bash|sh|python3)\b", lines[0]) is not None


def long_files(root):
    """Path and number of lines of each source file that has many, but for those with a reason."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if not path.is_file() or "__pycache__" in path.parts:
                continue
            try:
                lines = path.read_text(encoding="utf-8").splitlines()
            except UnicodeDecodeError:
                continue
            if len(lines) > MANY and is_source(path, lines) and not REASON.search("\n".join(lines[:HEAD])):
                yield path.relative_to(root), len(lines)


def check(root):
    return [f'{path}: {lines} lines, more than {LIMIT}: split it, or give the reason in its first {HEAD} lines: "budget: ..."'
            for path, lines in long_files(root) if lines > LIMIT]


def warnings(root):
    return [f"warning: {path}: {lines} lines, more than {MANY}: is it one subject?" for path, lines in long_files(root) if lines <= LIMIT]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = Path(sys.argv[1])
    problems = check(root)
    print("\n".join(warnings(root) + (problems or [f"budget: no file is longer than {LIMIT} lines without a reason"])))
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
