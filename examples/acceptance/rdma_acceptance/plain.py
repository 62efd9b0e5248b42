# SPDX-License-Identifier: Apache-2.0
"""R: mode softroce, by which a host without an adapter can be tried. S: mode shared. B: VFs of InfiniBand. X: RDMA namespace mode exclusive."""
from __future__ import annotations

import re
import time

from . import virtual
from .engine import Container
from .host import SYS, gids_of, names_in, text_of
from .modes import VERIFY, annotations_of, between, by_cm, crowd, killed, plan, report_in, start, to_peer, traffic_of, verify
from .run import Check, Run
from .tools import Failed, Skipped

FILL = 60.0  # seconds
MACS = 130


# ---- S --------------------------------------------------------------------------------------------------------
def hca_of(run: Run) -> str:
    """The PF's RDMA device; for a netdev without a device of its own, one that stands on it."""
    for device in run.pf.rdma or names_in(SYS / "class/infiniband"):
        if run.pf.rdma or run.pf.netdev in {netdev for _, netdev, _ in gids_of(device).values()}:
            return device
    raise Skipped(f"{run.pf.label} has no RDMA device")


def shared(run: Run) -> str:
    hca = hca_of(run)
    seen = start(run, "shared")
    a, _ = run.pair("shared")
    table = gids_of(hca)
    mine = [(index, netdev) for index, (gid, netdev, _) in table.items() if same_gid(gid, str(a.attached.get("gid", "")))]
    if not mine:
        return f"{seen}; its GID is hidden from the host, as with the modules of MLNX_OFED"
    if mine[0][1] != a.netdev:
        raise Failed(f"GID {mine[0][0]} is of {mine[0][1] or 'no netdev'}, not of the container's {a.netdev}")
    return f"{seen}; GID {mine[0][0]} of {hca} is its own"


def same_gid(one: str, other: str) -> bool:
    import ipaddress

    def value(text: str) -> int:
        address = ipaddress.ip_address(text)
        return int(address) if address.version == 6 else 0xFFFF << 32 | int(address)

    try:
        return value(one) == value(other)
    except ValueError:
        return False


def only(run: Run, *more: str) -> Container:
    """A container with another kind of interface, and no other. Software devices, which stand for an adapter in tests, have one kind."""
    hca_of(run)
    run.end_pair("shared")
    try:
        return run.engine.start(*annotations_of(run, "shared", 0, *more))
    except Failed as why:
        if "is a software device" in str(why):
            raise Skipped(str(why)) from why
        raise


def ipvlan(run: Run) -> str:
    a = only(run, "child=ipvlan")
    b = run.engine.start(*annotations_of(run, "shared", 1, "child=ipvlan"))
    return verify(run, a, b).text()


def in_vlan(run: Run) -> str:
    """One container: a VLAN of a port is one interface. Data within it; a switch need not know the VLAN."""
    a = only(run, "vlan=7")
    seen = traffic_of(report_in(run.tools.run(["rdmactl", "verify", a.id, "--json"], VERIFY)))
    return f"{a.netdev}; within the container {seen.text()}"


def fill(run: Run) -> str:
    """Containers until one is refused, which says why; or as many as start in a minute."""
    hca_of(run)
    run.end_pair("shared")
    others = run.tools.need(["rdmactl", "list", "--json"]).json()["containers"]
    if others:
        raise Skipped("other containers use RDMA here, whose GIDs this would take")
    end = time.monotonic() + FILL
    for count in range(250):
        # A network of their own: the sixteen addresses are too few.
        words = [f"ip=10.{200 + count // 200}.{count % 200}.1/32" if each.startswith("ip=") else each for each in annotations_of(run, "shared", 0)]
        container, done = run.engine.try_start(words)
        if container is None:
            if not re.search(r"GID", done.err + done.out):
                raise Failed(f"container {count + 1}: {done.said()}")
            return f"{count} start, the next is refused: {done.said()[:200]}"
        if time.monotonic() > end:
            return f"{count + 1} in {FILL:.0f} s, none refused"
    return "250, none refused"


def many_macs(run: Run) -> str:
    """Of so many macvlans the last still receives: adapters have room for some 128 MACs."""
    if not run.facts.peer:
        raise Skipped("no --peer, which the last of them asks")
    hca_of(run)
    run.end_pair("shared")
    run.undo.plan("namespace rdma-accept", ["ip", "netns", "del", "rdma-accept"], "No such file")
    run.tools.need(["ip", "netns", "add", "rdma-accept"])
    lines = [f"link add link {run.pf.netdev} name mac{i} netns rdma-accept type macvlan mode bridge" for i in range(MACS)]
    run.tools.need(["ip", "-batch", "-"], 120, "\n".join(lines) + "\n")
    run.tools.need(["ip", "-n", "rdma-accept", "-batch", "-"], 120, "".join(f"link set mac{i} up\n" for i in range(MACS)))
    run.tools.need(["ip", "-n", "rdma-accept", "address", "add", run.ip(2).split("=")[1], "dev", f"mac{MACS - 1}"])
    heard = run.tools.run(["ip", "netns", "exec", "rdma-accept", "ping", "-c", "5", "-W", "2", run.facts.peer], 60).ok
    trouble = run.undo.back("namespace rdma-accept")
    if trouble:
        raise Failed(trouble)
    if not heard:
        raise Failed(f"the last of {MACS} macvlans receives nothing: use rdma.child=ipvlan beyond the adapter's MACs")
    return f"the last of {MACS} receives"


