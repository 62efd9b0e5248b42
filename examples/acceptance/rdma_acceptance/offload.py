# SPDX-License-Identifier: Apache-2.0
"""A: mode asap2. The e-switch is put under Open vSwitch if it is not, and brought back; one that is there is used as it is."""
from __future__ import annotations

import re
from typing import Any

from .engine import Container
from .host import names_in, number_of, text_of
from .modes import annotations_of, between, killed, plan, start, to_peer, verify
from .run import Check, Run
from .tools import Failed, Skipped

MODE = "asap2"
VFS = 4


def status(run: Run) -> dict[str, Any]:
    devices = run.tools.need(["rdmactl", "asap2", "status", run.pf.address, "--json"]).json()["devices"]
    if not devices:
        raise Failed(f"rdmactl asap2 status shows no e-switch of {run.pf.label}")
    return dict(devices[0])


def uplink(run: Run) -> str:
    """Before anything is enabled: has it an e-switch, and is its uplink found?"""
    now = status(run)
    run.kept["asap2 before"] = now
    ours = [each for each in now["missing"] if "uplink" in each["why"]]
    if ours:
        raise Failed(f"{ours[0]['why']}: {ours[0]['fix']}")
    names = [each["netdev"] for each in now["uplinks"]]
    return f"mode {now['mode']}, {now['vfs']} VFs, uplink {', '.join(names) or 'not shown in mode ' + now['mode']}"


def flaps(run: Run) -> int:
    return number_of(run.pf.sys / "class/net" / run.pf.netdev / "carrier_down_count")


def enable(run: Run) -> str:
    if not run.facts.bridge:
        raise Skipped("no --bridge")
    now = status(run)
    if now["mode"] == "switchdev" and now["vfs"] and now["bridge"]:
        if now["bridge"] != run.facts.bridge:
            raise Failed(f"its uplink is on bridge {now['bridge']}: give --bridge {now['bridge']}")
        return f"{now['vfs']} VFs on bridge {now['bridge']} already, which are used as they are"
    if now["mode"] == "switchdev":
        raise Skipped("switchdev, by somebody else, and without VFs or a bridge: it stays as it is")
    before, down = names_in(run.pf.folder / "infiniband") if run.pf.folder else [], flaps(run)
    run.undo.plan(f"e-switch of {run.pf.label}", ["rdmactl", "asap2", "disable", run.pf.address])
    run.undo.plan("leftovers of dead containers", ["rdmactl", "gc"])
    words = ["rdmactl", "asap2", "enable", run.pf.address, "--bridge", run.facts.bridge]
    if not now["vfs"]:
        words += ["--vfs", str(min(VFS, run.pf.total_vfs) or 2)]
    run.kept["before enable"] = run.picture()
    done = run.tools.need(words, 600)
    run.kept["enabled"] = True
    run.tools.run(["udevadm", "settle"], 30)
    run.record("-switchdev")
    after = run.pf.rdma
    hard = [each for each in status(run)["missing"] if not each["software_path"]]
    if hard:
        raise Failed(f"enabled, and missing: {hard[0]['why']}: {hard[0]['fix']}")
    return f"{done.ms} ms; the PF's link went down {flaps(run) - down} times; its RDMA device: {before or 'none'} before, {after or 'none'} after"


def ready(run: Run) -> None:
    if status(run)["mode"] != "switchdev":
        enable(run)
    if status(run)["mode"] != "switchdev":
        raise Skipped("needs an e-switch in mode switchdev")


def representor_of(run: Run, container: Container) -> str:
    paths = run.tools.need(["rdmactl", "show", container.id, "--json"]).json().get("offload") or [{}]
    name = paths[0].get("representor")
    if not name:
        raise Failed("rdmactl show names no representor")
    return str(name)


def begin(run: Run) -> str:
    ready(run)
    seen = start(run, MODE)
    a, _ = run.pair(MODE)
    port = representor_of(run, a)
    if not int(text_of(run.pf.sys / "class/net" / port / "flags") or "0", 16) & 1:
        raise Failed(f"its representor {port} is down")
    bridge = run.tools.need(["ovs-vsctl", "--timeout=10", "port-to-br", port]).out.strip()
    if bridge != run.facts.bridge:
        raise Failed(f"its representor {port} is on bridge {bridge}")
    return f"{seen}; representor {port} on {bridge}" + (f"; software path: {a.attached['software_path']}" if a.attached.get("software_path") else "")


def packets(run: Run, netdev: str) -> int:
    return number_of(run.pf.sys / "class/net" / netdev / "statistics/rx_packets")


