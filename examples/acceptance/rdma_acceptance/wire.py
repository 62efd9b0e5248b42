# SPDX-License-Identifier: Apache-2.0
"""Raw frames of Ethernet, which a container sends and the other port hears. They are sent from a container's network by a process of
the kit's own: `python3 wire.py NETDEV SOURCE`; heard in this one. The EtherType is one for local experiments (IEEE 802)."""
from __future__ import annotations

import socket
import struct
import sys
import time
from collections.abc import Callable

EXPERIMENT = 0x88B5
SOL_PACKET, ADD_MEMBERSHIP, AUXDATA, PROMISC = 263, 1, 8, 1
VLAN_VALID = 1 << 4
MARK = b"rdma-hook-acceptance"


def frame(source: str) -> bytes:
    return b"\xff" * 6 + bytes.fromhex(source.replace(":", "")) + struct.pack("!H", EXPERIMENT) + MARK.ljust(46, b"\0")


def send(netdev: str, source: str) -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        raw.bind((netdev, 0))
        for _ in range(5):
            raw.send(frame(source))


class Ear:
    """Hears all frames of a netdev, tagged ones too, until it is closed."""

    def __init__(self, netdev: str) -> None:
        self._raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self._raw.bind((netdev, 3))
        self._raw.setsockopt(SOL_PACKET, AUXDATA, 1)
        self._raw.setsockopt(SOL_PACKET, ADD_MEMBERSHIP, struct.pack("=iHH8s", socket.if_nametoindex(netdev), PROMISC, 0, b""))

    def __enter__(self) -> "Ear":
        return self

    def __exit__(self, *_: object) -> None:
        self._raw.close()

    def hear(self, limit: float, fits: Callable[[bytes], bool]) -> int | None:
        """The VLAN of the first of the kit's frames that fits, 0 without a tag; None if none comes."""
        end = time.monotonic() + limit
        while (left := end - time.monotonic()) > 0:
            self._raw.settimeout(left)
            try:
                data, more, _, _ = self._raw.recvmsg(2048, 256)
            except socket.timeout:
                return None
            vlan = 0
            for level, kind, value in more:
                if (level, kind) == (SOL_PACKET, AUXDATA) and len(value) >= 18 and struct.unpack_from("=I", value)[0] & VLAN_VALID:
                    vlan = struct.unpack_from("=H", value, 16)[0] & 0xFFF
            kind, body = struct.unpack_from("!H", data, 12)[0], data[14:]
            if kind in (0x8100, 0x88A8):
                vlan, kind, body = struct.unpack_from("!H", data, 14)[0] & 0xFFF, struct.unpack_from("!H", data, 16)[0], data[18:]
            if kind == EXPERIMENT and body.startswith(MARK) and fits(data):
                return int(vlan)
        return None


if __name__ == "__main__":
    send(sys.argv[1], sys.argv[2])
