# SPDX-License-Identifier: Apache-2.0
"""V: mode vf. VFs are made if there are none, and then destroyed; those that are there are used as they are."""
from __future__ import annotations

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .engine import Container, refusal
from .host import Pf, names_in, text_of
from .modes import annotations_of, between, crowd, killed, plan, start, to_peer, verify
from .run import Check, Run
from .tools import Failed, Skipped
from .wire import Ear

VFS = 4
MODE = "vf"
OTHER_MAC, FORGED_MAC = "02:00:5e:00:00:31", "02:00:5e:00:00:66"


def node_guids(pf: Pf) -> dict[int, str]:
    found = {}
    for number in range(pf.num_vfs):
        vf = pf.vf(number)
        for device in names_in(vf / "infiniband")[:1] if vf else []:
            found[number] = text_of(vf / "infiniband" / device / "node_guid")  # type: ignore[operator]
    return found


def make_vfs(run: Run, pf: Pf) -> str:
    """Makes VFs if there are none, and tells of it."""
    if pf.num_vfs:
        return f"{pf.label} has {pf.num_vfs} VFs already, which are used as they are"
    count = min(VFS, pf.total_vfs)
    if not count:
        raise Skipped(f"{pf.label} has no VFs: SR-IOV is off in firmware or BIOS, or it cannot have any")
    run.undo.plan(f"VFs of {pf.label}", ["rdmactl", "vf", "disable", pf.address])
    run.undo.plan("leftovers of dead containers", ["rdmactl", "gc"])
    done = run.tools.need(["rdmactl", "vf", "enable", pf.address, str(count)], 240)
    return f"{count} VFs of {pf.label}, {done.ms // count} ms each"


def enable(run: Run) -> str:
    seen = []
    for pf in (run.pf, run.pf2):
        if not pf:
            continue
        mine = not pf.num_vfs
        seen.append(make_vfs(run, pf))
        first = node_guids(pf)
        if mine and first:
            run.tools.need(["rdmactl", "vf", "disable", pf.address], 120)
            run.tools.need(["rdmactl", "vf", "enable", pf.address, str(len(first))], 240)
            if node_guids(pf) != first:
                raise Failed(f"node GUIDs of {pf.label}'s VFs are others after `vf disable` and `vf enable`")
        zero = [str(number) for number, guid in first.items() if not guid.strip("0:")]
        if zero:
            raise Failed(f"the node GUID of VF {', '.join(zero)} of {pf.label} is zero")
    run.record("-vfs")
    return "; ".join(seen)


def ready(run: Run) -> None:
    """VFs for a check that runs without V0."""
    for pf in (run.pf, run.pf2):
        if pf and not run.facts.pools[0] and not pf.num_vfs:
            make_vfs(run, pf)


def begin(run: Run) -> str:
    ready(run)
    return start(run, MODE)


def number_of_vf(run: Run, container: Container) -> int:
    """The number of the container's VF."""
    shown = run.tools.need(["rdmactl", "show", container.id, "--json"]).out
    found = re.search(r'"number": ?(\d+)', shown)
    if not found:
        raise Skipped("rdmactl show names no VF of the PF")
    return int(found[1])


def one(run: Run, *more: str, number: int = 0) -> Container:
    ready(run)
    run.end_pair(MODE)
    return run.engine.start(*annotations_of(run, MODE, number, *more))


def unsupported(why: Failed) -> bool:
    """The adapter has no such setting, and the refusal says so."""
    return re.search(r"does not know rdma\.|does not manage its VFs|does not let [\w ]+ be set|knows 802.1q only", str(why)) is not None


def with_setting(run: Run, *more: str, number: int = 0) -> Container:
    try:
        return one(run, *more, number=number)
    except Failed as why:
        if unsupported(why):
            raise Skipped(str(why)) from why
        raise


def mac(run: Run) -> str:
    """A MAC through the PF: the VF's driver is bound again, which is the time that an attach can take."""
    ready(run)
    before = run.picture()
    container = with_setting(run, f"mac={OTHER_MAC}")
    if container.attached.get("mac") != OTHER_MAC:
        raise Failed(f"the interface has {container.attached.get('mac')}, not {OTHER_MAC}")
    plain = run.facts.numbers.get(MODE, {}).get("start_ms")
    more = "" if plain is None else f", {max(0, container.ms - plain)} ms more than without"
    if plain is not None:
        run.number(MODE, "rebind_ms", max(0, container.ms - plain))
    run.end_pair(MODE)
    run.still(before)
    return f"started in {container.ms} ms{more}; name, MAC and RDMA device are as before"


def vlan(run: Run) -> str:
    """One VLAN is one network, within the adapter: a switch need not know it. On the other port its frames have the tag."""
    a = with_setting(run, "vlan=7")
    b = run.engine.start(*annotations_of(run, MODE, 2, "vlan=7"))
    verify(run, a, b)
    run.engine.end(b)
    c = run.engine.start(*annotations_of(run, MODE, 2, "vlan=8"))
    if run.tools.run(c.inside(["ping", "-c", "2", "-W", "2", a.address]), 30).ok:
        raise Failed("VLAN 8 reaches VLAN 7")
    seen = "7 reaches 7, 8 does not reach 7"
    if not run.pf2:
        return f"{seen} (the tag on the wire: with --pf2)"
    tag = heard(run, a, str(a.attached.get("mac")))
    if tag not in (7, None):
        raise Failed(f"{run.pf2.netdev} hears its frames with " + (f"tag {tag}" if tag else "no tag"))
    return f"{seen}; {run.pf2.netdev} hears " + ("tag 7" if tag else "nothing of it: does the switch carry VLAN 7?")


