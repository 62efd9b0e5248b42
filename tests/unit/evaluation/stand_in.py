#!/usr/bin/python3 -BIS
# SPDX-License-Identifier: Apache-2.0
"""In the place of rdma-perf where there is no RDMA: writes the report of what it was asked for, and logs what it measured."""
import os
import sys
import time

words = sys.argv[1:]
if words[0] == "serve":
    with open(f"{os.environ['STAND_IN']}/serves-{words[2]}", "a", encoding="ascii"):
        pass
    time.sleep(1000)

import json  # a server needs none of these, and a probe of one that is not there yet is tried again
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "report"))
import samples

folder = Path(os.environ["STAND_IN"])
address = words[1]
if not (folder / f"serves-{address}").exists():
    sys.exit(5)
calls = "probe"
if "--iterations" not in words:
    with (folder / "calls").open("a") as stream:
        stream.write(" ".join(words) + "\n")
    calls = str(len((folder / "calls").read_text().splitlines()))
trouble = folder / f"trouble-{calls}"
if trouble.exists() and trouble.read_text() == "hang":
    time.sleep(1000)
if trouble.exists():
    status = int(trouble.read_text())
    if calls == "probe":  # once; the others have a number each
        trouble.unlink()
    sys.exit(status)
mtus = json.loads((folder / "mtus").read_text())
mtu = int(words[words.index("--mtu") + 1]) if "--mtu" in words else mtus[address]
if (folder / f"mtu-{calls}").exists():
    mtu = int((folder / f"mtu-{calls}").read_text())
results = [samples.result(samples.point(mtu_bytes=mtu), 1e6)]
document = samples.thesis(words[words.index("--suite") + 1], results) if words[0] == "thesis" else samples.report(results)
netdevs = json.loads((folder / "netdevs").read_text()) if (folder / "netdevs").exists() else {}
for side in ("client", "server"):
    document["env"][side]["device"]["netdev"] = netdevs.get(address, "lo")
print(json.dumps(document))
