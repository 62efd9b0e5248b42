# SPDX-License-Identifier: Apache-2.0
"""Numbers that others published, with the source of each; and what their two sides had unequal."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .documents import VERBS, Point
from .strict import load

SCHEMA = "rdma-perf-published/1"
OURS = Path(__file__).with_name("published.json")
# Published metric: ours, and the factor to its unit.
METRICS = {"latency": ("p50_ns", "lat"), "bandwidth": ("bandwidth_bytes_per_s", "bw"), "client_cores": ("client_cores", "bw"),
           "server_cores": ("server_cores", "bw"), "multi_dev_bandwidth": ("bandwidth_bytes_per_s", "bw")}
SUITE = {"latency": "basic", "bandwidth": "basic", "client_cores": "cpu", "server_cores": "cpu", "multi_dev_bandwidth": "multi_dev"}
# Ethernet, IPv4, UDP, BTH and ICRC around each packet of RoCE v2: perf/verbs/limit.h has the whole model.
PACKET_OVERHEAD = 8 + 12 + 14 + 4 + 20 + 8 + 12 + 4


@dataclass(frozen=True)
class Side:
    what: str
    mtu: int


@dataclass(frozen=True)
class PublishedSystem:
    mode: str
    name: str
    link_bits_per_s: int
    host: Side
    container: Side

    def limit_ratio(self) -> float:
        """What the two path MTUs alone make of container/host, where the link is what limits."""
        return _payload_share(self.container.mtu) / _payload_share(self.host.mtu)


@dataclass(frozen=True)
class Value:
    system: PublishedSystem
    metric: str
    unit: str
    point: Point
    host: float | None
    container: float
    source: str
    figure: str

    @property
    def ratio(self) -> float | None:
        return self.container / self.host if self.host else None

    @property
    def unequal_mtu(self) -> bool:
        return self.system.host.mtu != self.system.container.mtu


@dataclass(frozen=True)
class Publication:
    name: str
    title: str
    url: str
    revision: str
    method: tuple[str, ...]
    systems: tuple[PublishedSystem, ...]
    values: tuple[Value, ...]


def _payload_share(mtu: int) -> float:
    return mtu / (mtu + PACKET_OVERHEAD)


def read(path: Path) -> Publication:
    node = load(path)
    node["schema"].word((SCHEMA,))
    systems = {}
    for each in node["systems"].items(100):
        sides = [Side(each[side]["what"].text(200), each[side]["mtu_bytes"].count()) for side in ("host", "container")]
        systems[each["mode"].text(40)] = PublishedSystem(each["mode"].text(40), each["name"].text(60), each["link_bits_per_s"].count(), *sides)
    values = []
    for table in node["tables"].items(1000):
        metric = table["metric"].word(tuple(METRICS))
        mode = table["mode"].word(tuple(systems))
        for row in table["rows"].items(1000):
            point = Point(SUITE[metric], row["verb"].word(VERBS), METRICS[metric][1], row["size_bytes"].count(),
                          row.optional_count("clients", 1), 1, "rc", "exchange")
            values.append(Value(systems[mode], metric, table["unit"].text(20), point, row.optional_number("host"),
                                row["container"].number(), table["source"].text(), table["figure"].text()))
    url = node["url"].text()
    if not url.startswith("https://"):
        node["url"].fail("is no https address")
    return Publication(node["name"].text(40), node["title"].text(), url, node["revision"].text(60), node["method"].texts(50),
                       tuple(systems.values()), tuple(values))
