#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on a man page or a completion that says anything else than the program's own help.

usage: manual.py ROOT rdmactl=PROGRAM rdma-perf=PROGRAM rdma-perf-report=PROGRAM rdma-hook=PROGRAM

Of each command that --help lists, the page must have a subsection with all of its options and no others, and each option
must be described; bash completion must offer the same words. A page that gives defaults must give those of --help. Exit statuses are those of docs/reference/exit-codes.md.
rdma-hook has no --help: its page must have the words of its usage line. The options that the page for perftest's users gives as rdma-perf's
must be in its --help. A program may be left out.
"""
import re
import subprocess
import sys
from pathlib import Path

OPTION = re.compile(r"^\s+(?:-\w,\s*)?(--[a-z][a-z-]*)", re.MULTILINE)
BLOCK = re.compile(r"^(\w[\w ]*):\n((?:  .*\n?)+)", re.MULTILINE)
NO_COMMANDS = ("options", "positionals", "positional arguments", "examples")  # other blocks of a help list commands, in groups
NAME = re.compile(r"^  ([a-z][a-z0-9-]*)", re.MULTILINE)
FLAG = re.compile(r"\bFl -([a-z][a-z-]*)")
STATUS = re.compile(r"^\| (?:`\w+` \| )?(\d+) \|", re.MULTILINE)
PAGES = {"rdmactl": "rdmactl.8", "rdma-perf": "rdma-perf.1", "rdma-perf-report": "rdma-perf-report.1", "rdma-hook": "rdma-hook.8"}
STATUSES = "docs/reference/exit-codes.md"
FROM_PERFTEST = "docs/rdma-perf/from-perftest.md"
SECTIONS = {"rdma-perf": "## rdma-perf\n", "rdma-hook": "## rdma-hook, rdma-runtime and rdmactl\n"}
COMPLETE = """source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
$(complete -p "$1" | sed 's/.*-F \\([^ ]*\\) .*/\\1/'); printf '%s\\n' "${COMPREPLY[@]}" """


def helps(program, words=()):
    """(words of a command, its options, its commands, its help), of it and of all below."""
    text = subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True).stdout
    commands = [name for title, block in BLOCK.findall(text) if title.lower() not in NO_COMMANDS for name in NAME.findall(block)]
    yield words, set(OPTION.findall(text)), commands, text
    for command in commands:
        yield from helps(program, (*words, command))


def sections(page):
    """The text of each .Ss by its title, and the text of everything else."""
    parts = re.split(r"^\.(S[sh]) (.*)\n", page, flags=re.MULTILINE)
    subsections, rest = {}, parts[0]
    for kind, title, text in zip(parts[1::3], parts[2::3], parts[3::3]):
        if kind == "Ss":
            subsections[title] = text
        else:
            rest += text
    return subsections, rest


def flags(text):
    return {"--" + name for name in FLAG.findall(text)}


def described(text):
    return flags("\n".join(line for line in text.splitlines() if line.startswith(".It ")))


def defaults(text):
    """(option, its default) of those of a help that have one, behind "=" or behind the word."""
    for block in re.split(r"^  (?=-)", text, flags=re.MULTILINE)[1:]:
        block = " ".join(block.partition("\n\n")[0].split())
        found = re.match(r"(?:-\w,)?(--[a-z][a-z-]*)(?: [A-Z]+=(\S+))?", block)
        said = re.search(r"\bdefault:? ([^);]+)", block)
        if found and (found[2] or said):
            yield found[1], found[2] or said[1]


def without_default(page, help_text):
    """(option, its default) of those of a help for which the page has no such default."""
    given = {}
    for item in re.split(r"^\.It ", page, flags=re.MULTILINE)[1:]:
        text = re.split(r"^\.(?:El|S[sh])", item, flags=re.MULTILINE)[0].partition("\nDefault:")[2]
        given |= dict.fromkeys(flags(item.partition("\n")[0]), " ".join(text.split()))
    for option, value in defaults(help_text):
        if not re.search(rf"(?<!\S){re.escape(value)}(?=[.;,]?(?:\s|$))", given.get(option, "")):
            yield option, value


def foreign_options(page, known):
    """Of the options that the rows of the page's tables with three columns have behind the first one, those that are not known."""
    for cells in (line.split("|") for line in page.splitlines() if line.startswith("| `")):
        if len(cells) == 5:
            yield from (option for option in re.findall(r"(?<=[` ])--[a-z][a-z-]*", "|".join(cells[2:])) if option not in known)


