# SPDX-License-Identifier: Apache-2.0
"""Pools of several hosts whose address ranges overlap: leases are each host's own, so both would give out one address."""
from ipaddress import ip_address


def ranges_of(host, pools):
    """Those that rdmactl config check will refuse anyway are left out."""
    for name, pool in pools.items():
        probed = pool.get("probe", pool.get("mode") == "shared")
        given = pool.get("range", [])
        for text in [given] if isinstance(given, str) else given:
            try:
                first, last = (ip_address(each) for each in text.partition("/")[0].split("-"))
                yield {"first": (first.version, first), "last": (last.version, last), "probed": probed, "host": host,
                       "text": f"{host}: pool {name}, {text}"}
            except ValueError:
                pass


def clashes(pools_of_hosts):
    """{host: pools} -> sentences, none if all is well. Two pools that both ask the network first may overlap."""
    found, before = [], []
    ranges = [each for host, pools in pools_of_hosts.items() for each in ranges_of(host, pools)]
    for each in sorted(ranges, key=lambda each: each["first"]):
        before = [other for other in before if other["last"] >= each["first"]]
        found += [f"{other['text']} and {each['text']}" for other in before
                  if other["host"] != each["host"] and not (other["probed"] and each["probed"])]
        before.append(each)
    return found


class FilterModule:
    def filters(self):
        return {"rdma_hook_clashes": clashes}
