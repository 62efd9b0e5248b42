#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every descriptor that our code makes is close-on-exec from its first moment.

usage: cloexec.py ROOT

One line for each call that makes one without the flag, or that cannot say it. Comments are not looked at. What pidfd_open,
pidfd_getfd, bpf and ioctl give is close-on-exec by itself.
"""
import re
import sys
from pathlib import Path

FOLDERS = ("hook", "runtime-config", "netns", "perf")
# Calls, and the word that must be among their arguments.
WANTED = {"open": "O_CLOEXEC", "openat": "O_CLOEXEC", "socket": "SOCK_CLOEXEC", "socketpair": "SOCK_CLOEXEC", "accept4": "SOCK_CLOEXEC",
          "pipe2": "O_CLOEXEC", "eventfd": "EFD_CLOEXEC", "epoll_create1": "EPOLL_CLOEXEC", "memfd_create": "MFD_CLOEXEC",
          "fsopen": "FSOPEN_CLOEXEC", "fsmount": "FSMOUNT_CLOEXEC", "open_tree": "OPEN_TREE_CLOEXEC", "timerfd_create": "TFD_CLOEXEC",
          "signalfd": "SFD_CLOEXEC", "inotify_init1": "IN_CLOEXEC", "mkostemp": "O_CLOEXEC", "dup3": "O_CLOEXEC"}
# Calls that cannot say it, and what to call instead. freopen and fstreams belong to libraries that know nothing of it.
NEVER = {"accept": "accept4", "pipe": "pipe2", "epoll_create": "epoll_create1", "creat": "open", "dup": "fcntl with F_DUPFD_CLOEXEC",
         "inotify_init": "inotify_init1", "mkstemp": "mkostemp", "fopen": "open", "popen": "base::Child",
         "dup2": "fcntl with F_DUPFD_CLOEXEC", "open_by_handle_at": "open"}
# What a program that we start is to have as its standard descriptors.
MAY = {"netns/base/child.cc": {"dup2"}}
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
CALL = re.compile(r"(?<![\w>)])(?:std)?::(%s)\s*\(" % "|".join(sorted([*WANTED, *NEVER], key=len, reverse=True)))
OTHER = ((re.compile(r"\bF_DUPFD\b"), "F_DUPFD_CLOEXEC"), (re.compile(r"\bstd::[io]?fstream\b"), "open"),
         (re.compile(r"\bstd::fopen\b|\bfreopen\b"), "open"))


def arguments(text, start):
    """What is between the parenthesis before `start` and its partner."""
    depth = 1
    for end in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if depth == 0:
            return text[start:end]
    return text[start:]


def check(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            name = path.relative_to(root).as_posix()
            text = COMMENT.sub(lambda found: "\n" * found.group().count("\n"), path.read_text(encoding="utf-8"))
            for found in CALL.finditer(text):
                call, line = found.group(1), text.count("\n", 0, found.start()) + 1
                if call in NEVER and call not in MAY.get(name, ()):
                    yield f"{name}:{line}: {call} makes a descriptor that programs inherit: use {NEVER[call]}"
                elif call in WANTED and WANTED[call] not in arguments(text, found.end()):
                    yield f"{name}:{line}: {call} without {WANTED[call]}"
            for pattern, instead in OTHER:
                for found in pattern.finditer(text):
                    yield f"{name}:{text.count(chr(10), 0, found.start()) + 1}: {found.group()}: use {instead}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    problems = list(check(Path(sys.argv[1])))
    print("\n".join(problems) or "cloexec: no violation")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
