# SPDX-License-Identifier: Apache-2.0
"""I: the host and its adapter; these checks change nothing. P: the way to the peer."""
from __future__ import annotations

import re
import socket
from pathlib import Path

from .host import PCI, SYS, gids_of, names_in, representors, text_of, virtual
from .modes import Traffic, to_peer
from .run import Check, Run
from .tools import Failed, Skipped

MODULES = ("ib_core", "ib_uverbs", "rdma_rxe", "mlx5_core", "mlx5_ib", "ice", "irdma", "bnxt_en", "bnxt_re", "igb", "igbvf")
MANAGERS = ("NetworkManager", "systemd-networkd", "opensm", "ibacm", "ovs-vswitchd", "rdma-ndd")
LSPCI = re.compile(r"^\S|SR-IOV|Initial VFs|Number of VFs|ACSC|ACSCtl|NUMA|LnkSta:|LnkCap:|Kernel driver|Serial", re.MULTILINE)


def os_name() -> str:
    found = re.search(r'^PRETTY_NAME="?([^"\n]*)', text_of(Path("/etc/os-release")), re.MULTILINE)
    return found[1] if found else "unknown system"


def system(run: Run) -> str:
    run.tools.note(text_of(Path("/etc/os-release")))
    done = run.tools.run(["modinfo", "-F", "filename", *[each for each in MODULES if run.tools.run(["modinfo", "-F", "filename", each]).ok]])
    # OFED's and other modules that are not the kernel's own.
    foreign = sorted({line.rpartition("/")[2] for line in done.out.splitlines() if line.startswith("/") and "/kernel/drivers/" not in line})
    ofed = run.tools.run(["ofed_info", "-s"])
    version = run.tools.need(["rdmactl", "--version"]).out.strip()
    engine = run.tools.run([run.engine.name, "--version"]).out.strip()
    run.facts.platform |= {"kernel": run.facts.kernel, "system": os_name(), "rdma_hook": version, "engine": engine, "machine": run.facts.platform.get("machine", ""),
                           "modules_not_of_the_kernel": foreign, "ofed": ofed.out.strip().rstrip(":") if ofed.ok else "",
                           "virtual": virtual(text_of(Path("/proc/cpuinfo")), text_of(SYS / "class/dmi/id/sys_vendor"),
                                              text_of(SYS / "devices/system/clocksource/clocksource0/available_clocksource"))}
    return ", ".join(filter(None, (os_name(), run.facts.kernel, version, engine))) + (f"; not the kernel's own: {', '.join(foreign)}" if foreign else "")


def rdma(run: Run) -> str:
    for words in (["rdma", "system", "show"], ["rdma", "-d", "-j", "dev", "show"], ["rdma", "-d", "-j", "link", "show"], ["rdma", "statistic", "show"]):
        run.tools.run(words)
    devices = names_in(SYS / "class/infiniband")
    mode = "exclusive" if run.facts.exclusive else "shared"
    run.facts.platform["rdma_mode"] = mode
    return f"mode {mode}; devices: {', '.join(devices) or 'none'}"


def devlink(run: Run) -> str:
    for words in (["devlink", "-j", "dev", "info"], ["devlink", "-j", "port", "show"], ["devlink", "-j", "dev", "param", "show"]):
        run.tools.run(words)
    seen = []
    for pf in (run.pf, run.pf2):
        if not pf or not pf.folder:
            continue
        info = run.tools.run(["devlink", "-j", "dev", "info", pf.handle])
        firmware = re.search(r'"fw(?:\.version|\.mgmt)?": ?"([^"]+)"', info.out)
        if firmware:
            run.facts.platform["firmware"] = firmware[1]
        mode = re.search(r"mode (\w+)", run.tools.run(["devlink", "dev", "eswitch", "show", pf.handle]).out)
        seen.append(f"{pf.label}: {'e-switch ' + mode[1] if mode else 'no e-switch'}" + (f", firmware {firmware[1]}" if firmware else ""))
    return "; ".join(seen) or "no device of devlink is under test"


