#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on an error of the programs without a fix, or with one that does not begin with a verb.

usage: errors.py ROOT

Whoever makes an error of the codes in NEEDED gives its fix by .advise(), or a caller does: OTHERS says where. The check is for make_error():
a room that gives a kernel's errno a code need not, as the errno speaks for itself. No text names a file of the source, which the reader
of a message does not have.
"""
import re
import sys
from pathlib import Path

SOURCES = ("hook", "netns", "runtime-config", "perf")
NEEDED = {"BadInput", "Refused", "Unavailable", "Busy", "Unsupported"}
PEER = "the peer gave it: Session::run and perf::complain add the fix"
WORDS = "a word of the command line, a plan or the peer: parse_command_line, read_plan and perf::complain add the fix"
FILE = "whoever reads the file adds the fix"
# A file or folder whose errors get their fix elsewhere, and where.
OTHERS = {
    "hook/container/end.cc": "a step that could not be undone says what keeps it from that",
    "netns/base/files.cc": FILE,
    "netns/base/json.cc": FILE,
    "netns/base/json_scan.cc": FILE,
    "perf/address/gid.cc": "an attach.json that cannot be used is a remark, and no failure",
    "perf/base/words.cc": WORDS,
    "perf/command/session.cc": PEER,
    "perf/engine/": PEER,
    "perf/measure/": PEER,
    "perf/protocol/": PEER,
    "perf/protocol/plan": WORDS,
    "perf/report/plan_file.cc": "read_plan",
    "perf/report/report_file.cc": "read_report",
    "perf/suites/kv/": PEER,
    "perf/system/counters.cc": WORDS,
    "perf/system/cpu.cc": PEER,
    "perf/system/reading.cc": FILE,
    "perf/verbs/cm/connection.h": PEER,
}
VERBS = set("""
    add annotate ask attach bind boot bring build call change check choose compare correct create do enable end find fix free give
    have install lay leave let lift load log look lower make measure name open pass put raise read remove rename repair replace report
    restart retry run say see set start stop store switch take try turn unbind undo unload upgrade use wait widen write
""".split())
# Begin a fix as well: "did you mean rdma.mode?", "first run ...".
ALSO = {"did"}
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|[()\[\]{},]', re.DOTALL)
MADE = re.compile(r"(?<!\w)make_error\(")
GIVEN = re.compile(r"\.\s*(advise|as)\(")
CHAIN = re.compile(r"\s*\.\s*(\w+)\(")
BEGINS = re.compile(r'(?:^|[?:]|(?<!\w)(?:fmt::format|std::string)\()\s*"((?:\\.|[^"\\{ ])(?:\\.|[^"\\])*)"')
WITHIN = re.compile(r"\+\s*\((?:[^()]|\([^()]*\))*\)")  # a choice in the middle of a fix
SOURCE_PATH = re.compile(r'^"[^"\n]*(?<![\w/.-])(?:(?:hook|netns|perf|runtime-config|docs|tests|examples)/[\w./-]+\.(?:cc|h|py|md|sh|json))')


def without_comments(text):
    return TOKEN.sub(lambda found: re.sub(r"[^\n]", " ", found[0]) if found[0][:2] in ("//", "/*") else found[0], text)


def arguments(text, start):
    """The arguments behind the parenthesis at start, and where it closes."""
    depth, begin, out = 0, start + 1, []
    for found in TOKEN.finditer(text, start):
        if found[0] in "([{":
            depth += 1
        elif found[0] in ")]}":
            depth -= 1
        if depth == 0 or (depth == 1 and found[0] == ","):
            out.append(text[begin:found.start()].strip())
            begin = found.end()
        if depth == 0:
            return out, found.end()
    return out, len(text)


def has_fix(text, at):
    """Whether the calls behind an error, or behind the variable that it initializes, give a fix."""
    while found := CHAIN.match(text, at):
        given, at = arguments(text, found.end() - 1)
        if found[1] == "advise" or (found[1] == "as" and len(given) > 1):
            return True
    return False


def kept(text, start, end):
    """Whether an error is kept in a variable that gets its fix below."""
    found = re.search(r"(\w+) =\s*(?:base::)?$", text[:start])
    return bool(found) and re.search(rf"\b{found[1]}\)?\.(advise\(|fix =)", text[end:end + 1500]) is not None


def lacking(text):
    """Where an error has no fix, and its code."""
    for found in MADE.finditer(text):
        given, end = arguments(text, found.end() - 1)
        code = given[0].rpartition("::")[2]
        if code in NEEDED and not has_fix(text, end) and not kept(text, found.start(), end):
            yield found.start(), code


def fixes(text):
    for found in GIVEN.finditer(text):
        given = arguments(text, found.end() - 1)[0][found[1] == "as":]
        for fix in BEGINS.findall(WITHIN.sub("", re.sub(r'"\s+"', "", given[0])) if given else ""):
            yield found.start(), fix


def check(root):
    unused = set(OTHERS)
    for path in sorted(path for folder in SOURCES for path in (root / folder).rglob("*") if path.suffix in (".cc", ".h")):
        name, text = path.relative_to(root).as_posix(), without_comments(path.read_text(encoding="utf-8"))
        elsewhere = {place for place in OTHERS if name.startswith(place)}
        for at, code in lacking(text):
            if not elsewhere:
                yield f"{name}:{text.count(chr(10), 0, at) + 1}: an error {code} without a fix"
            unused -= elsewhere
        for at, fix in fixes(text):
            word = re.match(r"[a-z]*", fix)[0]
            if word not in VERBS | ALSO:
                yield f"{name}:{text.count(chr(10), 0, at) + 1}: a fix that does not begin with a verb: {fix}"
        for number, line in enumerate(text.splitlines(), 1):
            for found in TOKEN.finditer(line):
                if not line.startswith("#include") and SOURCE_PATH.match(found[0]):
                    yield f"{name}:{number}: names a file of the source: {found[0]}"
    if (root / "netns/base/error.cc").exists():
        for place in sorted(unused):
            yield f"tests/lint/errors.py: {place} has no error without a fix any more"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    problems = list(check(Path(sys.argv[1])))
    print("\n".join(problems) or "errors: each has a fix that begins with a verb")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
