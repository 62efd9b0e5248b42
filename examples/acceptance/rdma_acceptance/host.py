# SPDX-License-Identifier: Apache-2.0
"""This host as sysfs and iproute2 show it: the adapter under test, and the picture of all that must be as before."""
from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .tools import Failed, Tools

NAME = re.compile(r"[A-Za-z0-9_.:@-]{1,64}(/[A-Za-z0-9_.:@-]{1,64})?")
PCI = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]")
SYS = Path("/sys")


class NoSuchPf(Exception):
    """An argument that names no adapter of this host."""


def text_of(path: Path, missing: str = "") -> str:
    try:
        with path.open("rb") as stream:
            return stream.read(64 << 10).decode(errors="replace").strip()
    except OSError:
        return missing


def virtual(processors: str, vendor: str, clocks: str) -> str:
    """By /proc/cpuinfo, DMI's vendor and the clock sources that there are: empty, virtual, or emulated (QEMU without KVM, whose
    guests have no clock of KVM)."""
    if not re.search(r"^flags\s*:.*\bhypervisor\b", processors, re.MULTILINE):
        return ""
    return "emulated" if "QEMU" in vendor and "kvm-clock" not in clocks.split() else "virtual"


def names_in(path: Path) -> list[str]:
    try:
        return sorted(each.name for each in path.iterdir())
    except OSError:
        return []


def number_of(path: Path, missing: int = 0) -> int:
    text = text_of(path)
    return int(text) if re.fullmatch(r"-?\d{1,10}", text) else missing


@dataclass
class Pf:
    """An adapter's port: a PCI function, a device of another bus (netdevsim), or a netdev without either (SoftRoCE's parent)."""

    given: str
    netdev: str
    address: str = ""  # 0000:3b:00.0, or netdevsim/netdevsim1
    folder: Path | None = None  # in sysfs
    sys: Path = SYS

    @property
    def handle(self) -> str:
        """As devlink names it."""
        return f"pci/{self.address}" if PCI.fullmatch(self.address) else self.address

    @property
    def label(self) -> str:
        return self.netdev or self.given

    def net(self, name: str) -> str:
        return text_of(self.sys / "class/net" / self.netdev / name)

    @property
    def rdma(self) -> list[str]:
        """Its own RDMA devices, the first for its first port."""
        return names_in(self.folder / "infiniband") if self.folder else []

    @property
    def driver(self) -> str:
        link = self.folder / "driver" if self.folder else self.sys / "class/net" / self.netdev / "device/driver"
        return link.resolve().name if link.exists() else ""

    @property
    def total_vfs(self) -> int:
        return number_of(self.folder / "sriov_totalvfs") if self.folder else 0

    @property
    def num_vfs(self) -> int:
        return number_of(self.folder / "sriov_numvfs") if self.folder else 0

    @property
    def infiniband(self) -> bool:
        return self.net("type") == "32"

    def vf(self, number: int) -> Path | None:
        link = self.folder / f"virtfn{number}" if self.folder else None
        return link.resolve() if link and link.exists() else None


def find_pf(given: str, sys: Path = SYS) -> Pf:
    """By netdev, PCI address, RDMA device, or devlink's BUS/DEVICE."""
    if not NAME.fullmatch(given) or ".." in given:
        raise NoSuchPf(f"'{given}' names no adapter")
    if "/" in given:
        bus, device = given.split("/")
        folder = sys / "bus" / bus / "devices" / device
        address = device if bus == "pci" else given
    elif PCI.fullmatch(given):
        folder, address = sys / "bus/pci/devices" / given, given
    elif (sys / "class/net" / given).exists():
        device = sys / "class/net" / given / "device"
        if not device.exists():
            return Pf(given, given, sys=sys)
        return of_folder(given, device.resolve(), sys, given)
    elif (sys / "class/infiniband" / given / "device").exists():
        return of_folder(given, (sys / "class/infiniband" / given / "device").resolve(), sys)
    else:
        raise NoSuchPf(f"no network interface, PCI function or RDMA device '{given}': ip link; rdma dev")
    if not folder.exists():
        raise NoSuchPf(f"there is no {given}")
    return Pf(given, uplink_in(folder), address, folder.resolve(), sys)


def of_folder(given: str, folder: Path, sys: Path, netdev: str = "") -> Pf:
    subsystem = folder / "subsystem"
    bus = subsystem.resolve().name if subsystem.exists() else "pci"
    return Pf(given, netdev or uplink_in(folder), folder.name if bus == "pci" else f"{bus}/{folder.name}", folder, sys)


def uplink_in(folder: Path) -> str:
    """Of the netdevs of a function its own, not the representors."""
    for name in names_in(folder / "net"):
        if not re.match(r"(c\d+)?pf\d+", text_of(folder / "net" / name / "phys_port_name")):
            return name
    return ""


