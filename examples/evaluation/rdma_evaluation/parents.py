# SPDX-License-Identifier: Apache-2.0
"""One parent for both sides: systems on two adapters would compare the adapters. Pure."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .plan import Node, Refused


@dataclass(frozen=True)
class Seen:
    """Where one side of a system ends. A macvlan, ipvlan or VLAN names the interface below it by its index, as any other interface
    names itself; a VF names the function that it is part of."""

    system: str
    baseline: str
    side: str
    node: Node
    netdev: str
    below: str  # the index; empty: not known
    function: str  # a path in sysfs; empty: none

    def shares_with(self, other: "Seen") -> bool:
        return self.below == other.below or (self.function != "" and self.function == other.function)


def check(seen: Iterable[Seen]) -> None:
    """Each side of a system with that of its baseline on the same machine."""
    sides = {(each.system, each.side): each for each in seen}
    for each in sides.values():
        other = sides.get((each.baseline, each.side))
        if not other or other.node != each.node or not each.below or not other.below or each.shares_with(other):
            continue
        raise Refused(f"{each.system} and {other.system} use different adapters, {each.side}: {_text(each)}, and {_text(other)}. Give both one "
                      "parent: rdma.parent or rdma.device of the container is the host's interface. To compare adapters, put "
                      '"parents": "any" into the plan')


def _text(each: Seen) -> str:
    return f"{each.netdev} of {each.system} is on {each.function.rpartition('/')[2] or f'interface {each.below}'}"
