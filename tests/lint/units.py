#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on units of systemd, and on advice, that know the names of one distribution only; and on a unit's limit of starts that never counts.

usage: units.py ROOT

A unit that waits for Open vSwitch names it as Debian and as Red Hat and SUSE do; one that comes before an engine comes before all
of them. In the programs the names stand in one place for each sentence: ADVICE.
StartLimitBurst counts starts within StartLimitIntervalSec: that must be longer than so many starts that each take TimeoutStartSec.
"""
import re
import sys
from pathlib import Path

OVS = {"openvswitch-switch.service", "openvswitch.service"}
ENGINES = {f"{name}.service" for name in ("docker", "containerd", "crio", "podman", "podman-restart", "slurmd")}
UNITS = "runtime-config/install/systemd"
ADVICE = {"netns/ovs.h", "hook/rdmactl/asap2/bridge_setup.h"}
SECONDS = {"": 1, "s": 1, "min": 60, "h": 3600}


def seconds(text, setting):
    """A setting's time; None without it."""
    found = re.search(rf"^{setting}=(\d+)(\w*)$", text, re.MULTILINE)
    return int(found[1]) * SECONDS[found[2]] if found else None


def check(root):
    for path in sorted((root / UNITS).glob("*.in")):
        where, text = path.relative_to(root), path.read_text(encoding="utf-8")
        for line, value in re.findall(r"^((?:Wants|After|Before)=(.*))$", text, re.MULTILINE):
            for names in (OVS, ENGINES):
                lacking = names - set(value.split())
                if lacking and lacking != names:
                    yield f"{where}: {line} lacks {' '.join(sorted(lacking))}"
        burst, interval, timeout = (seconds(text, each) for each in ("StartLimitBurst", "StartLimitIntervalSec", "TimeoutStartSec"))
        if burst and interval and timeout and interval <= burst * (timeout + (seconds(text, "RestartSec") or 0)):
            yield f"{where}: {burst} starts of up to {timeout} s do not fall into StartLimitIntervalSec"
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