# ---- B --------------------------------------------------------------------------------------------------------
def infiniband(run: Run) -> None:
    if not run.pf.infiniband:
        raise Skipped(f"{run.pf.label} is Ethernet")


def ib_port(run: Run) -> str:
    infiniband(run)
    a, _ = run.pair("vf")
    state = a.attached.get("port_state", "not reported")
    if state != "ACTIVE":
        raise Failed(f"the VF's port is {state}: its policy (ip link set PF vf N state auto), and the subnet manager: OpenSM with virt_enabled 2")
    return f"ACTIVE after {run.facts.numbers.get('vf', {}).get('active_ms', 'an unknown number of')} ms"


def ib_guid(run: Run) -> str:
    """Sets a GUID, which the port's first GID must have; afterwards the old one is back."""
    infiniband(run)
    run.end_pair("vf")
    before = run.picture()
    guid = "02:00:5e:ff:fe:00:00:31"
    a = run.engine.start(*annotations_of(run, "vf", 0, f"node_guid={guid}", f"port_guid={guid}"))
    first = text_of(SYS / "class/infiniband" / a.device / "ports/1/gids/0")
    if guid.replace(":", "") not in first.replace(":", ""):
        raise Failed(f"the port's first GID is {first}")
    run.end_pair("vf")
    return f"{first}; {run.still(before)}"


def pkeys(run: Run) -> str:
    infiniband(run)
    a, _ = run.pair("vf")
    folder = SYS / "class/infiniband" / a.device / "ports/1/pkeys"
    keys = sorted({text_of(folder / each) for each in names_in(folder)} - {"0x0000", ""})
    if not keys:
        raise Failed("the VF's P_Key table is empty")
    return ", ".join(keys)


def by_lid(run: Run) -> str:
    infiniband(run)
    return between(run, "vf")


# ---- X --------------------------------------------------------------------------------------------------------
def exclusive(run: Run) -> str:
    """The mode whose containers show it; Skipped in RDMA namespace mode shared."""
    if not run.facts.exclusive:
        raise Skipped("the RDMA namespace mode is shared: boot with ib_core.netns_mode=0 to try this")
    return next((mode for mode in run.facts.modes if mode != "shared"), "softroce")


def container_of(run: Run) -> Container:
    return run.pair(exclusive(run))[0]


def hidden(run: Run) -> str:
    a = container_of(run)
    if a.device in run.tools.need(["rdma", "link", "show"]).out:
        raise Failed(f"the host sees {a.device}")
    return f"the host does not see {a.device}"


def only_one(run: Run) -> str:
    a = container_of(run)
    seen = re.findall(r"^\d+: (\S+?):", run.tools.need(a.inside(["rdma", "dev", "show"])).out, re.MULTILINE)
    if seen != [a.device]:
        raise Failed(f"the container's namespace has {', '.join(seen) or 'none'}, not only {a.device}")
    return between(run, exclusive(run))


def node_closed(run: Run) -> str:
    """The first one's node, opened in the network of the second."""
    import sys

    a, b = run.pair(exclusive(run))
    node = str((a.attached.get("nodes") or [""])[0])
    done = run.tools.run(b.inside([sys.executable, "-c", "import os, sys; os.open(sys.argv[1], os.O_RDWR)", node]))
    if done.ok:
        raise Failed(f"{node} opens in another container's network")
    if "Operation not permitted" not in done.err and "PermissionError" not in done.err:
        raise Skipped(done.said())
    return f"{node}: operation not permitted"


R, S, B, X = "softroce", "shared", "infiniband", "exclusive"
CHECKS = [
    Check("R1", "rdmactl plan", R, lambda run: plan(run, R), 30),
    Check("R2", "two containers, each with an rxe of its own", R, lambda run: start(run, R), 300),
    Check("R3", "data between them", R, lambda run: between(run, R), 150),
    Check("R4", "data to the peer", R, lambda run: to_peer(run, R), 150),
    Check("R5", "connections by rdma_cm", R, lambda run: by_cm(run, R), 150),
    Check("R6", "killed, collected, as before", R, lambda run: killed(run, R), 240),
    Check("R7", "many at once", R, lambda run: crowd(run, R, 4, 2), 600),
    Check("S1", "rdmactl plan", S, lambda run: plan(run, S), 30),
    Check("S2", "two containers, whose GIDs are in the adapter's table", S, shared, 300),
    Check("S3", "data between them, on one port", S, lambda run: between(run, S), 150),
    Check("S4", "data to the peer", S, lambda run: to_peer(run, S), 150),
    Check("S7", "connections by rdma_cm", S, lambda run: by_cm(run, S), 150),
    Check("S10", "killed, collected, as before", S, lambda run: killed(run, S), 240),
    Check("S5", "ipvlan", S, ipvlan, 300),
    Check("S6", "VLAN 7", S, in_vlan, 300),
    Check("S8", "containers until one is refused", S, fill, 900),
    Check("S9", "130 MACs", S, many_macs, 300),
    *virtual.CHECKS,
    Check("B1", "InfiniBand: the VF's port", B, ib_port, 200),
    Check("B2", "InfiniBand: a GUID of its own", B, ib_guid, 200),
    Check("B4", "InfiniBand: P_Keys", B, pkeys, 200),
    Check("B5", "InfiniBand: data by LID", B, by_lid, 200),
    Check("X1", "exclusive: hidden from the host", X, hidden, 300),
    Check("X2", "exclusive: one device, and data", X, only_one, 300),
    Check("X5", "exclusive: another one's node stays shut", X, node_closed, 60),
    Check("X4", "exclusive: killed, and back", X, lambda run: killed(run, exclusive(run)), 240),
]
