# SPDX-License-Identifier: Apache-2.0
"""Records while checks run: monitors in the background, the kernel's log, the journal."""
from __future__ import annotations

import re
import subprocess
import tempfile
import time
from typing import IO

from .tools import call, end, spawn

MONITORS = {"ip-monitor": ["ip", "-ts", "monitor", "link", "address", "neigh", "nsid"], "udev-monitor": ["udevadm", "monitor", "-k", "-u", "-p"],
            "rdma-monitor": ["rdma", "monitor"], "devlink-monitor": ["devlink", "monitor"]}
MOST = 4 << 20  # bytes of each
HURT = re.compile(r"WARNING:|BUG:|Oops|unregister_netdevice: waiting|refcount_t|hung task|blocked for more than|call trace", re.IGNORECASE)
STAMP = re.compile(r"^\[ *(\d+\.\d+)\]")


def stamp(line: str) -> float:
    found = STAMP.match(line)
    return float(found[1]) if found else -1.0


class Recorders:
    def __init__(self) -> None:
        self._monitors: dict[str, tuple[subprocess.Popen[bytes], IO[bytes]]] = {}
        self._began = time.time()
        self._last = -1.0
        self._kernel: list[str] = []

    def begin(self) -> None:
        self._last = max([-1.0, *map(stamp, call(["dmesg"], 20).out.splitlines())])
        for name, words in MONITORS.items():
            output = tempfile.TemporaryFile()
            try:
                process = spawn(words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
            except OSError:  # it is not installed
                output.close()
                continue
            self._monitors[name] = process, output

    def end(self) -> dict[str, str]:
        """Ends the monitors; all records, by file."""
        texts = {}
        for name, (process, output) in self._monitors.items():
            end(process)
            output.seek(0)
            texts[f"{name}.txt"] = output.read(MOST).decode(errors="replace")
            output.close()
        self._monitors.clear()
        self._kernel = [line for line in call(["dmesg"], 20).out.splitlines() if stamp(line) > self._last]
        texts["kernel-log.txt"] = "\n".join(self._kernel)[:MOST]
        journal = call(["journalctl", "--no-pager", "-o", "short-precise", "--no-hostname", "-t", "rdma-hook", "-t", "rdma-runtime", "-t", "rdmactl",
                        "--since", f"@{int(self._began)}"], 30)
        texts["journal.txt"] = journal.out[:MOST] if "-- No entries --" not in journal.out else ""
        return {name: text for name, text in texts.items() if text.strip()}

    def kernel_troubles(self) -> list[str]:
        return [line for line in self._kernel if HURT.search(line)][:3]
