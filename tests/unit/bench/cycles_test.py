#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/bench/cycles with stand-ins for rdma-perf, perftest and valgrind, and what callgrind writes."""
from __future__ import annotations

import io
import json
import os
import shutil
import sys
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
from program import load  # noqa: E402

cycles = load("cycles")

# Of rdma-perf a slice takes 40960 cycles, of perftest 81920. `behaviour` beside them says what goes wrong.
STAND_IN = r"""#!/usr/bin/python3 -IS
import json, os, pathlib, socket, struct, sys
me = pathlib.Path(sys.argv[0])
words = sys.argv[1:]
behaviour = (me.parent / "behaviour").read_text().split()
after = lambda option: words[words.index(option) + 1]
ours = me.name == "rdma-perf"
with (me.parent / "calls").open("a") as calls:
    calls.write(json.dumps([me.name, "RDMA_BENCH_LEGACY" in os.environ, *words]) + "\n")

def pass_messages(count):
    if "lazy" in behaviour:
        count //= 2
    slices = max(count // 4096 - 1, 0)
    with open(os.environ["RDMA_BENCH_FIGURES"], "r+b") as file:
        file.write(struct.pack(f"{1 + slices}Q", count, *[40960 if ours else 81920] * slices))

port = int(after("--port" if ours else "-p"))
if words[0] == "serve" or not ours and words[-1] != "127.0.0.1":
    with socket.create_server(("127.0.0.1", port)) as listener:
        connection, _ = listener.accept()
        with connection:
            pass_messages(int(connection.recv(100)))
else:
    count = int(after("--iterations" if ours else "-n"))
    try:
        connection = socket.create_connection(("127.0.0.1", port))
    except OSError:
        sys.exit("cannot connect")
    with connection:
        connection.send(str(count).encode())
        connection.recv(1)
    if "stumble" in behaviour and not ours:
        sys.exit("it stumbled")
    pass_messages(count)
    print(json.dumps({"results": [{"point": {"verb": after("--verb"), "mode": "bw", "time_ms": 0, "depth": 128, "batch": 16, "signal": 16, "mtu_bytes": 4096, "poll": "spin",
                                             "inline_bytes": 64, "reads": 16}}]}) if ours else "")
"""

# It counts 10 instructions per message in the adapter, and in rdma-perf 20, in perftest 40.
VALGRIND = r"""#!/usr/bin/python3 -IS
import pathlib, subprocess, sys
out = next(word.partition("=")[2] for word in sys.argv if word.startswith("--callgrind-out-file="))
program = next(i for i, word in enumerate(sys.argv[1:], 1) if not word.startswith("--"))
status = subprocess.call(sys.argv[program:])
messages = 32 * 4096
own = (20 if pathlib.Path(sys.argv[program]).name == "rdma-perf" else 40) * messages
pathlib.Path(out).write_text(f"ob=(1) /usr/bin/program\nfn=(1) main\n16 {own}\ncob=(2) /build/libbench_verbs.so\ncfn=(2) post\ncalls=1 0\n16 999999\nob=(2)\nfn=(2)\n0 {10 * messages}\n")
sys.exit(status)
"""


class Runs(unittest.TestCase):
    port = 29800

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ("rdma-perf", "ib_write_bw", "ib_read_bw", "ib_send_bw", "valgrind"):
            (self.folder / name).write_text(VALGRIND if name == "valgrind" else STAND_IN, encoding="utf-8")
            (self.folder / name).chmod(0o755)
        (self.folder / "libbench_verbs.so").touch()

    def run_cycles(self, *words: str, behaviour: str = "") -> tuple[int, dict, str]:
        Runs.port += 64
        (self.folder / "behaviour").write_text(behaviour, encoding="utf-8")
        said = io.StringIO()
        with mock.patch.dict(os.environ, PATH=f"{self.folder}:/usr/bin:/bin"), redirect_stdout(said), redirect_stderr(said):
            status = cycles.main(["--verbs", str(self.folder / "libbench_verbs.so"), "--port", str(self.port), "--pairs", "2", "--messages", "81920",
                                  "--json", str(self.folder / "json"), *words])
        return status, json.loads((self.folder / "json").read_text(encoding="utf-8")), said.getvalue()

    def calls(self, name: str) -> list[list]:
        lines = (self.folder / "calls").read_text(encoding="utf-8").splitlines()
        return [words[1:] for words in map(json.loads, lines) if words[0] == name]

    def test_both_ends(self) -> None:
        status, document, said = self.run_cycles("--case", "write,receive", "--goals")
        self.assertEqual(status, 0, said)
        self.assertEqual([cell["case"] for cell in document["results"]], ["write", "receive"])
        for cell in document["results"]:
            self.assertEqual(cell["cycles"], 2 * [{"rdma_perf": 10.0, "perftest": 20.0}])
            self.assertEqual(cell["instructions"], {"rdma_perf": {"all": 30.0, "own": 20.0}, "perftest": {"all": 50.0, "own": 40.0}})
            self.assertEqual(cell["ratio"]["cycles"], {"value": 0.5, "low": 0.5, "high": 0.5, "n": 2})
            self.assertIn("0.500 [0.500 to 0.500]", said)
            self.assertEqual((cell["ratio"]["all"], cell["ratio"]["own"]), (0.6, 0.5))
        self.assertIn("-m 4096 -t 128 -Q 16 -l 16 -I 64", " ".join(map(str, self.calls("ib_write_bw")[0])))
        self.assertFalse(any(call[0] or "--use_old_post_send" in call for call in self.calls("ib_write_bw")))

    def test_older_calls(self) -> None:
        status, _, said = self.run_cycles("--case", "read", "--legacy")
        self.assertEqual(status, 0, said)
        self.assertTrue(all(call[0] for call in self.calls("rdma-perf")))
        self.assertTrue(all(call[0] and "--use_old_post_send" in call for call in self.calls("ib_read_bw")))

    def test_what_ends_it(self) -> None:
        for behaviour, text in (("stumble", "it stumbled"), ("lazy", "40960 messages")):
            status, document, said = self.run_cycles("--case", "write", behaviour=behaviour)
            self.assertEqual(status, 1, said)
            self.assertIn(text, document["error"])
        for words in (["--case", "fetch_add"], []):
            with self.assertRaises(SystemExit), redirect_stderr(io.StringIO()):
                cycles.parse(words)

    def test_a_goal_that_is_not_met(self) -> None:
        with mock.patch.object(cycles, "GOAL", 0.4):
            self.assertEqual(self.run_cycles("--case", "write", "--goals")[0], 4)


class Profile(unittest.TestCase):
    def test_objects(self) -> None:
        text = "positions: line\nob=(1) /a/b\nfl=(1) x\nfn=(1) f\n1 5\n+2 7\ncob=(2) /c/lib.so\ncfn=(2) g\ncalls=3 9\n* 100\n-1 1\n\nob=(2)\nfn=(2)\n9 20\ntotals: 33\n"
        self.assertEqual(cycles.read_profile(text), {"b": 13, "lib.so": 20})


if __name__ == "__main__":
    unittest.main()