def hardware(run: Run) -> str:
    """Where packets go while there are some: rules age out ten seconds after the last."""
    a, b = run.pair(MODE)
    port = representor_of(run, a)
    before = packets(run, port)
    verify(run, a, b)
    by_software = packets(run, port) - before
    shown = (run.tools.need(["rdmactl", "show", a.id, "--json"]).json().get("offload") or [{}])[0]
    run.tools.run(["tc", "-s", "filter", "show", "dev", port, "ingress"])
    flows = run.tools.run(["ovs-appctl", "dpctl/dump-flows", "-m", "type=offloaded"])
    roce = [line for line in flows.out.splitlines() if "4791" in line or "eth_type(0x0800)" in line]
    if shown.get("path") != "hardware":
        raise Failed(f"path: {shown.get('path')}; {shown.get('in_hw', 0)} of {shown.get('rules', 0)} rules are in hardware; "
                     + "; ".join(each["why"] for each in status(run)["missing"][:2]))
    return f"{shown['in_hw']} of {shown['rules']} rules in hardware, {len(roce)} offloaded flows of IPv4; the representor counted {by_software} packets"


def rate(run: Run) -> str:
    a, b = run.pair(MODE)
    free = verify(run, a, b).bandwidth * 8 / 1e6
    if free < 1500:
        raise Skipped(f"without a rate it has {free:.0f} Mbit/s: a limit of 1000 would not show")
    run.end_pair(MODE)
    limited = run.engine.start(*annotations_of(run, MODE, 0, "max_tx_rate=1000"))
    other = run.engine.start(*annotations_of(run, MODE, 1))
    got = verify(run, limited, other).bandwidth * 8 / 1e6
    if not 500 < got < 1100:
        raise Failed(f"{got:.0f} Mbit/s with max_tx_rate=1000: policing by software is too late for RDMA")
    return f"{got:.0f} Mbit/s with max_tx_rate=1000, {free:.0f} without"


def vlan(run: Run) -> str:
    ready(run)
    run.end_pair(MODE)
    a = run.engine.start(*annotations_of(run, MODE, 0, "vlan=7"))
    tag = run.tools.need(["ovs-vsctl", "--timeout=10", "get", "Port", representor_of(run, a), "tag"]).out.strip()
    if tag != "7":
        raise Failed(f"the port's tag is {tag}")
    b = run.engine.start(*annotations_of(run, MODE, 1, "vlan=7"))
    verify(run, a, b)
    run.engine.end(b)
    c = run.engine.start(*annotations_of(run, MODE, 1, "vlan=8"))
    if run.tools.run(c.inside(["ping", "-c", "2", "-W", "2", a.address]), 30).ok:
        raise Failed("VLAN 8 reaches VLAN 7")
    return "the port has tag 7; 7 reaches 7, 8 does not reach 7"


def restart(run: Run) -> str:
    raise Skipped("ovs-vswitchd is not restarted, others may use it. By hand: start a long run, systemctl restart openvswitch-switch")


def bond(run: Run) -> str:
    if not re.search(r"bond", text_of(run.pf.sys / "class/net" / run.pf.netdev / "master/uevent")):
        raise Skipped(f"{run.pf.label} is no port of a bond")
    raise Skipped("pull one cable of the bond while a long run goes: a program cannot")


def disable(run: Run) -> str:
    if not run.kept.get("enabled"):
        raise Skipped("it was enabled before, and stays so")
    run.end_pair(MODE)
    run.tools.need(["rdmactl", "asap2", "disable", run.pf.address], 600)
    run.tools.run(["udevadm", "settle"], 30)
    return run.still(run.kept["before enable"])


CHECKS = [
    Check("A1", "rdmactl asap2 status names the uplink", MODE, uplink, 60),
    Check("A2", "rdmactl asap2 enable", MODE, enable, 900),
    Check("A2a", "rdmactl plan", MODE, lambda run: plan(run, MODE), 30),
    Check("A3", "two containers, each with a representor on the bridge", MODE, begin, 300),
    Check("A4", "data between them", MODE, lambda run: between(run, MODE), 150),
    Check("A4b", "data to the peer", MODE, lambda run: to_peer(run, MODE), 150),
    Check("A5", "packets go by hardware", MODE, hardware, 150),
    Check("A9", "killed, collected, as before", MODE, lambda run: killed(run, MODE), 240),
    Check("A6", "max_tx_rate", MODE, rate, 400),
    Check("A7", "VLANs", MODE, vlan, 400),
    Check("A8", "ovs-vswitchd restarted under traffic", MODE, restart, 30),
    Check("A11", "a bond's port pulled", MODE, bond, 30),
    Check("A10", "rdmactl asap2 disable: as before", MODE, disable, 900),
]
