#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on an include that breaks the layers of ARCHITECTURE.md, on a picture of them there that is not ORDER, and on a suite that costs
more than its folder and one line.

usage: layering.py ROOT

One line for each violation: file, line, what is wrong. Comments are not looked at.
"""
import re
import sys
from pathlib import Path

# What all of perf/ may include, and its own folders, the lowest first.
VALUES = ("netns/base", "netns/values")
PERF = ("perf/base", "perf/address", "perf/system", "perf/protocol", "perf/verbs", "perf/engine", "perf/measure", "perf/report", "perf/suites",
        "perf/command", "perf")
# From the ground up. A file may include its own folder and those before it, but for what PRIVATE and ONLY say.
ORDER = ("netns/base", "netns/values", "netns", "netns/kernel", "runtime-config/oci", "runtime-config/engines", "hook/request", "hook/state",
         "hook/steps", "hook/modes", "hook/container", "hook", "hook/rdmactl", "runtime-config/rdma-runtime", *PERF)
# Nobody else may include these: kernel and libnl headers, sysfs, OVSDB.
PRIVATE = ("netns/kernel",)
# These know less than their place allows.
ONLY = {"runtime-config/oci": ("netns/base",), "runtime-config/engines": ("netns/base",), "netns/values": ("netns/base",)}
ONLY |= {folder: VALUES + PERF[:i] for i, folder in enumerate(PERF)}
# The folders in these include none of their neighbours.
APART = ("perf/suites",)
KERNEL = re.compile(r"(linux|netlink|infiniband|rdma)/.*|sys/socket\.h|sched\.h")
FOLDERS = ("hook", "runtime-config", "netns", "perf")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
# A line of the picture, which begins with the top.
LAYER = re.compile(r"^    ([\w/-]+) ", re.MULTILINE)
SETNS = re.compile(r"\bsetns\s*\(")
# What a folder of perf/suites/ defines.
SUITE = re.compile(r"^extern const Suite (\w+) = ", re.MULTILINE)


def sources(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cc"):
                yield path, path.relative_to(root).as_posix()


def room(name):
    """The folder of ORDER that a file is in: the longest that fits."""
    return max((folder for folder in ORDER if name.startswith(folder + "/")), key=len, default=None)


def neighbour(name):
    """The folder within a room that a file is in."""
    return name.removeprefix(room(name) + "/").rpartition("/")[0]


def is_public(name):
    """A header that says what the outside world is like, and not how Linux is asked."""
    return name.endswith(".h") and room(name) in ("netns", "netns/values")


def project_rule(name, include):
    """Why a file may not include this header of the project, or nothing."""
    user, used = room(name), room(include)
    if user is None or used is None:
        return f"{name if user is None else include} is in no folder of layering.py's ORDER"
    if used in PRIVATE and user != used:
        return f"{used}/ is private"
    if used != user and used not in ONLY.get(user, ORDER[:ORDER.index(user)]):
        return f"{user}/ may include {', '.join(ONLY.get(user, ORDER[:ORDER.index(user)])) or 'nothing of the rest'}"
    if user in APART and used == user and neighbour(name) != neighbour(include):
        return f"a folder in {user}/ may include no other one there"
    if is_public(name) and include.startswith("netns/base/json"):
        return "no JSON in public headers of netns/"
    return None


def library_rule(name, include):
    if not name.startswith(("netns/", "perf/")) and KERNEL.fullmatch(include):
        return "only netns/kernel/ talks to the kernel"
    if is_public(name) and (KERNEL.fullmatch(include) or include.startswith("nlohmann/")):
        return "no kernel, libnl or JSON types in public headers of netns/"
    return None


def picture(root):
    page = root / "ARCHITECTURE.md"
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    layers = LAYER.findall(text.partition("\n## Layers\n")[2].partition("\n## ")[0])
    if text and tuple(reversed(layers)) != ORDER:
        yield "ARCHITECTURE.md: the picture of the layers is not layering.py's ORDER"


def suites(root):
    """A suite costs its folder and one line."""
    texts = {name: path.read_text(encoding="utf-8") for path, name in sources(root) if name.startswith("perf/")}
    for name, text in texts.items():
        for suite in SUITE.findall(text):
            lines = sum(1 for other, body in texts.items() if neighbour(other) != neighbour(name)
                        for line in body.splitlines() if re.search(rf"\b{suite}\b", line))
            if lines != 1:
                yield f"{name}: {suite} is named in {lines} lines outside its folder, not in one of perf/command/"


def check(root):
    problems, entering = [*picture(root), *suites(root)], {}
    for path, name in sources(root):
        text = path.read_text(encoding="utf-8")
        text = COMMENT.sub(lambda found: "\n" * found.group().count("\n"), text)
        for found in INCLUDE.finditer(text):
            line = text.count("\n", 0, found.start(2)) + 1
            include = found.group(2)
            # A quoted header beside the file would slip through: every project include is a full path.
            project = include.split("/")[0] in FOLDERS
            if found.group(1) == '"' and not project:
                why = "project headers are named from the top of the repository"
            else:
                why = project_rule(name, include) if project else library_rule(name, include)
            if why:
                problems.append(f"{name}:{line}: includes {include}: {why}")
        for found in SETNS.finditer(text):
            entering.setdefault(name, text.count("\n", 0, found.start()) + 1)
    if len(entering) > 1:
        problems += [f"{name}:{line}: setns( in a second file" for name, line in entering.items()
                     if name != "netns/kernel/namespace.cc"]
    return problems


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    problems = check(Path(sys.argv[1]))
    print("\n".join(problems) or "layering: no violation")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
