#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks fish what it would complete, by the generated files, and has zsh read them: the same options and commands as the man pages have.

usage: completion.py ROOT    skips (77) without fish
"""
import importlib.machinery
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

# What `rdmactl list --json` answers here.
CONTAINERS = '{"containers": [{"id": "3f1d", "name": "server"}, {"id": "77aa"}]}'


def generator(root):
    spec = importlib.util.spec_from_loader("generate", importlib.machinery.SourceFileLoader("generate", str(root / "docs/generate")))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def answers(file, lines):
    """What fish offers behind each of the command lines."""
    script = f"function rdmactl; echo '{CONTAINERS}'; end\nsource {file}\n" + "".join(f"echo '== {line}'; complete -C '{line}'\n" for line in lines)
    done = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, check=True)
    if done.stderr:
        raise ValueError(done.stderr)
    return {part.splitlines()[0]: {line.split("\t")[0] for line in part.splitlines()[1:]} for part in done.stdout.split("== ")[1:]}


def check(root):
    generate = generator(root)
    for name in generate.PROGRAMS:
        words = generate.Words(name, root)
        wanted = {}
        for command in words.commands.values():
            line = f"{name} {command.name}".strip()
            options = command.options if command.name == "" else command.options + words.common()
            wanted[f"{line} --"] = {names[-1] for names, _, _ in options}
            if command.below:
                wanted[f"{line} "] = {below.rpartition(" ")[2] for below in command.below}
            if command.places[:1] == ["container"]:
                wanted[f"{line} "] = {"3f1d", "server", "77aa"}
            for names, argument, _ in options:
                kind, values = words.values_of(names, argument)
                if argument and kind == "words":
                    wanted[f"{line} {names[-1]} "] = set(values)
        found = answers(root / f"docs/completion/{name}.fish", wanted)
        for line, each in wanted.items():
            if found.get(line) != each:
                yield f"{name}.fish: behind '{line}': {' '.join(sorted(found.get(line, ())))} instead of {' '.join(sorted(each))}"
        if shutil.which("zsh"):
            done = subprocess.run(["zsh", "-n", root / f"docs/completion/{name}.zsh"], capture_output=True, text=True, check=False)
            yield from done.stderr.splitlines()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if not shutil.which("fish"):
        print("skipped: fish is not installed")
        sys.exit(77)
    sys.dont_write_bytecode = True
    problems = list(check(Path(sys.argv[1])))
    print("\n".join(problems) or "completion: fish offers what the man pages have")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
