# SPDX-License-Identifier: Apache-2.0
"""The plan: what is compared, and how long. Strict: an unknown word is an error that names the closest known one."""
from __future__ import annotations

import difflib
import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA = "rdma-evaluation-plan/1"
SUITES = ("basic", "cpu", "multi_dev", "multi_qp", "transfers", "software")
ENGINES = ("podman", "docker")
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,30}")
DESTINATION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@:-]{0,200}")  # of ssh: never an option
REPETITIONS = 6  # fewer have no 95 % interval
MOST_REPETITIONS = 1000
PLACE_OF_VALUE = re.compile(r"\{([a-z][a-z0-9_]*)\}")


class Refused(Exception):
    """What is wrong, and behind it what mends it."""


@dataclass(frozen=True)
class Node:
    """A machine; without `ssh` this one."""

    ssh: str = ""
    port: int = 22
    identity: str = ""


@dataclass(frozen=True)
class Side:
    """One end of a system: on a node, either behind a prefix of words (`ip netns exec NAME`) or in a container of its own."""

    node: Node
    prefix: tuple[str, ...]
    options: tuple[str, ...]  # of the engine, for the container
    annotations: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class System:
    name: str
    kind: str  # host or container
    mode: str
    baseline: str
    engine: str
    image: tuple[str, ...]
    addresses: tuple[str, ...]  # of the server, one for each device
    by_cm: bool
    suites: tuple[str, ...]
    server: Side
    client: Side


@dataclass(frozen=True)
class Suite:
    name: str
    sizes: str
    qps: str
    transfers: tuple[int, ...]


@dataclass(frozen=True)
class Profile:
    name: str
    repetitions: int
    time: str
    suites: tuple[Suite, ...]


@dataclass(frozen=True)
class Plan:
    name: str
    title: str
    emulation: str
    mtu_rule: str  # refuse, lowest
    one_parent: bool  # each system and its baseline are on one adapter, or nothing is measured
    program: str
    deadline: int  # seconds, of one run
    systems: tuple[System, ...]
    profile: Profile
    digest: str  # of all that decides what is measured


class Reader:
    """An object of the plan. Every member must be asked for: finish() refuses those that were not."""

    def __init__(self, value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise Refused(f"{where}: is no object")
        self._value = value
        self._where = where
        self._known: set[str] = set()

    def _take(self, name: str, default: Any, kind: type) -> Any:
        self._known.add(name)
        value = self._value.get(name, default)
        if value is None:
            raise Refused(f"{self._where}: has no {name}")
        if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):
            raise Refused(f"{self._where}: {name} is no {kind.__name__}")
        return value

    def text(self, name: str, default: str | None = None, allowed: tuple[str, ...] = (), pattern: re.Pattern[str] | None = None) -> str:
        value: str = self._take(name, default, str)
        if allowed and value not in allowed:
            raise Refused(f"{self._where}: {name} is '{value}' (allowed: {', '.join(each or 'nothing' for each in allowed)})")
        if pattern and value != default and not pattern.fullmatch(value):
            raise Refused(f"{self._where}: {name} '{value}' has a character that has no place there")
        return value

    def number(self, name: str, default: int | None, low: int, high: int) -> int:
        value: int = self._take(name, default, int)
        if not low <= value <= high:
            raise Refused(f"{self._where}: {name} is {value} (allowed: {low} to {high})")
        return value

    def flag(self, name: str) -> bool:
        return bool(self._take(name, False, bool))

    def texts(self, name: str, default: list[str] | None = None) -> tuple[str, ...]:
        value = self._take(name, default, list)
        if not all(isinstance(each, str) and "\0" not in each for each in value):
            raise Refused(f"{self._where}: {name} has an entry that is no text")
        return tuple(value)

    def numbers(self, name: str, default: list[int], low: int, high: int) -> tuple[int, ...]:
        value = self._take(name, default, list)
        if not value or not all(isinstance(each, int) and low <= each <= high for each in value):
            raise Refused(f"{self._where}: {name} is no list of numbers from {low} to {high}")
        return tuple(value)

    def object(self, name: str, default: dict[str, Any] | None = None) -> "Reader":
        return Reader(self._take(name, default, dict), f"{self._where}: {name}")

    def objects(self, name: str) -> list["Reader"]:
        return [Reader(value, f"{self._where}: {name}[{index}]") for index, value in enumerate(self._take(name, None, list))]

    def members(self) -> list[tuple[str, "Reader"]]:
        self._known |= self._value.keys()
        return [(name, Reader(value, f"{self._where}: {name}")) for name, value in self._value.items()]

    def pairs(self, name: str) -> tuple[tuple[str, str], ...]:
        value = self._take(name, {}, dict)
        if not all(isinstance(each, str) for each in value.values()):
            raise Refused(f"{self._where}: {name} has a value that is no text")
        return tuple(value.items())

    def finish(self) -> None:
        for name in self._value.keys() - self._known:
            close = difflib.get_close_matches(name, self._known, 1)
            raise Refused(f"{self._where}: {name} is not known" + (f": did you mean {close[0]}?" if close else f" (known: {', '.join(sorted(self._known))})"))


def read_plan(path: Path, profile: str, inventory: dict[str, Node], given: dict[str, str] | None = None) -> Plan:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise Refused(f"{path}: {error}") from error
    return parse_plan(fill(document, str(path), given or {}), str(path), profile, inventory)