def heard(run: Run, container: Container, source: str) -> int | None:
    """The VLAN in which the second port hears a frame that the container sends with this source; None: it hears none."""
    assert run.pf2
    mine = bytes.fromhex(source.replace(":", ""))
    with Ear(run.pf2.netdev) as ear:
        wire = str(Path(__file__).with_name("wire.py"))
        run.tools.need(container.inside([sys.executable, "-B", wire, container.netdev, source]), 30)
        return ear.hear(3, lambda data: data[6:12] == mine)


def rate(run: Run) -> str:
    ready(run)
    a, b = run.pair(MODE)
    free = verify(run, a, b).bandwidth * 8 / 1e6
    if free < 1500:
        raise Skipped(f"without a rate it has {free:.0f} Mbit/s: a limit of 1000 would not show")
    limited = with_setting(run, "max_tx_rate=1000")
    other = run.engine.start(*annotations_of(run, MODE, 1))
    got = verify(run, limited, other).bandwidth * 8 / 1e6
    if not 500 < got < 1100:
        raise Failed(f"{got:.0f} Mbit/s with max_tx_rate=1000")
    return f"{got:.0f} Mbit/s with max_tx_rate=1000, {free:.0f} without"


def spoof(run: Run) -> str:
    if not run.pf2:
        raise Skipped("needs --pf2 on the same wire or switch, to hear what comes")
    a = with_setting(run, "spoofchk=on")
    own = str(a.attached.get("mac"))
    if not run.tools.wait_for(20, lambda: heard(run, a, own) is not None):
        raise Skipped(f"{run.pf2.netdev} hears nothing of {run.pf.netdev}: they are on no common wire")
    if heard(run, a, FORGED_MAC) is not None:
        raise Failed(f"with spoofchk=on {run.pf2.netdev} hears frames with another source than the VF's MAC: the adapter does not drop them")
    return "frames with another source are dropped"


def link_state(run: Run) -> str:
    a = with_setting(run, "link_state=off")
    state = str(a.attached.get("port_state", ""))
    if state == "ACTIVE":
        raise Failed("the port is ACTIVE with link_state=off")
    return f"port {state or 'not reported'}"


def many(run: Run) -> str:
    ready(run)
    count = min(20, run.pf.num_vfs) if not run.facts.pools[0] else 2
    return crowd(run, MODE, count, 3)


def altered(run: Run) -> str:
    """Changes an interface as a container with NET_ADMIN may."""
    ready(run)
    before = run.picture()
    run.end_pair(MODE)
    a = run.engine.start(*annotations_of(run, MODE, 0), options=["--cap-add", "NET_ADMIN"])
    for change in (["promisc", "on"], ["mtu", "1400"], ["down"], ["name", "other0"]):
        run.tools.need(a.inside(["ip", "link", "set", "dev", a.netdev, *change]))
    run.end_pair(MODE)
    return run.still(before)


def while_rebinding(run: Run) -> str:
    """A container starts while another's VF is bound again."""
    ready(run)
    run.end_pair(MODE)
    asked = [annotations_of(run, MODE, 0, f"mac={OTHER_MAC}"), annotations_of(run, MODE, 2)]
    with ThreadPoolExecutor(2) as pool:
        started = list(pool.map(run.engine.try_start, asked))
    for container, done in started:
        if container is None:
            raise refusal(done.said())
    return " and ".join(f"{container.ms} ms" for container, _ in started if container)


def no_device(run: Run) -> str:
    ready(run)
    if node_guids(run.pf):
        raise Skipped("its VFs have RDMA of their own")
    run.end_pair(MODE)
    said = run.engine.refused(*annotations_of(run, MODE, 0, "provider=device"))
    if "RDMA device" not in said:
        raise Failed(f"the refusal says something else: {said}")
    return said[:160]


CHECKS = [
    Check("V0", "rdmactl vf enable", MODE, enable, 600),
    Check("V0a", "rdmactl plan", MODE, lambda run: plan(run, MODE), 30),
    Check("V1", "two containers, each with a VF", MODE, begin, 300),
    Check("V1a", "data between them", MODE, lambda run: between(run, MODE), 150),
    Check("V1b", "data to the peer", MODE, lambda run: to_peer(run, MODE), 150),
    Check("V9", "killed, collected, as before", MODE, lambda run: killed(run, MODE), 240),
    Check("V2", "a MAC through the PF", MODE, mac, 300),
    Check("V3", "VLANs", MODE, vlan, 400),
    Check("V4", "max_tx_rate", MODE, rate, 400),
    Check("V5", "spoofed frames are dropped", MODE, spoof, 200),
    Check("V6", "link_state=off", MODE, link_state, 200),
    Check("V7", "many at once", MODE, many, 600),
    Check("V8", "altered by the container, and as before", MODE, altered, 300),
    Check("V10", "a start beside a rebind", MODE, while_rebinding, 300),
    Check("V11", "a VF without RDMA is refused by provider=device", MODE, no_device, 200),
]
