# SPDX-License-Identifier: Apache-2.0
"""Filter rdma_pfs_faults: says what is wrong with rdma_pfs, the list of a host's PFs; one phrase for each fault."""
from collections.abc import Mapping, Sequence

KEYS = ("device", "vfs", "mode", "bridge")
MODES = ("vf", "asap2")


def faults_of(entry):
    """Those of one PF. Values of templates are words, so that a number may be one."""
    device = entry["device"]
    for key in entry:
        if key not in KEYS:
            yield f"{device} has an unknown key {key}: use {', '.join(KEYS)}"
    if entry.get("mode", "vf") not in MODES:
        yield f"{device} has mode {entry['mode']}: use {' or '.join(MODES)}"
    if not str(entry.get("vfs", 1)).isdecimal() or int(entry.get("vfs", 1)) == 0:
        yield f"{device} has vfs {entry['vfs']}: use a number from 1 on"
    if entry.get("mode") == "vf" and "bridge" in entry:
        yield f"{device} has mode vf and bridge {entry['bridge']}: remove one of them"


def faults(pfs):
    if isinstance(pfs, str) or not isinstance(pfs, Sequence):
        return [f"{pfs} is no list: use one such as [{{device: enp65s0f0np0, vfs: 8}}]"]
    found = []
    devices = []
    for number, entry in enumerate(pfs, start=1):
        if not isinstance(entry, Mapping) or not isinstance(entry.get("device"), str) or not entry["device"]:
            found.append(f"entry {number} has no device: name the PF")
            continue
        found += faults_of(entry)
        if devices.count(entry["device"]) == 1:
            found.append(f"{entry['device']} is there twice: remove one")
        devices.append(entry["device"])
    return found


class FilterModule:
    def filters(self):
        return {"rdma_pfs_faults": faults}
