# SPDX-License-Identifier: Apache-2.0
"""Equal MTU of all systems. Pure."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .plan import Refused


@dataclass(frozen=True)
class Seen:
    """Of one system, before anything is measured."""

    system: str
    path: int  # 0: there is none, as with iWARP
    netdevs: dict[str, int]  # by side: "client rdma0"


@dataclass(frozen=True)
class Agreed:
    rule: str
    path: int  # of all systems that have one
    set_by_us: bool
    netdevs: dict[str, dict[str, int]]

    def for_system(self, name: str, path: int) -> int:
        """The MTU for rdma-perf's command line; 0: none."""
        return self.path if self.set_by_us and path else 0

    def record(self, name: str) -> dict[str, Any]:
        return {"rule": self.rule, "path_bytes": self.path, "set": self.set_by_us, "netdev_bytes": self.netdevs[name]}


def agree(rule: str, seen: Iterable[Seen], netdevs_matter: bool) -> Agreed:
    """`netdevs_matter` if something is measured whose packets the interface's MTU decides: TCP, iWARP."""
    systems = list(seen)
    netdevs = {each.system: each.netdevs for each in systems}
    sizes = {size for each in netdevs.values() for size in each.values()}
    if len(sizes) > 1 and (netdevs_matter or rule == "refuse"):
        text = "; ".join(f"{size} on {side} of {name}" for name, each in netdevs.items() for side, size in each.items())
        raise Refused(f"the interfaces have different MTUs: {text}. Set them alike: `ip link set dev INTERFACE mtu {min(sizes)}` on a host, "
                      f"`rdma.mtu={min(sizes)}` as annotation of a container")
    paths = {each.system: each.path for each in systems if each.path}
    if len(set(paths.values())) <= 1:
        return Agreed(rule, next(iter(paths.values()), 0), False, netdevs)
    if rule == "refuse":
        text = ", ".join(f"{path} of {name}" for name, path in paths.items())
        raise Refused(f"the systems have different path MTUs: {text}. Give their interfaces one MTU, or let the plan set the lowest for all: "
                      '"mtu": {"rule": "lowest"}')
    return Agreed(rule, min(paths.values()), True, netdevs)


def path_of(report: dict[str, Any], result: dict[str, Any]) -> int:
    """0 where verbs decide nothing: TCP, and iWARP, whose devices name an MTU that no packet has."""
    device = report["env"]["client"]["device"] or {}
    return 0 if device.get("iwarp") else int(result["point"]["mtu_bytes"])


def check_results(report: dict[str, Any], agreed: Agreed, trial: str) -> None:
    """What was measured had the MTU that was agreed on, all of it."""
    for result in results_of(report):
        path = path_of(report, result)
        if path not in (0, agreed.path):
            raise Refused(f"{trial}: measured with path MTU {path}, agreed was {agreed.path}: somebody changed an interface while it ran; "
                          "set it back and run the same command again")


def results_of(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Of both documents, `run` and `thesis`."""
    found: list[dict[str, Any]] = list(report.get("results", []))
    for suite in report.get("suites", []):
        found += suite["results"]
    return found