def representors(folder: Path) -> dict[str, str]:
    """Netdev by the name of its port, as pf0vf1."""
    found = {}
    for name in names_in(folder / "net"):
        port = text_of(folder / "net" / name / "phys_port_name")
        if re.match(r"(c\d+)?pf\d+", port):
            found[port] = name
    return found


def gids_of(device: str, sys: Path = SYS) -> dict[int, tuple[str, str, str]]:
    """Of port 1, as this namespace's reader sees them: index to GID, netdev and type. Empty entries are left out."""
    port = sys / "class/infiniband" / device / "ports/1"
    found = {}
    for name in names_in(port / "gids"):
        gid = text_of(port / "gids" / name)
        if gid.strip("0:"):
            kind, netdev = (text_of(port / "gid_attrs" / each / name) for each in ("types", "ndevs"))
            found[int(name)] = (gid, netdev, kind)
    return found


@dataclass
class Facts:
    """Facts for all checks, asked once."""

    kernel: str = ""
    exclusive: bool = False
    modes: tuple[str, ...] = ()
    address: str = "10.77.0.1/24"
    peer: str = ""
    bridge: str = ""
    size: str = ""  # of messages
    pools: tuple[str, str] = ("", "")
    numbers: dict[str, Any] = field(default_factory=dict)  # the five that people compare
    platform: dict[str, Any] = field(default_factory=dict)


# ---- all that must be as before ------------------------------------------------------------------------------
PASSING = {"LOWER_UP", "NO-CARRIER"}  # flags that follow the wire


def link_line(link: dict[str, Any]) -> str:
    """All of a link that an attach or an administrator may change, with the PF's table of VFs."""
    kept = {key: link[key] for key in ("address", "mtu", "master", "ifalias") if key in link}
    kept["kind"] = link.get("linkinfo", {}).get("info_kind", "")
    kept["flags"] = sorted(set(link.get("flags", [])) - PASSING)
    vfs = [{key: value for key, value in vf.items() if key != "stats"} for vf in link.get("vfinfo_list", [])]
    if vfs:
        kept["vfs"] = vfs
    return f"link {link['ifname']} {json.dumps(kept, sort_keys=True)}"


def is_engines(link: dict[str, Any]) -> bool:
    """True for interfaces that container engines make: others may start containers meanwhile."""
    return link.get("linkinfo", {}).get("info_kind") == "veth" and "link_netnsid" in link


def picture(tools: Tools, pfs: list[Pf]) -> list[str]:
    """Links, VFs, RDMA devices, e-switches, bridges and rdma-hook's containers, a line each."""
    lines = []
    links = tools.look(["ip", "-d", "-j", "link", "show"])
    if not links.ok:  # then nothing would differ
        raise Failed(links.said())
    for link in json.loads(links.out or "[]"):
        if not is_engines(link):
            lines.append(link_line(link))
    for each in json.loads(tools.look(["ip", "-j", "address", "show"]).out or "[]"):
        for address in each.get("addr_info", []):
            if address.get("scope") == "global":
                lines.append(f"address {each['ifname']} {address['local']}/{address['prefixlen']}")
    for each in json.loads(tools.look(["rdma", "-j", "dev", "show"]).out or "[]"):
        lines.append(f"rdma {each['ifname']} {each.get('node_guid', '')}")
    lines += [f"GIDs of {device}: {len(gids_of(device))}" for device in names_in(SYS / "class/infiniband")]
    for pf in pfs:
        if pf.folder:
            lines.append(f"VFs of {pf.label}: {pf.num_vfs}")
            lines.append(f"e-switch of {pf.label}: {tools.look(['devlink', 'dev', 'eswitch', 'show', pf.handle]).out.strip()}")
    for words in (["ovs-vsctl", "--timeout=10", "--format=csv", "--no-headings", "--columns=name,tag,trunks", "list", "Port"],
                  ["ovs-vsctl", "--timeout=10", "get", "Open_vSwitch", ".", "other_config"]):
        done = tools.look(words)
        if done.ok:
            lines += [f"Open vSwitch: {line}" for line in sorted(done.out.splitlines())]
    kept = json.loads(tools.look(["rdmactl", "list", "--json"]).out or "{}")
    lines += [f"container {each.get('id')} {each.get('state')}" for each in kept.get("containers", [])]
    lines += [f"not undone {each.get('attachment')}" for each in kept.get("dirty", [])]
    lines += [f"namespace {line.split()[0]}" for line in tools.look(["ip", "netns", "list"]).out.splitlines() if line.strip()]
    return sorted(lines)


def difference(before: list[str], after: list[str]) -> list[str]:
    """Lines that have gone with a minus, new ones with a plus."""
    return [f"-{line}" for line in before if line not in after] + [f"+{line}" for line in after if line not in before]
