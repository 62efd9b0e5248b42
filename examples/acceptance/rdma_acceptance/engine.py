# SPDX-License-Identifier: Apache-2.0
"""Containers of Podman or Docker with annotations. Their network is rdma-hook's alone, so that the engine's own costs no time."""
from __future__ import annotations

import os
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .host import SYS, text_of
from .tools import Done, Failed, Skipped, Tools
from .undo import Undo

START = 120.0  # seconds
PERF = "/usr/bin/rdma-perf"
COMMAND = ("sleep", "1000000")
ABSENT = r"(?i)no such container|no container with"
# What rdma-hook rightly refuses on this host: no failure.
UNFIT = ("this kernel's rxe carries no traffic", "has no RDMA device of its own, and its PF has one")


@dataclass
class Container:
    name: str
    id: str
    ms: int  # that the engine took to start it
    pid: int = 0
    attached: dict[str, Any] = field(default_factory=dict)  # its first attachment, as attach.json says

    @property
    def device(self) -> str:
        return str(self.attached.get("device", ""))

    @property
    def netdev(self) -> str:
        return str(self.attached.get("netdev", ""))

    @property
    def address(self) -> str:
        addresses = self.attached.get("addresses") or [""]
        return str(addresses[0]).split("/")[0]

    def inside(self, words: Sequence[str]) -> list[str]:
        """The words, for the host's program in the container's network."""
        return ["nsenter", f"--net=/proc/{self.pid}/ns/net", "--", *words]


def short(done: Done) -> str:
    """The reason why no container was started: rdma-hook's line among those of the engine."""
    lines = [line.strip() for line in (done.err + done.out).splitlines() if line.strip()]
    ours = [line for line in lines if re.search(r"rdma-hook|rdma-runtime", line)]
    return (ours[0] if ours else done.said())[:500]


def refusal(said: str) -> Failed | Skipped:
    return (Skipped if any(each in said for each in UNFIT) else Failed)(said)


class Engine:
    def __init__(self, name: str, image: Sequence[str], tools: Tools, undo: Undo) -> None:
        self.name = name
        self._image = list(image)
        self._tools = tools
        self._undo = undo
        self._count = 0
        self._mutex = threading.Lock()  # containers are started in threads
        self.live: dict[str, Container] = {}

    def words(self, name: str, annotations: Sequence[str], options: Sequence[str] = (), command: Sequence[str] = COMMAND) -> list[str]:
        words = [self.name, "run", "-d", "--name", name, "--network", "none"]
        if annotations:
            words += ["--runtime", "rdma"] if self.name == "docker" else []
        for each in annotations:
            words += ["--annotation", f"rdma.{each}"]
        if os.path.exists(PERF):
            words += ["-v", f"{PERF}:{PERF}:ro"]
        return [*words, *options, *self._image, *command]

    def prepare(self) -> None:
        """The image is there before anything is timed."""
        if "--rootfs" in self._image:
            return
        if not self._tools.run([self.name, "image", "inspect", self._image[-1]]).ok:
            self._tools.need([self.name, "pull", self._image[-1]], 600)

    def new_name(self) -> str:
        """A name for a container that is started next; the journal has it already."""
        with self._mutex:
            self._count += 1
            name = f"rdma-accept-{os.getpid()}-{self._count}"
        at_once = ["-t", "0"] if self.name == "podman" else []  # Docker's does not wait
        self._undo.plan(name, [self.name, "rm", "-f", *at_once, name], ABSENT)
        return name

    def try_start(self, annotations: Sequence[str], options: Sequence[str] = ()) -> tuple[Container | None, Done]:
        """The container, or None, and the engine's answer."""
        name = self.new_name()
        done = self._tools.run(self.words(name, annotations, options), START)
        if not done.ok:
            self.remove(name)
            return None, done
        container = Container(name, done.out.strip().splitlines()[-1], done.ms)
        if annotations:
            self._look_up(container)
        self.live[name] = container
        return container, done

    def start(self, *annotations: str, options: Sequence[str] = ()) -> Container:
        container, done = self.try_start(annotations, options)
        if container is None:
            raise refusal("it does not start: " + short(done))
        return container

    def refused(self, *annotations: str) -> str:
        """The reason of a container that must be refused; Failed if it starts."""
        container, done = self.try_start(annotations)
        if container is not None:
            self.end(container)
            raise Failed("it started: it should have been refused")
        return short(done)

    def _look_up(self, container: Container) -> None:
        shown = self._tools.need(["rdmactl", "show", container.id, "--json"]).json()["container"]
        container.pid = int(shown.get("pid", 0))
        attachments = (shown.get("granted") or {}).get("attachments") or []
        if not attachments or not container.pid:
            raise Failed("it runs, and rdmactl show knows of no attachment")
        container.attached = dict(attachments[0])

    def exec(self, container: Container, words: Sequence[str], limit: float = 60) -> Done:
        return self._tools.run([self.name, "exec", container.name, *words], limit)

    def spawn(self, container: Container, words: Sequence[str]) -> Done:
        """Starts a program in the container that goes on there."""
        return self._tools.run([self.name, "exec", "-d", container.name, *words])

    def remove(self, name: str) -> None:
        self.live.pop(name, None)
        trouble = self._undo.back(name)
        if trouble:
            raise Failed(trouble)

    def end(self, *containers: Container) -> None:
        for each in containers:
            self.remove(each.name)

    def end_all(self) -> None:
        self.end(*list(self.live.values()))


def port_state(device: str) -> str:
    """ACTIVE, DOWN and so on; empty if this namespace does not see the device."""
    return text_of(SYS / "class/infiniband" / device / "ports/1/state").rpartition(": ")[2]
