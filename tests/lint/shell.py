#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shellcheck over every shell script. Skips (77) without shellcheck.

usage: shell.py ROOT [PASSED]

A script is checked beside outlines of the libraries that it sources. An outline has the names that a library and its own
libraries set and use, and says which are arrays: what shellcheck says of a script by its libraries is about these. Libraries as
they are would be checked again with each script, and one that several of them source as often as they do.

Shellcheck takes a second for fifteen kilobytes. PASSED, a file in the build folder, remembers digests of scripts without a finding: of
the script, of the outlines that it was checked beside, of shellcheck's version and its options. What it has is not checked again.
"""
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# SC2187: busybox sh is checked as dash, which is what is wanted.
COMMAND = ("shellcheck", "--norc", "-x", "-S", "warning", "-e", "SC2187", "-f", "gcc")
FOLDERS = (".ci", "docs", "examples", "packaging", "tests")
SHEBANG = re.compile(rb"#!.*\b(ba)?sh\b")
# A library's path stands in the command, or, behind a variable, in a directive above it.
SOURCE = re.compile(r"""
    ^\s*(?:\#\s*shellcheck\s+source=(?P<named>\S+)
    | (?:source|\.)\s+"\$\{BASH_SOURCE\[0\]%/\*\}/(?P<beside>[^"]+)")""", re.MULTILINE | re.VERBOSE)
NAME = r"[A-Za-z_]\w*"
NAMES = re.compile(rf"""
    (?P<comment>^\s*\#.*$)
    | (?<![\w$."'/-])(?P<set>{NAME})(?P<index>\[[^]=]*\])?\+?=(?P<array>\()?
    | \b(?:local|declare|typeset|readonly|export)\s+(?P<flags>(?:-\w+\s+)*)(?P<declared>{NAME}(?:\s+{NAME})*)(?=\s*(?:$|[;&|)]))
    | \bmapfile\s+(?:-\S+\s+(?:\d+\s+)?)*(?P<lines>{NAME})
    | \bread\s+(?P<options>(?:-\w+\s+(?:\d\S*\s+)?)*)(?P<fields>{NAME}(?:\s+{NAME})*)
    | \bfor\s+(?P<each>{NAME})\s+in\b | \bprintf\s+-v\s+(?P<printed>{NAME})
    | \(\((?P<sum>[^()]*(?:\([^()]*\)[^()]*)*)\)\)
    | \$\{{?[!\#]?(?P<used>{NAME})""", re.MULTILINE | re.VERBOSE)


def scripts_of(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.is_symlink() or not path.is_file() or path.is_relative_to(root / "tests/data"):
                continue
            if path.suffix in (".sh", ".bash"):
                yield path
            elif not path.suffix:
                with path.open("rb") as file:
                    if SHEBANG.match(file.readline(200)):
                        yield path


def libraries_of(path):
    for found in SOURCE.finditer(path.read_text(encoding="utf-8")):
        library = (path.parent / (found["named"] or found["beside"])).resolve()
        if library.is_file():
            yield library


def closure_of(path, seen):
    """Its libraries and theirs, each once, and it itself as the last."""
    seen.append(path)
    for library in libraries_of(path):
        if library not in seen:
            yield from closure_of(library, seen)
    yield path


def outline(texts):
    """Sets each name as it was set last, and uses all that are used."""
    names, used = {}, set()
    for found in (found for text in texts for found in NAMES.finditer(text)):
        if found["set"]:
            names[found["set"]] = bool(found["array"] or found["index"])
        for name in (found["declared"] or "").split():
            names[name] = "a" in found["flags"].lower()
        for name in (found["fields"] or "").split():
            names[name] = "a" in found["options"]
        if found["lines"]:
            names[found["lines"]] = True
        if found["each"] or found["printed"]:
            names[found["each"] or found["printed"]] = False
        used.update(re.findall(NAME, found["sum"] or found["used"] or ""))
    sets = " ".join(f"{name}={'()' if array else ''}" for name, array in names.items())
    return f"#!/bin/bash\n{sets}\n: {' '.join(f'${name}' for name in sorted(used))}\n"


def digest_of(script, outlines, version):
    """Of all that shellcheck's answer depends on."""
    parts = [version, *COMMAND, script.name, script.read_text(encoding="utf-8")]
    parts += [f"{library.name}\0{outlines[library]}" for library in libraries_of(script)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def check_folder(root, scripts, outlines):
    """All of one folder. Returns findings, and the scripts without one."""
    done = subprocess.run([*COMMAND, "-P", outlines, *(script.relative_to(root) for script in scripts)],
                          cwd=root, capture_output=True, text=True, check=False)
    findings = (done.stdout + done.stderr).splitlines()
    blamed = {line.split(":")[0] for line in findings}
    knows = done.returncode in (0, 1) and not done.stderr
    return findings, [script for script in scripts if knows and str(script.relative_to(root)) not in blamed]


def check(root, passed=None):
    """Yields findings. `passed`, a set of digests, becomes that of the scripts without one."""
    root, passed = root.resolve(), set() if passed is None else passed
    scripts = list(scripts_of(root))
    libraries = {library for script in scripts for library in libraries_of(script)}
    outlines = {library: outline(one.read_text(encoding="utf-8") for one in closure_of(library, [])) for library in libraries}
    version = subprocess.run(["shellcheck", "--version"], capture_output=True, text=True, check=True).stdout
    digests = {script: digest_of(script, outlines, version) for script in scripts}
    left = [script for script in scripts if digests[script] not in passed]
    good = set(scripts) - set(left)
    with tempfile.TemporaryDirectory() as folder:
        for library, text in outlines.items():
            path = Path(folder, library.relative_to(root))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        for place in sorted({script.parent for script in left}):
            beside = Path(folder, place.relative_to(root))
            beside.mkdir(parents=True, exist_ok=True)
            findings, clean = check_folder(root, [script for script in left if script.parent == place], beside)
            good.update(clean)
            yield from findings
    passed.clear()
    passed.update(digests[script] for script in good)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    if shutil.which("shellcheck") is None:
        print("skipped: shellcheck is not installed")
        sys.exit(77)
    memory = Path(sys.argv[2]) if len(sys.argv) == 3 else None
    passed = set(memory.read_text(encoding="ascii").split()) if memory and memory.exists() else set()
    problems = list(check(Path(sys.argv[1]), passed))
    if memory:
        memory.write_text("\n".join(sorted(passed)) + "\n", encoding="ascii")
    print("\n".join(problems) or "shell: no finding")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