def fill(document: Any, where: str, given: dict[str, str]) -> Any:
    """The document without its `values`: each {NAME} of its texts is what was given, or else the value's default."""
    if not isinstance(document, dict):
        return document
    helps, values = {}, {}
    for name, reader in Reader(document.get("values", {}), f"{where}: values").members():
        helps[name] = reader.text("help")
        default = reader.text("default", "")
        values[name] = given.get(name, default)
        reader.finish()
    for name in given.keys() - helps.keys():
        close = difflib.get_close_matches(name, helps, 1)
        known = f"did you mean {close[0]}?" if close else f"known: {', '.join(sorted(helps)) or 'none'}"
        raise Refused(f"--set {name}: {where} has no such value; {known}")
    missing = [f"\n  --set {name}=VALUE   {helps[name]}" for name, value in values.items() if not value]
    if missing:
        raise Refused(f"{where} needs values of yours:{''.join(missing)}")

    def filled(value: Any) -> Any:
        if isinstance(value, str):
            return PLACE_OF_VALUE.sub(lambda found: values.get(found[1], found[0]), value)
        if isinstance(value, list):
            return [filled(each) for each in value]
        return {name: filled(each) for name, each in value.items()} if isinstance(value, dict) else value

    return filled({name: value for name, value in document.items() if name != "values"})


def parse_plan(document: Any, where: str, profile: str, inventory: dict[str, Node]) -> Plan:
    top = Reader(document, where)
    top.text("schema", allowed=(SCHEMA,))
    nodes = {name: _node(reader, inventory) for name, reader in top.object("nodes", {}).members()}
    systems = tuple(_system(reader, nodes) for reader in top.objects("systems"))
    profiles = dict(top.object("profiles").members())
    if profile not in profiles:
        raise Refused(f"{where}: there is no profile {profile}, only {', '.join(sorted(profiles))}")
    chosen = _profile(profile, profiles[profile])
    mtu = top.object("mtu", {})
    plan = Plan(top.text("name", pattern=NAME), top.text("title"), top.text("emulation", ""), mtu.text("rule", "refuse", ("refuse", "lowest")),
                top.text("parents", "equal", ("equal", "any")) == "equal", top.text("rdma_perf", "rdma-perf"), top.number("deadline_s", 600, 1, 86400), systems, chosen, _digest(document, profile))
    mtu.finish()
    top.finish()
    _check(plan, where)
    return plan


def _digest(document: dict[str, Any], profile: str) -> str:
    """Of what decides the measurement: titles, other profiles and what is refused may change while it goes on."""
    relevant = {name: value for name, value in document.items() if name not in ("title", "emulation", "profiles", "deadline_s", "parents")}
    relevant["profile"] = [profile, document["profiles"][profile]]
    return hashlib.sha256(json.dumps(relevant, sort_keys=True).encode()).hexdigest()


def _node(reader: Reader, inventory: dict[str, Node]) -> Node:
    host = reader.text("inventory", "")
    node = Node(reader.text("ssh", "", pattern=DESTINATION), reader.number("port", 22, 1, 65535), reader.text("identity", ""))
    reader.finish()
    if not host:
        return node
    if host not in inventory:
        raise Refused(f"the inventory has no host {host}, only: {', '.join(sorted(inventory)) or 'none; name it by --inventory FILE'}")
    return inventory[host]


def _side(reader: Reader, nodes: dict[str, Node]) -> Side:
    name = reader.text("node", "")
    if name and name not in nodes:
        raise Refused(f"there is no node {name}, only: {', '.join(sorted(nodes))}")
    side = Side(nodes[name] if name else Node(), reader.texts("prefix", []), reader.texts("options", []), reader.pairs("annotations"))
    reader.finish()
    return side


def _system(reader: Reader, nodes: dict[str, Node]) -> System:
    kind = reader.text("kind", allowed=("host", "container"))
    system = System(reader.text("name", pattern=NAME), kind, reader.text("mode", pattern=NAME), reader.text("baseline", ""),
                    reader.text("engine", "podman" if kind == "container" else "", (*ENGINES, "")), reader.texts("image", []),
                    reader.texts("addresses"), reader.flag("rdma_cm"), reader.texts("suites", list(SUITES)),
                    _side(reader.object("server"), nodes), _side(reader.object("client"), nodes))
    reader.finish()
    return system


def _profile(name: str, reader: Reader) -> Profile:
    suites = []
    for suite, settings in reader.object("suites").members():
        if suite not in SUITES:
            raise Refused(f"suite {suite} is not known (allowed: {', '.join(SUITES)})")
        suites.append(Suite(suite, settings.text("sizes", "64K"), settings.text("qps", "1,2,4"), settings.numbers("transfers", [1, 4], 1, 32)))
        settings.finish()
    profile = Profile(name, reader.number("repetitions", REPETITIONS, 1, MOST_REPETITIONS), reader.text("time"), tuple(suites))
    reader.finish()
    return profile


def _check(plan: Plan, where: str) -> None:
    names = [system.name for system in plan.systems]
    if len(set(names)) != len(names) or not names:
        raise Refused(f"{where}: systems must have names of their own, and there must be one")
    for system in plan.systems:
        if system.baseline and (system.baseline not in names or system.baseline == system.name):
            raise Refused(f"{where}: baseline {system.baseline} of {system.name} is no other system")
        if not set(system.suites) <= set(SUITES):
            raise Refused(f"{where}: {system.name} has a suite that is not known (allowed: {', '.join(SUITES)})")
        if not system.addresses or any(address.startswith("-") for address in system.addresses):
            raise Refused(f"{where}: {system.name} needs addresses of its server")
        if system.kind == "container" and not system.image:
            raise Refused(f'{where}: {system.name} needs an image: ["NAME"], or ["--rootfs", "FOLDER:O"]')
        if system.kind == "host" and (system.image or system.engine or system.server.annotations or system.client.annotations):
            raise Refused(f"{where}: {system.name} is of kind host, which has no engine, image or annotations")