def completions(script, words):
    done = subprocess.run(["bash", "-c", COMPLETE, "bash", script, *words], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def differ(where, wanted, found):
    for each in sorted(wanted - found):
        yield f"{where}: lacks {each}"
    for each in sorted(found - wanted):
        yield f"{where}: has {each}, which the program does not"


def check_commands(root, name, program):
    page = (root / "docs/man" / PAGES[name]).read_text(encoding="utf-8")
    script = str(root / f"docs/completion/{name}.bash")
    subsections, rest = sections(page)
    documented, everywhere = described(page), set()
    titles = set()
    for words, options, commands, text in helps(program):
        if not words:  # its options are taken by every command
            common = options - {"--version"}
            yield from differ(f"{PAGES[name]}: options", options, described(rest) & options)
        own = options - {"--help"}
        everywhere |= options
        for option, value in without_default(page, text) if "\nDefault: " in page else ():
            yield f"{PAGES[name]}: {' '.join(words)}: lacks the default {value} of {option}"
        if words and (not commands or own):
            titles.add(" ".join(words))
            yield from differ(f"{PAGES[name]}: {' '.join(words)}", own, flags(subsections.get(" ".join(words), "")))
        offered = completions(script, [name, *words, "--"])
        yield from differ(f"{script}: {' '.join(words)}", options | common, offered)
        if commands:
            offered = completions(script, [name, *words, ""])
            yield from differ(f"{script}: {' '.join(words)}", set(commands),
                              {each for each in offered if not each.startswith("-") and not Path(each).exists()})
    yield from differ(f"{PAGES[name]}: commands", titles, set(subsections))
    yield from differ(f"{PAGES[name]}: what is described", everywhere, documented)
    if name == "rdma-perf":
        foreign = foreign_options((root / FROM_PERFTEST).read_text(encoding="utf-8"), everywhere)
        yield from (f"{FROM_PERFTEST}: {option} is no option of rdma-perf" for option in foreign)


def check_usage(root, name, program):
    page = (root / "docs/man" / PAGES[name]).read_text(encoding="utf-8")
    usage = subprocess.run([program], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL).stderr
    lines = re.findall(rf"(?:usage:|^ +) *{name} (.*)", usage, re.MULTILINE)
    if not lines:
        yield f"{name}: has no usage line"
    yield from differ(PAGES[name], set(re.findall(r"--[a-z-]+", " ".join(lines))), described(page))
    for phase in {phase for line in lines for phase in line.split()[0].split("|") if not phase.startswith("-")}:
        if f".It Cm {phase}\n" not in page:
            yield f"{PAGES[name]}: lacks {phase}"


def check_statuses(root, name):
    page = (root / "docs/man" / PAGES[name]).read_text(encoding="utf-8")
    table = (root / STATUSES).read_text(encoding="utf-8").split(SECTIONS[name])[1].split("\n## ")[0]
    found = set(re.findall(r"^\.It (\d+)$", page, re.MULTILINE))
    yield from differ(f"{PAGES[name]}: statuses", set(STATUS.findall(table)) | {"0"}, found)


def check(root, programs):
    for name, program in programs.items():
        yield from (check_usage if name == "rdma-hook" else check_commands)(root, name, program)
        if name in SECTIONS:
            yield from check_statuses(root, name)


def main():
    if len(sys.argv) < 3 or not all("=" in each for each in sys.argv[2:]):
        sys.exit(__doc__)
    problems = list(check(Path(sys.argv[1]), dict(each.split("=", 1) for each in sys.argv[2:])))
    print("\n".join(problems) or "manual: pages and completion say what the programs do")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
