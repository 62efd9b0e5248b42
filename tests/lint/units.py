#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on units of systemd, and on advice, that know the names of one distribution only.

usage: units.py ROOT

A unit that waits for Open vSwitch names it as Debian and as Red Hat and SUSE do; one that comes before an engine comes before all
of them. In the programs the names stand in one place for each sentence: ADVICE.
"""
import re
import sys
from pathlib import Path

OVS = {"openvswitch-switch.service", "openvswitch.service"}
ENGINES = {f"{name}.service" for name in ("docker", "containerd", "crio", "podman", "podman-restart", "slurmd")}
UNITS = "runtime-config/install/systemd"
ADVICE = {"netns/ovs.h", "hook/rdmactl/asap2/bridge_setup.h"}


def check(root):
    for path in sorted((root / UNITS).glob("*.in")):
        where, text = path.relative_to(root), path.read_text(encoding="utf-8")
        for line, value in re.findall(r"^((?:Wants|After|Before)=(.*))$", text, re.MULTILINE):
            for names in (OVS, ENGINES):
                lacking = names - set(value.split())
                if lacking and lacking != names:
                    yield f"{where}: {line} lacks {' '.join(sorted(lacking))}"
    if not any((root / UNITS).glob("*.in")):
        yield f"{UNITS}: no unit was found"
    for path in sorted(path for folder in ("hook", "netns", "runtime-config") for path in (root / folder).rglob("*.[ch]*")):
        name = str(path.relative_to(root))
        if name not in ADVICE and "openvswitch-switch" in path.read_text(encoding="utf-8"):
            yield f"{name}: names Debian's openvswitch-switch: use {' or '.join(sorted(ADVICE))}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    problems = list(check(Path(sys.argv[1])))
    print("\n".join(problems) or "units: they know each distribution's names")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
