#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on documents and examples that name what is not there.

usage: docs.py ROOT

Looks at links to files and their sections, at repository paths in `code` and in indented commands, at rdma.* annotations, which must be in
the schema, at commands of rdmactl and rdma-perf with their options, which must be in the man pages, at the messages of
docs/troubleshooting.md, which must be in the code, and at the CVEs of SECURITY.md: each must have tests by its name, CVE-2024-0132 or Cve2024_0132. The table of
what modes isolate must be the one that the scenario isolation.sh asks the kernel about. Rows of the table of kernels need a source.
"""
import functools
import json
import re
import sys
from pathlib import Path

DOCUMENTS = ("*.md", "[!b.]*/**/*.md", ".github/*.md", "examples/*", "examples/*/*")  # not what is below build/
LINK = re.compile(r"\]\(([^)#:\s]*)(?:#([^)]*))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
PATH = re.compile(r"(?<![\w/.{=-])((?:docs|examples|tests|hook|netns|perf|runtime-config|\.ci)/[\w./-]+)")
PLACEHOLDER = re.compile("NAME|KEY")
MANUALS = {"rdmactl": "docs/man/rdmactl.8", "rdma-perf": "docs/man/rdma-perf.1"}
COMMAND = re.compile(r"(?<![\w/.-])(rdmactl|rdma-perf) ([a-z][^|;&#`$()<>]*)")
CODE = re.compile(r"`([^`]+)`")
MESSAGES = "docs/troubleshooting.md"
MESSAGE = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)
SOURCES = ("hook", "netns", "runtime-config", "perf")
CVE = re.compile(r"CVE-\d{4}-\d+")
TESTS = ("tests/unit/*/*_test.cc", "tests/contract/*_test.cc", "tests/lab/scenarios/*.sh")
PROMISED = "docs/admin/isolation.md"
KERNELS = "docs/support-matrix.md"
ISOLATION = "tests/lab/scenarios/isolation.sh"
KEY = re.compile(r"(?<![\w/.-])rdma\.[a-z0-9_.]+(?==)")


def patterns(root):
    schema = json.loads((root / "runtime-config/install/schema/annotations.schema.json").read_text(encoding="utf-8"))
    return [re.compile(pattern) for pattern in schema["patternProperties"]]


@functools.cache
def manual(page):
    """The options of each command of a man page by its name, and those of all commands by ''."""
    parts = re.split(r"^\.S[sh] (.*)\n", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {"" if title.isupper() else title: set(re.findall(r"\bFl -([a-z][a-z-]*)", text))
            for title, text in [("OPTIONS", "".join(part for title, part in zip(parts[1::2], parts[2::2]) if title.isupper())),
                                *((title, part) for title, part in zip(parts[1::2], parts[2::2]) if not title.isupper())]}


def commands(root, line):
    """What is wrong with the commands of a line, which are indented or `code`."""
    texts = [line.partition(" #")[0]] if line.startswith("    ") else CODE.findall(line)
    for program, rest in (found for text in texts for found in COMMAND.findall(text)):
        page = root / MANUALS[program]
        known, words = manual(page) if page.exists() else {}, rest.split()
        verbs = [verb for verb in (" ".join(words[:2]), words[0]) if verb in known]
        if known and not verbs:
            if not any(verb.startswith(words[0] + " ") for verb in known) or (len(words) > 1 and words[1].isalpha() and words[1].islower()):
                yield f"{program} {' '.join(words[:2])} is no command of {page.name}"
            continue
        for option in re.findall(r"(?<!\S)--([a-z][a-z-]*)", rest):
            if known and option not in known[verbs[0]] | known[""]:
                yield f"{program} {verbs[0]} has no option --{option}"


def messages(root):
    page = root / MESSAGES
    quoted = MESSAGE.findall(page.read_text(encoding="utf-8").partition("\n## Messages\n")[2].partition("\n## ")[0]) if page.exists() else []
    texts = "".join(path.read_text(encoding="utf-8") for folder in SOURCES for path in sorted((root / folder).rglob("*.cc")))
    texts = re.sub(r'"\s+"', "", texts)
    for message in quoted:
        if message not in texts:
            yield f"{MESSAGES}: no program says: {message}"


def check(root):
    known = patterns(root)
    for document in sorted({path for glob in DOCUMENTS for path in root.glob(glob) if path.is_file()}):
        for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), 1):
            where = f"{document.relative_to(root)}:{number}"
            for target, section in LINK.findall(line):
                page = document.parent / target if target else document
                if not page.exists():
                    yield f"{where}: a link to {target}, which is not there"
                elif section and section not in sections(page):
                    yield f"{where}: a link to the section {section} of {page.name}, which is not there"
            for name in PATH.findall(line):
                name = name.rstrip("./") if not (root / name).exists() else name
                if not PLACEHOLDER.search(name) and not (root / name).exists() and not (document.parent / name).exists():
                    # A name without its ending means header and source.
                    if not list((root / name).parent.glob(Path(name).name + "*")):
                        yield f"{where}: names {name}, which is not there"
            for key in KEY.findall(line):
                if not any(pattern.search(key) for pattern in known) and "rdma.mod=" not in line:
                    yield f"{where}: annotation {key} is not in the schema"
            for problem in commands(root, line):
                yield f"{where}: {problem}"
    yield from messages(root)
    yield from vulnerabilities(root)
    yield from isolation(root)
    yield from kernels(root)


def anchor(title):
    """The name of a heading in links, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


@functools.cache
def sections(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return {anchor(title) for title in HEADING.findall(text)}


def rows(text):
    return [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| |")]


def isolation(root):
    scenario = root / ISOLATION
    if not scenario.exists():
        return
    promised, asked = rows((root / PROMISED).read_text(encoding="utf-8")), rows(scenario.read_text(encoding="utf-8"))
    for row in promised:
        if row not in asked:
            yield f"{PROMISED}: {ISOLATION} does not ask for: {row}"
    for row in asked:
        if row not in promised:
            yield f"{ISOLATION}: not in the table of {PROMISED}: {row}"


def kernels(root):
    """Rows of the table of distributions' kernels without a source, and those that do not say plainly that they are inferred."""
    path = root / KERNELS
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    for row in rows(text.partition("\n### Distributions' own kernels\n")[2].partition("\n### ")[0])[1:]:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        if not cells[-1]:
            yield f"{KERNELS}: {cells[0]} has no source"
        elif cells[0].endswith(" (inferred)") != cells[-1].startswith("inferred from "):
            yield f"{KERNELS}: {cells[0]}: mark an inferred row as (inferred), and begin its source with 'inferred from'"


def vulnerabilities(root):
    security = root / "SECURITY.md"
    named = CVE.findall(security.read_text(encoding="utf-8")) if security.exists() else []
    tests = "\n".join(path.read_text(encoding="utf-8") for glob in TESTS for path in root.glob(glob))
    for name in sorted(set(named)):
        if not re.search(rf"\b({name}|{name.replace('CVE-', 'Cve').replace('-', '_')})(?!\d)", tests):
            yield f"SECURITY.md: no test is named after {name}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    problems = list(check(Path(sys.argv[1])))
    print("\n".join(problems) or "docs: everything named is there")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
