#!/usr/bin/python3 -ISB
# SPDX-License-Identifier: Apache-2.0
"""In the place of the programs that examples/acceptance calls, by the name that it is called by. A container is a file container-NAME
in the folder STAND_IN, `calls` has all calls, and with a file `slow` there a container's start does not end."""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

name, words = Path(sys.argv[0]).name, sys.argv[1:]
folder = Path(os.environ["STAND_IN"])
with (folder / "calls").open("a") as stream:
    stream.write(" ".join([name, *words]) + "\n")
if name == "podman" and words[0] == "run":
    container = words[words.index("--name") + 1]
    sleeper = subprocess.Popen(["sleep", "100"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    (folder / f"container-{container}").write_text(str(sleeper.pid))
    if (folder / "slow").exists():
        time.sleep(1000)
    print(container)
elif name == "podman" and words[0] == "rm":
    for each in words[-1:]:
        file = folder / f"container-{each}"
        if not file.exists():
            sys.exit(f"Error: no such container {each}")
        subprocess.run(["kill", "-9", file.read_text()], stderr=subprocess.DEVNULL, check=False)
        file.unlink()
elif name == "podman" and words[:2] == ["image", "inspect"] or words[:1] == ["--version"]:
    print(f"{name} 1")
elif name == "rdmactl" and words[0] == "show":
    pid = int((folder / f"container-{words[1]}").read_text())
    print(json.dumps({"container": {"pid": pid, "granted": {"attachments": [{"device": "rxe1", "provider": "rxe", "netdev": "rdma0",
                                                                           "addresses": ["10.77.0.1/24"]}]}}}))
elif name == "rdmactl" and words[0] == "verify":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "report"))
    import samples

    document = samples.report([samples.result(samples.point(), 1e9)])
    document["errors"] = []
    print(json.dumps({"client": {"out": document}}))
elif name == "rdmactl" and words[0] == "list":
    print(json.dumps({"containers": [], "dirty": []}))
elif name in ("ip", "rdma") and "-j" in words:
    print("[]")
elif "monitor" in words:
    (folder / f"monitor-{os.getpid()}").touch()
    time.sleep(1000)
