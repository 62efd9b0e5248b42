# SPDX-License-Identifier: Apache-2.0
"""Where commands run: here or over ssh, on the host or in a container. Lists of words throughout; ssh alone joins them, quoted,
because the other side has a shell."""
from __future__ import annotations

import json
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

from .plan import Node, Plan, Refused, Side, System

SHORT = 120  # seconds, for a command that only looks
START = 300  # for a container to start: an emulated machine of a busy host takes its time
FACTS = {"clocksource": "/sys/devices/system/clocksource/clocksource0/current_clocksource",
         "governor": "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "load": "/proc/loadavg"}


class Failed(Exception):
    """A command that did not do what it should; with the end of what it said."""

    def __init__(self, text: str, status: int | None = None) -> None:
        super().__init__(text)
        self.status = status


def over(node: Node, words: Sequence[str]) -> list[str]:
    if not node.ssh:
        return list(words)
    options = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=20", "-p", str(node.port)]
    if node.identity:
        options += ["-i", node.identity]
    return ["ssh", *options, node.ssh, "--", shlex.join(words)]


def call(words: Sequence[str], deadline: int) -> str:
    """Standard output."""
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=deadline, check=False, errors="replace")
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{shlex.join(words)}: no end after {deadline} s") from error
    except OSError as error:
        raise Failed(f"{words[0]}: {error.strerror}") from error
    if done.returncode != 0:
        said = "\n".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-8:])
        raise Failed(f"{shlex.join(words)}: status {done.returncode}\n{said}", done.returncode)
    return done.stdout


def facts_of(node: Node) -> dict[str, str]:
    """What a reader wants to know of a machine. What it does not have is not there."""
    facts = {"system": call(over(node, ["uname", "-srm"]), SHORT).strip()}
    processors = call(over(node, ["cat", "/proc/cpuinfo"]), SHORT).splitlines()
    models = [line.split(":", 1)[1].strip() for line in processors if line.startswith("model name")]
    facts["processors"] = f"{len(models)} x {models[0]}" if models else "unknown"
    if any(line.startswith("flags") and " hypervisor" in line for line in processors):
        facts["virtual"] = "a hypervisor is below"
    for name, path in FACTS.items():
        try:
            facts[name] = call(over(node, ["cat", path]), SHORT).strip()
        except Failed:
            continue
    return facts


def read_inventory(path: Path) -> dict[str, Node]:
    """The hosts of an Ansible inventory, as Ansible itself reads it."""
    try:
        document = json.loads(call(["ansible-inventory", "-i", str(path), "--list"], SHORT))
        hosts = document["_meta"]["hostvars"]
        nodes = {}
        for name, of in hosts.items():
            local = of.get("ansible_connection") == "local"
            user = f"{of['ansible_user']}@" if "ansible_user" in of else ""
            nodes[name] = Node("" if local else f"{user}{of.get('ansible_host', name)}", int(of.get("ansible_port", 22)),
                               of.get("ansible_ssh_private_key_file", ""))
        return nodes
    except Failed as error:
        raise Refused(f"--inventory {path}: {error}; it is read by ansible-inventory: apt-get install ansible-core") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Refused(f"--inventory {path}: ansible-inventory said something else than expected: {error}") from error


class Place:
    """A side of a system: commands run in it until it is left."""

    def __init__(self, plan: Plan, system: System, side: Side, which: str) -> None:
        self.side = side
        self._system = system
        self._which = which
        self._container = f"rdma-evaluation-{plan.digest[:8]}-{system.name}-{which}" if system.kind == "container" else ""
        self._program = plan.program
        self._server: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None

    def words(self, words: Sequence[str]) -> list[str]:
        """What is executed here so that these words are executed there."""
        inside = [self._system.engine, "exec", self._container] if self._container else list(self.side.prefix)
        return over(self.side.node, [*inside, *words])

    def start_words(self) -> list[str]:
        """Of the container; nothing for a host. A server is the container's own process, so that it ends with it."""
        if not self._container:
            return []
        system, of = self._system, []
        for key, value in self.side.annotations:
            of += ["--annotation", f"{key}={value}"]
        runtime = ["--runtime", "rdma"] if system.engine == "docker" else []
        command = self.serve_words() if self._which == "server" else ["sleep", "infinity"]
        return over(self.side.node, [system.engine, "run", "-d", "--name", self._container, *runtime, *of, *self.side.options, *system.image, *command])

    def serve_words(self) -> list[str]:
        bind = ["0.0.0.0"] if self._container else self._system.addresses
        return [self._program, "serve", *(word for address in bind for word in ("--bind", address)), "--timeout", "30s"]

    def __enter__(self) -> "Place":
        if self._container:
            self._remove()  # of a run that was killed
            try:
                call(self.start_words(), START)
            except BaseException:  # an interrupt as well: it may have started
                self._remove()
                raise
        elif self._which == "server":
            # With a terminal, the server over there ends when ssh does.
            words = self.words(self.serve_words())
            words[1:1] = ["-tt"] if self.side.node.ssh else []
            self._output = tempfile.TemporaryFile()
            self._server = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=self._output, stderr=subprocess.STDOUT)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._server:
            self._server.terminate()
            self._server.wait()
        if self._container:
            self._remove()
        if self._output:
            self._output.close()

    def _remove(self) -> None:
        try:
            call(over(self.side.node, [self._system.engine, "rm", "-f", self._container]), START)
        except Failed:
            pass  # Docker fails if there is none; one that cannot be removed makes the start fail, with the reason

    def has_ended(self) -> bool:
        return self._server is not None and self._server.poll() is not None

    def said(self) -> str:
        """The end of what the server said."""
        if self._container:
            try:
                return call(over(self.side.node, [self._system.engine, "logs", "--tail", "8", self._container]), SHORT).strip()
            except Failed as error:
                return str(error)
        if not self._output:
            return ""
        self._output.seek(0)
        return "\n".join(self._output.read().decode(errors="replace").splitlines()[-8:])

    def netdev_of(self, device: str) -> str:
        """Of a device whose GIDs name none, as iWARP's: as it was attached, or as the host's iproute2 knows it."""
        try:
            if self._container:
                attachments = json.loads(call(self.words(["cat", "/run/rdma/attach.json"]), SHORT))["attachments"]
                return str(next(each["netdev"] for each in attachments if each["device"] == device))
            return str(json.loads(call(self.words(["rdma", "-j", "link", "show", f"{device}/1"]), SHORT))[0]["netdev"])
        except (ValueError, KeyError, IndexError, TypeError, StopIteration) as error:
            raise Failed(f"{self._which}: no interface is known of {device}") from error

    def mtu_of(self, netdev: str) -> int:
        return int(call(self.words(["cat", f"/sys/class/net/{netdev}/mtu"]), SHORT))

    def parent_of(self, netdev: str) -> tuple[str, str]:
        """The index of the interface below, and the PCI function: a VF's is its PF. Empty is what cannot be seen."""
        at = f"/sys/class/net/{netdev}"
        return (self._look(["cat", f"{at}/iflink"]),
                self._look(["readlink", "-e", f"{at}/device/physfn"]) or self._look(["readlink", "-e", f"{at}/device"]))

    def _look(self, words: Sequence[str]) -> str:
        try:
            return call(self.words(words), SHORT).strip()
        except Failed:
            return ""

    def engine_version(self) -> dict[str, str]:
        if not self._container:
            return {}
        return {self._system.engine: call(over(self.side.node, [self._system.engine, "--version"]), SHORT).strip()}
