#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds each place that names the project's addresses, or its version, to the file that has them.

usage: project.py ROOT [--fix | --filled]

Addresses are in packaging/project.json, where a maintainer puts real ones in place of the placeholders; the version is in
CMakeLists.txt. The last version that can be downloaded is that of CHANGELOG.md's newest section with a date; there is none while
addresses are placeholders. --fix writes all of these to the places of PLACES. Placeholders that are left are named; with --filled, which a release asks
for, they are failures. A placeholder in any other document is always one.
"""
import json
import re
import sys
from pathlib import Path

import jobs

SOURCE = "packaging/project.json"
KEYS = ("repository", "maintainer", "owner")
PLACEHOLDER = re.compile(r"\.invalid\b|\bREPOSITORY\b|@OWNER\b")
# Whether there is a release; {} is the place's link to how packages are built.
UNRELEASED = "no release is published yet, so [build the packages]({})."
# The file, what stands before the value, the value, and a form of it if the place has another.
PLACES = [
    ("README.md", r"^\*\*Status\*\*: ", "status", "docs/install.md#packages"),
    ("docs/install.md", r"^\*\*Status\*\*: ", "status", "#packages"),
    ("README.md", r"^    git clone ", "repository", "{}"),
    ("docs/install.md", r"^    git clone ", "repository", "{}"),
    ("docs/install.md", r"^    repository=", "repository", "{}"),
    ("docs/install.md", r"^    version=", "download", "{}"),
    ("ansible/galaxy.yml", r"^repository: ", "repository", "{}"),
    ("ansible/galaxy.yml", r"^version: ", "version", "{}"),
    ("CITATION.cff", r"^repository-code: ", "repository", '"{}"'),
    ("CITATION.cff", r"^version: ", "version", "{}"),
    ("MAINTAINERS.md", r"^Mail: ", "maintainer", "`{}`"),
    ("MAINTAINERS.md", r"^\| ", "owner", "{}"),
    (".github/CODEOWNERS", r"^\* +", "owner", "{}"),
    (".github/ISSUE_TEMPLATE/config.yml", r"^ +url: ", "repository", "{}/security/advisories/new"),
]
# A value ends where a blank follows that is none of its own.
ENDS = {"repository": r"\S+", "version": r"\S+", "download": r"\S+", "status": r".*?\.(?= |$)", "owner": r"@\S+", "maintainer": r"`[^`\n]*`"}
# They speak of placeholders, or give addresses of nobody on purpose.
SPARED = re.compile(r"^(tests/|packaging/(project\.json|release)|RELEASING\.md|CHANGELOG\.md|docs/results/)")


def version(root):
    found = re.search(r"^project\(rdma-hook VERSION (\d+\.\d+\.\d+) ", (root / "CMakeLists.txt").read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else None


def released(root):
    """The newest version with a date in the changelog, or none."""
    path = root / "CHANGELOG.md"
    found = re.search(r"^## \[(\d+\.\d+\.\d+)\] - \d", path.read_text(encoding="utf-8") if path.exists() else "", re.MULTILINE)
    return found[1] if found else None


def values(root):
    """The values by their names; a sentence instead if they cannot be read."""
    read = json.loads((root / SOURCE).read_text(encoding="utf-8"))
    if sorted(read) != sorted(KEYS) or not all(isinstance(value, str) and value.isprintable() and value for value in read.values()):
        return f"{SOURCE}: it has {', '.join(KEYS)}, each a line of text, and nothing else"
    if not re.fullmatch(r"https://[\w.-]+(/[\w.-]+)+", read["repository"]):
        return f"{SOURCE}: repository is an https address without a slash at its end"
    if not re.fullmatch(r"[^<>`]+ <[^<>\s@]+@[^<>\s@]+>", read["maintainer"]):
        return f"{SOURCE}: maintainer is a name and a <mail address>"
    if not re.fullmatch(r"@[\w./-]+", read["owner"]):
        return f"{SOURCE}: owner is an account or a team, such as @name"
    read["version"] = version(root)
    if not read["version"]:
        return "CMakeLists.txt: no version was found"
    last = None if placeholders(read) else released(root)
    read["download"] = last or read["version"]
    read["status"] = f"the newest release is [{last}]({read['repository']}/releases/tag/v{last})." if last else UNRELEASED
    return read


def placed(text, before, name, value):
    """The text with the value in its place, and how many such places there were: 0 or 1."""
    return re.subn(f"({before}){ENDS[name]}", lambda found: found[1] + value, text, count=1, flags=re.MULTILINE)


def documents(root):
    wanted = re.compile(r"(^|/)(CODEOWNERS|CMakeLists\.txt|[^/]*\.(md|yml|yaml|json|cff|cmake|in|[1578]))$")
    return sorted(name for name in jobs.files(root) if wanted.search(name))


def check(root, fix=False, filled=False):
    known = values(root)
    if isinstance(known, str):
        yield known
        return
    for name, before, what, form in PLACES:
        path = root / name
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        value = known[what].format(form) if what == "status" else form.format(known[what])
        written, count = placed(text, before, what, value)
        if not count:
            yield f"{name}: the place of {what} is gone"
        elif written != text and fix:
            path.write_text(written, encoding="utf-8")
        elif written != text:
            yield f"{name}: {what} is not {known[what]}: tests/lint/project.py . --fix"
    placed_in = {name for name, _, _, _ in PLACES}
    for name in documents(root):
        if SPARED.search(name):
            continue
        for number, line in enumerate((root / name).read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if PLACEHOLDER.search(line) and not (name in placed_in and any(known[key] in line for key in KEYS)):
                yield f"{name}:{number}: a placeholder; the value belongs into {SOURCE}, the place into tests/lint/project.py"
    if filled:
        yield from (f"{SOURCE}: {name} is a placeholder" for name in placeholders(known))


def placeholders(known):
    return [name for name in KEYS if PLACEHOLDER.search(known[name])]


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--fix"], ["--filled"]):
        sys.exit(__doc__)
    root = Path(sys.argv[1])
    problems = list(check(root, fix="--fix" in sys.argv, filled="--filled" in sys.argv))
    if problems:
        print("\n".join(problems))
        sys.exit(1)
    left = placeholders(values(root))
    print("project: addresses and version are the same everywhere" + (f"; placeholders in {SOURCE}: {', '.join(left)}" if left else ""))


if __name__ == "__main__":
    main()
