# SPDX-License-Identifier: Apache-2.0
"""Sysfs and the kernel's netlink answers in the form of tests/data, so that an owner's adapter becomes a fixture."""
from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

from .host import PCI, Pf, names_in, text_of

# The files of a function, its netdevs and its RDMA devices that programs of the project read, and some that tell adapters apart.
OF_FUNCTION = ("vendor", "device", "subsystem_vendor", "subsystem_device", "class", "revision", "numa_node", "local_cpulist", "sriov_totalvfs",
               "sriov_numvfs", "sriov_offset", "sriov_stride", "sriov_drivers_autoprobe")
OF_NETDEV = ("ifindex", "dev_port", "type", "address", "mtu", "phys_port_name", "phys_switch_id", "operstate", "carrier")
OF_RDMA = ("node_type", "node_guid", "fw_ver", "board_id", "hca_type")
OF_PORT = ("state", "phys_state", "link_layer", "rate", "lid")
MOST_VFS = 8  # recorded of a PF: the others are alike
MOST_GIDS = 32
MOST_TEXT = 200


class Tree:
    """Lines `PATH = TEXT`, `PATH -> TARGET` and `PATH/`, below /sys."""

    def __init__(self, sys: Path) -> None:
        self._sys = sys.resolve()
        self.lines: list[str] = []

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self._sys))

    def file(self, path: Path) -> None:
        text = text_of(path, "\0")
        if text != "\0" and text.isprintable() and len(text) <= MOST_TEXT:
            self._add(f"{self._name(path)} = {text}".rstrip())

    def link(self, path: Path) -> Path | None:
        """Records a link within sysfs, and returns its target."""
        if not path.is_symlink():
            return None
        target = path.resolve()
        if self._sys not in target.parents:
            return None
        self._add(f"{self._name(path)} -> {os.readlink(path)}")
        return target

    def folder(self, path: Path) -> None:
        if path.is_dir():
            self._add(f"{self._name(path)}/")

    def _add(self, line: str) -> None:
        if line not in self.lines and " " not in line.split(" ", 1)[0]:
            self.lines.append(line)


def function(tree: Tree, sys: Path, bus: str, name: str) -> None:
    """A function of a bus: its files, driver, VFs' names, netdevs and RDMA devices."""
    tree.lines.append("")
    entry = sys / "bus" / bus / "devices" / name
    folder = tree.link(entry) or entry.resolve()
    for each in OF_FUNCTION:
        tree.file(folder / each)
    driver = tree.link(folder / "driver")
    tree.link(folder / "physfn")
    for each in names_in(folder):
        if each.startswith("virtfn") and each[6:].isdigit() and int(each[6:]) < MOST_VFS:
            tree.link(folder / each)
    tree.folder(folder / "net")
    for each in names_in(folder / "net"):
        netdev(tree, sys, folder / "net" / each)
    for each in names_in(folder / "infiniband"):
        rdma(tree, sys, folder / "infiniband" / each)
    for each in ("bind", "unbind") if driver else ():
        tree.lines.append(f"{driver.relative_to(sys.resolve())}/{each} =")  # these can only be written


def netdev(tree: Tree, sys: Path, folder: Path) -> None:
    for each in OF_NETDEV:
        tree.file(folder / each)
    tree.link(folder / "device")
    tree.link(sys / "class/net" / folder.name)


def rdma(tree: Tree, sys: Path, folder: Path) -> None:
    for each in OF_RDMA:
        tree.file(folder / each)
    tree.link(folder / "device")
    tree.link(sys / "class/infiniband" / folder.name)
    for port in names_in(folder / "ports"):
        for each in OF_PORT:
            tree.file(folder / "ports" / port / each)
        for index in sorted(names_in(folder / "ports" / port / "gids"), key=int)[:MOST_GIDS]:
            tree.file(folder / "ports" / port / "gids" / index)
            tree.file(folder / "ports" / port / "gid_attrs/types" / index)
            tree.file(folder / "ports" / port / "gid_attrs/ndevs" / index)


def sysfs_of(pfs: list[Pf], sys: Path) -> str:
    tree = Tree(sys)
    sys = sys.resolve()
    for pf in pfs:
        if not pf.folder:
            continue
        bus = "pci" if PCI.fullmatch(pf.address) else pf.address.split("/")[0]
        function(tree, sys, bus, pf.folder.name)
        for number in range(min(MOST_VFS, pf.num_vfs)):
            vf = pf.vf(number)
            if vf:
                function(tree, sys, bus, vf.name)
    seen: set[str] = set()
    lines = [line for line in tree.lines if not line or not (line in seen or seen.add(line))]  # type: ignore[func-returns-value]
    return "\n".join(lines).strip() + "\n" if any(lines) else ""