def links(run: Run) -> str:
    run.tools.run(["ip", "-j", "-d", "link", "show"])
    run.tools.run(["ip", "-j", "address", "show"])
    seen = []
    for pf in (run.pf, run.pf2):
        if not pf:
            continue
        if not pf.netdev:
            raise Failed(f"{pf.given} has no network interface here: mode shared and the VFs need it")
        if not int(pf.net("flags") or "0", 16) & 1:
            raise Failed(f"{pf.netdev} is down: ip link set {pf.netdev} up, then once more")
        if not run.tools.wait_for(10, lambda: pf.net("carrier") == "1"):  # type: ignore[union-attr]
            raise Failed(f"{pf.netdev} is up and has no carrier: cable, transceiver or the switch's port; ethtool {pf.netdev}")
        speed = pf.net("speed")
        seen.append(f"{pf.netdev} up, MTU {pf.net('mtu')}" + (f", {speed} Mbit/s" if speed.isdigit() else ""))
        if pf.num_vfs and PCI.fullmatch(pf.address) and " vf " not in run.tools.run(["ip", "link", "show", "dev", pf.netdev]).out:
            seen[-1] += ", tells nothing of its VFs: their settings are made elsewhere, on the DPU of a BlueField in DPU mode"
            run.facts.platform["vfs"] = "set up elsewhere"
        run.facts.platform.setdefault("link", f"{speed} Mbit/s" if speed.isdigit() else "")
    return "; ".join(seen)


def drivers(run: Run) -> str:
    seen = []
    for pf in (run.pf, run.pf2):
        if not pf or not pf.netdev:
            continue
        names = [pf.netdev]
        if pf.folder:
            vf = pf.vf(0)
            names += (names_in(vf / "net") if vf else [])[:1] + list(representors(pf.folder).values())[:1]
        for name in names:
            info = run.tools.run(["ethtool", "-i", name])
            run.tools.run(["ethtool", "-k", name])
            if info.status == 127:
                raise Skipped("there is no ethtool")
            driver = dict(line.split(": ", 1) for line in info.out.splitlines() if ": " in line)
            firmware = driver.get("firmware-version", "").strip()
            seen.append(f"{name}: {driver.get('driver', 'no driver')}" + (f" {firmware}" if firmware else ""))
            run.facts.platform.setdefault("driver", driver.get("driver", ""))
    return "; ".join(seen)


def sysfs(run: Run) -> str:
    text = run.record()
    if not text:
        raise Skipped(f"{run.pf.label} stands on no device; its answers of netlink are recorded")
    return f"{len(text.splitlines())} lines"


def gids(run: Run) -> str:
    seen = []
    for device in names_in(SYS / "class/infiniband"):
        table = gids_of(device)
        run.tools.note("\n".join(f"{device} {index} {gid} {netdev} {kind}" for index, (gid, netdev, kind) in sorted(table.items())))
        size = len(names_in(SYS / "class/infiniband" / device / "ports/1/gids"))
        seen.append(f"{device}: {len(table)} of {size} taken")
    return "; ".join(seen) or "no RDMA device is there yet"


def pci(run: Run) -> str:
    if not PCI.fullmatch(run.pf.address):
        raise Skipped(f"{run.pf.label} is no PCI function")
    done = run.tools.run(["lspci", "-vv", "-s", run.pf.address])
    if done.status == 127:
        raise Skipped("there is no lspci")
    first = done.out.splitlines()[0].split(" ", 1)[-1] if done.out else "nothing of it"
    run.facts.platform["adapter"] = first
    width = re.search(r"LnkSta:\s*(.*?)\s*$", done.out, re.MULTILINE)
    numa = text_of(SYS / "bus/pci/devices" / run.pf.address / "numa_node")
    return f"{first}; NUMA node {numa}" + (f"; {width[1]}" if width else "")


def managers(run: Run) -> str:
    running = {text_of(each / "comm") for each in Path("/proc").iterdir() if each.name.isdigit()}
    found = [name for name in MANAGERS if name[:15] in running]
    return ", ".join(found) or "nothing that is known"


