#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on an include that breaks the layers of ARCHITECTURE.md.

usage: layering.py ROOT

One line for each violation: file, line, what is wrong. Comments are not looked at.
"""
import re
import sys
from pathlib import Path

# The headers of netns/ that others may include; all others there are private to it.
PUBLIC = {f"netns/{name}.h" for name in ("address", "cgroup", "char_nodes", "child_type", "device_cgroup", "namespace", "link", "neighbour", "rdma", "route", "process", "sys_class", "terminal", "launch", "host", "kernel_host", "sriov", "devlink", "ovs", "tc_offload", "placement", "statistics")}
KERNEL = re.compile(r"(linux|netlink|infiniband|rdma)/.*|sys/socket\.h|sched\.h")
FOLDERS = ("hook", "runtime-config", "netns", "perf")
# rdma-runtime's own recipe, which lies with the engines' files and links the hook as rdma-hook's main does.
ABOVE_HOOK = {f"runtime-config/{name}" for name in ("main.cc", "shim.cc", "shim.h")}
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
SETNS = re.compile(r"\bsetns\s*\(")


def sources(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cc"):
                yield path, path.relative_to(root).as_posix()


def layer(name):
    return "netns/base" if name.startswith("netns/base/") else name.split("/")[0]


def project_rule(name, include):
    """Why a file may not include this header of the project, or nothing."""
    user, used = layer(name), layer(include)
    if user == "netns/base" and used != "netns/base":
        return "netns/base/ is the vocabulary: it includes nothing of the rest"
    if user == "netns" and used not in ("netns", "netns/base"):
        return "netns/ knows nothing of those who use it"
    if user == "perf" and used not in ("perf", "netns/base"):
        return "perf/ uses perf/ and netns/base/ only"
    below = ("runtime-config", "netns/base") + (("hook", "netns") if name in ABOVE_HOOK else ())
    if user == "runtime-config" and used not in below:
        return "runtime-config/ uses runtime-config/ and netns/base/ only"
    if user == "hook" and used == "runtime-config" and not include.startswith("runtime-config/oci/"):
        return "hook/ uses runtime-config/oci/ only of it"
    if used == "netns" and user != "netns" and include not in PUBLIC:
        return "private to netns/"
    if name in PUBLIC and (used == "netns" and include not in PUBLIC):
        return "a public header of netns/ may not lead to a private one"
    if name in PUBLIC and include == "netns/base/json.h":
        return "no JSON in public headers of netns/"
    return None


def library_rule(name, include):
    if layer(name) in ("hook", "runtime-config") and KERNEL.fullmatch(include):
        return "only netns/ talks to the kernel"
    if name in PUBLIC and (KERNEL.fullmatch(include) or include.startswith("nlohmann/")):
        return "no kernel, libnl or JSON types in public headers of netns/"
    return None


def check(root):
    missing = sorted(name for name in PUBLIC if not (root / name).exists())
    problems, entering = [f"{name}: is not there (see PUBLIC in layering.py)" for name in missing], {}
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
                     if name != "netns/namespace.cc"]
    return problems


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    problems = check(Path(sys.argv[1]))
    print("\n".join(problems) or "layering: no violation")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