# ---- netlink -------------------------------------------------------------------------------------------------
NETLINK_ROUTE, NETLINK_GENERIC, NETLINK_RDMA = 0, 16, 20
REQUEST, DUMP, ACK = 1, 0x300, 4
ERROR, DONE = 2, 3
RTM_GETLINK, IFLA_EXT_MASK, VF_AND_NO_STATISTICS = 18, 29, 1 | 8
GENL_CTRL, GETFAMILY, FAMILY_NAME = 16, 3, 2
DEVLINK_BUS, DEVLINK_DEVICE, DEVLINK_PORT_GET, DEVLINK_ESWITCH_GET = 1, 2, 5, 29
RDMA_NLDEV, NLDEV_GET, NLDEV_SYS_GET = 5, 1, 6
ANSWER = 1 << 20  # bytes, of all messages to one question


def attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def messages(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Type, flags and all bytes of each message; ends at one that is cut off."""
    while len(data) >= 16:
        length, kind, flags = struct.unpack_from("=IHH", data)
        if not 16 <= length <= len(data):
            return
        yield kind, flags, data[:length]
        data = data[(length + 3) & ~3:]


def ask(family: int, kind: int, flags: int, body: bytes) -> bytes:
    """The kernel's answer, byte for byte: a dump to its end, else the first datagram."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, family) as plain:
        plain.settimeout(5)
        plain.bind((0, 0))
        plain.send(struct.pack("=IHHII", 16 + len(body), kind, REQUEST | flags, 1, 0) + body)
        answer = b""
        while len(answer) < ANSWER:
            part = plain.recv(256 << 10)
            answer += part
            if not flags & DUMP or any(each in (ERROR, DONE) for each, _, _ in messages(part)):
                break
        return answer


def devlink_family() -> int:
    """The number of devlink's family; 0: the kernel has none."""
    answer = ask(NETLINK_GENERIC, GENL_CTRL, 0, struct.pack("=BBH", GETFAMILY, 1, 0) + attribute(FAMILY_NAME, b"devlink\0"))
    for kind, _, message in messages(answer):
        if kind == ERROR:
            return 0
        rest = message[20:]
        while len(rest) >= 4:
            length, name = struct.unpack_from("=HH", rest)
            if length < 4:
                return 0
            if name == 1:  # CTRL_ATTR_FAMILY_ID
                return int(struct.unpack_from("=H", rest, 4)[0])
            rest = rest[(length + 3) & ~3:]
    return 0


def of_handle(handle: str) -> bytes:
    bus, device = handle.split("/")
    return attribute(DEVLINK_BUS, bus.encode() + b"\0") + attribute(DEVLINK_DEVICE, device.encode() + b"\0")


def link_question(index: int) -> bytes:
    return struct.pack("=BBHiII", 0, 0, 0, index, 0, 0) + attribute(IFLA_EXT_MASK, struct.pack("=I", VF_AND_NO_STATISTICS))


def netlink_of(pfs: list[Pf]) -> str:
    """Lines `QUESTION = HEX`: questions that rdma-hook asks of adapters, and the answers."""
    lines = []

    def record(name: str, family: int, kind: int, flags: int, body: bytes) -> None:
        try:
            lines.append(f"{name} = {ask(family, kind, flags, body).hex()}")
        except OSError:
            return  # this kernel has no such family

    devlink = devlink_family()
    for pf in pfs:
        if pf.net("ifindex").isdigit():
            record(f"rtnetlink/{pf.netdev}", NETLINK_ROUTE, RTM_GETLINK, 0, link_question(int(pf.net("ifindex"))))
        if pf.folder and devlink:
            question = struct.pack("=BBH", DEVLINK_ESWITCH_GET, 1, 0) + of_handle(pf.handle)
            record(f"devlink/{pf.handle}/eswitch", NETLINK_GENERIC, devlink, ACK, question)
    if devlink:
        record("devlink/ports", NETLINK_GENERIC, devlink, DUMP, struct.pack("=BBH", DEVLINK_PORT_GET, 1, 0))
    record("nldev/system", NETLINK_RDMA, RDMA_NLDEV << 10 | NLDEV_SYS_GET, 0, b"")
    record("nldev/devices", NETLINK_RDMA, RDMA_NLDEV << 10 | NLDEV_GET, DUMP, b"")
    return "\n".join(lines) + "\n"