def programs(run: Run) -> str:
    """rdmactl answers, and its doctor finds nothing that fails for the modes under test."""
    trouble = []
    for words in (["vf", "list"], ["asap2", "status"], ["list"]):
        done = run.tools.run(["rdmactl", *words, "--json"])
        if not done.ok:
            trouble.append(f"rdmactl {' '.join(words)}: {done.said()}")
    run.tools.run(["rdmactl", "list", "--failed", "--json"])
    checks = run.tools.run(["rdmactl", "doctor", "--json"]).json()["checks"]
    for each in checks:
        if each["status"] == "fail" and (not each["modes"] or set(each["modes"]) & set(run.facts.modes)):
            trouble.append(f"doctor {each['id']}: {each['why']}")
    if trouble:
        raise Failed("; ".join(trouble))
    warnings = [each["id"] for each in checks if each["status"] == "warning"]
    return "doctor has nothing that fails" + (f"; it warns of {', '.join(dict.fromkeys(warnings))}" if warnings else "")


# ---- the peer -------------------------------------------------------------------------------------------------
def peer_address(run: Run) -> str:
    if not run.facts.peer:
        raise Skipped("no --peer")
    try:
        return str(socket.getaddrinfo(run.facts.peer, None, socket.AF_INET)[0][4][0])
    except OSError as error:
        raise Failed(f"{run.facts.peer}: {error.strerror}") from error


def ping(run: Run, size: int) -> bool:
    a, _ = run.pair(run.facts.modes[0])
    words = ["ping", "-M", "do", "-c", "3", "-i", "0.3", "-W", "2", "-s", str(size - 28), peer_address(run)]
    done = run.tools.run(a.inside(words), 30)
    if done.status == 127:
        raise Skipped("there is no ping")
    return done.ok


def answers(run: Run) -> str:
    address = peer_address(run)
    a, _ = run.pair(run.facts.modes[0])
    if not run.tools.wait_for(20, lambda: ping(run, 64)):
        raise Failed(f"{address} does not answer {a.address}: one network, one VLAN? A macvlan does not reach its own host")
    return f"{address} answers {a.address}"


def frames(run: Run) -> str:
    address = peer_address(run)
    a, _ = run.pair(run.facts.modes[0])
    mtu = int(a.attached.get("mtu", 1500))
    if ping(run, mtu):
        return f"of {mtu} bytes"
    if not ping(run, 64):
        raise Skipped(f"{address} does not answer at all (P1)")
    least, most = 64, mtu
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if ping(run, middle) else (least, middle)
    raise Failed(f"a packet of {mtu} bytes does not reach {address}, one of {least} does: the MTU there, or of a switch between, is too small")


def path_mtu(run: Run) -> str:
    seen = run.kept.get("peer traffic")
    if not isinstance(seen, Traffic):
        to_peer(run, run.facts.modes[0])
        seen = run.kept["peer traffic"]
    ours, theirs = seen.mtu
    if ours != theirs:
        raise Failed(f"the path MTU is {ours} here and {theirs} at the peer: give both netdevs one MTU (4096 needs 4200)")
    return f"{ours} on both sides"


CHECKS = [
    Check("I1", "system, kernel and modules", "", system, 60),
    Check("I2", "RDMA devices", "", rdma, 60),
    Check("I3", "devlink", "", devlink, 60),
    Check("I4", "interfaces are up with carrier", "", links, 60),
    Check("I5", "drivers", "", drivers, 60),
    Check("I6", "sysfs and netlink of the adapter, as fixtures", "", sysfs, 60),
    Check("I7", "GID tables as the host sees them", "", gids, 60),
    Check("I8", "PCI", "", pci, 60),
    Check("I9", "managers of links that run", "", managers, 30),
    Check("I10", "rdmactl's own view", "", programs, 120),
]
# Of the first mode, before its containers end.
PEER = [
    ("P1", "the peer answers", answers, 300),
    ("P2", "full frames reach the peer", frames, 180),
    ("P3", "the path MTU is one", path_mtu, 150),
]
