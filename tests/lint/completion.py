#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks a shell what it would complete, by the generated files: the same options and commands as the man pages have.

usage: completion.py ROOT fish|zsh    skips (77) without the shell
"""
import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# What `rdmactl list --json` answers here.
CONTAINERS = '{"containers": [{"id": "3f1d", "name": "server"}, {"id": "77aa"}]}'


def generator(root):
    spec = importlib.util.spec_from_loader("generate", importlib.machinery.SourceFileLoader("generate", str(root / "docs/generate")))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fish(folder, lines):
    """What fish prints, behind a line of its own for each of the command lines."""
    script = f"function rdmactl; echo '{CONTAINERS}'; end\n" + "".join(f"source {file}\n" for file in sorted(folder.glob("*.fish")))
    script += "".join(f"echo '== {line}'; complete -C '{line}'\n" for line in lines)
    done = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, check=True)
    if done.stderr:
        raise ValueError(done.stderr)
    return done.stdout


# The line editor begins with this instead of a prompt. Each match goes through compadd, which only reports with -O, -A or -D.
ZSHRC = r"""
fpath=($ZDOTDIR $fpath)
autoload -Uz compinit && compinit -D -u
rdmactl() { print -r -- $CONTAINERS }
compadd() {
    local -a offered
    if ! [[ " ${@[1,(i)(-|--)]}" == *\ -[OAD]* ]]; then
        builtin compadd -A offered "$@"
        print -rC1 -- $offered >>$ZDOTDIR/offered
    fi
    builtin compadd "$@"
}
ask() {
    local line
    for line in ${(f)"$(<$ZDOTDIR/lines)"}; do
        print -r -- "== $line" >>$ZDOTDIR/offered
        BUFFER=$line CURSOR=$#line
        zle list-choices
    done
    BUFFER=exit
    zle accept-line
}
zle -N zle-line-init ask
"""
TERMINAL = [sys.executable, "-c", "import pty, sys; pty.spawn(sys.argv[1:])"]


def zsh(folder, lines):
    """The same of zsh, which completes on a terminal only."""
    with tempfile.TemporaryDirectory() as own:
        for file in folder.glob("*.zsh"):
            shutil.copy(file, Path(own, f"_{file.stem}"))
        Path(own, ".zshrc").write_text(ZSHRC, encoding="utf-8")
        Path(own, "lines").write_text("\n".join(lines), encoding="utf-8")
        more = {"ZDOTDIR": own, "CONTAINERS": CONTAINERS, "TERM": "dumb", "LC_ALL": "C.UTF-8"}
        subprocess.run([*TERMINAL, "zsh", "-d", "-i"], env=os.environ | more, stdin=subprocess.DEVNULL, capture_output=True, timeout=200, check=True)
        return Path(own, "offered").read_text(encoding="utf-8")


def answers(text):
    """What is offered behind each command line; fish describes each word behind a tab."""
    return {part.splitlines()[0]: {line.split("\t")[0] for line in part.splitlines()[1:]} - {""} for part in text.split("== ")[1:]}


def check(root, shell):
    generate = generator(root)
    wanted = {}
    for name in generate.PROGRAMS:
        words = generate.Words(name, root)
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
    found = answers({"fish": fish, "zsh": zsh}[shell](root / "docs/completion", wanted))
    for line, each in wanted.items():
        if found.get(line) != each:
            yield f"{shell}: behind '{line}': {' '.join(sorted(found.get(line, ())))} instead of {' '.join(sorted(each))}"


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in ("fish", "zsh"):
        sys.exit(__doc__)
    shell = sys.argv[2]
    if not shutil.which(shell):
        print(f"skipped: {shell} is not installed")
        sys.exit(77)
    sys.dont_write_bytecode = True
    problems = list(check(Path(sys.argv[1]).resolve(), shell))
    print("\n".join(problems) or f"completion: {shell} offers what the man pages have")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
