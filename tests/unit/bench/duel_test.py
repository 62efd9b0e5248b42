#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/bench/duel with stand-ins for rdma-perf and perftest, and what perftest prints. tests/lab/scenarios/perf-perftest.sh has the
real ones."""
from __future__ import annotations

import io
import json
import shutil
import sys
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

sys.dont_write_bytecode = True
from program import ROOT, load  # noqa: E402

duel = load("duel")
perftest = duel.perftest

# `behaviour` beside them says what goes wrong; each call adds its words to `calls`.
STAND_IN = r"""#!/usr/bin/python3 -IS
import json, pathlib, signal, socket, sys
me = pathlib.Path(sys.argv[0])
words = sys.argv[1:]
behaviour = (me.parent / "behaviour").read_text().split()
with (me.parent / "calls").open("a") as calls:
    calls.write(json.dumps([me.name, *words]) + "\n")
after = lambda option: words[words.index(option) + 1]

def once(what):  # the first time only
    done = me.parent / f"{what}.done"
    if what not in behaviour or done.exists():
        return False
    done.touch()
    return True

def rdma_perf():
    if words[0] == "serve":
        if "deaf" in behaviour:
            sys.exit("rdma-perf: cannot listen")
        print("rdma-perf: listening on 127.0.0.1", file=sys.stderr, flush=True)
        signal.pause()
    mode, size = after("--mode"), int(after("--size"))
    time_ms = int(after("--time").rstrip("s")) * 1000 if "--time" in words else 0
    point = {"verb": after("--verb"), "mode": mode, "time_ms": time_ms, "size_bytes": size, "depth": 64, "batch": 16, "signal": 8, "mtu_bytes": 1024,
             "inline_bytes": 220, "reads": 16, "poll": after("--poll") if "--poll" in words else "spin", "ordering": "relaxed",
             "server_ordering": "strict" if "strict" in behaviour else "relaxed"}
    device = {"device": "rxe0", "port": 1, "gid_index": 3, "gid_type": "RoCE v2"}
    bad = "wrong" in behaviour
    result = {"point": point, "verify": {"data_ok": not bad},
              "bandwidth": {"bandwidth_bytes_per_s": 200 * 1048576} if mode == "bw" else None, "latency": {"p50_ns": 5000} if mode == "lat" else None}
    print(json.dumps({"env": {"client": {"device": device}, "server": {"device": device | {"gid_index": 4}}}, "results": [result]}))
    sys.exit(3 if bad else 0)

def serve():
    with socket.create_server(("127.0.0.1", int(after("-p")))) as listener:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1)

if me.name == "rdma-perf":
    rdma_perf()
elif "--help" in words:
    print("--write_with_imm" + ("" if "old" in behaviour else " --disable_pcie_relaxed"))
    sys.exit(1)
elif words[-1] != "127.0.0.1":
    if "gone" in behaviour:
        sys.exit("first line\n no device  \n")
    serve()
else:
    try:
        socket.create_connection(("127.0.0.1", int(after("-p")))).close()
    except OSError:
        sys.exit("Couldn't connect")
    if once("stumble"):
        sys.exit("Failed to complete run_iter_bw function successfully")
    size = int(after("-s"))
    if me.name.endswith("_bw"):
        print(f"#bytes #iterations BW peak[MiB/sec] BW average[MiB/sec] MsgRate[Mpps]\n{size} 100 0.00 100.00 {100 * 1048576 / size / 1e6:.6f}")
    else:
        print(f"#bytes #iterations t_min[usec] t_max[usec] t_typical[usec]\n{size} 100 1.00 90.00 {'inf' if once('clock') else '10.00'}")
"""


class Harness(unittest.TestCase):
    port = 28700

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        programs = [perftest.program_of(verb, mode) for verb in ("write", "read", "send") for mode in ("bw", "lat")]
        for name in ("rdma-perf", *programs):
            (self.folder / name).write_text(STAND_IN, encoding="utf-8")
            (self.folder / name).chmod(0o755)

    def run_duel(self, *words: str, behaviour: str = "") -> tuple[int, dict, str]:
        Harness.port += 64
        (self.folder / "behaviour").write_text(behaviour, encoding="utf-8")
        prefix = f"env PATH={self.folder}:/usr/bin:/bin"
        said = io.StringIO()
        with redirect_stdout(said), redirect_stderr(said):
            status = duel.main(["127.0.0.1", "--timeout", "250", "--there", prefix, "--here", prefix, "--perftest-port", str(self.port), "--json",
                                str(self.folder / "json"), *words])
        return status, json.loads((self.folder / "json").read_text(encoding="utf-8")), said.getvalue()

    def calls(self, name: str) -> list[list[str]]:
        lines = (self.folder / "calls").read_text(encoding="utf-8").splitlines()
        return [words[1:] for words in map(json.loads, lines) if words[0] == name and "--help" not in words]

    def test_equal_settings(self) -> None:
        status, document, said = self.run_duel("--verb", "write", "--mode", "bw", "--size", "4K", "--goals")
        self.assertEqual(status, 0, said)
        (cell,) = document["results"]
        # Always the same: six pairs are narrow.
        self.assertEqual(len(cell["pairs"]), 6)
        self.assertAlmostEqual(cell["ratio"], 2, places=3)
        self.assertEqual(cell["verdict"], "faster")
        # A second more at either end, which does not count.
        settings = "-m 1024 -D 3 -f 1 -t 64 -Q 8 -l 16 -I 220".split()
        self.assertEqual(cell["settings"], settings)
        # A client that came too early is there again.
        first = [call for call in self.calls("ib_write_bw") if call[call.index("-p") + 1] == str(self.port)]
        served, asked = (next(call for call in first if (call[-1] == "127.0.0.1") is client) for client in (False, True))
        common = ["-F", "-p", str(self.port), "-s", "4096", *settings, "-d", "rxe0", "-i", "1", "-x"]
        self.assertEqual(served, [*common, "4"])
        self.assertEqual(asked, [*common, "3", "127.0.0.1"])
        runs = [call for call in self.calls("rdma-perf") if call[0] == "run"]
        self.assertEqual([call[call.index("--verify") + 1] for call in runs], ["edges"] + 6 * ["off"])
        self.assertTrue(all(call[-4:] == ["--poll", "spin", "--ring", "4096"] for call in runs))

    def test_who_is_first_changes(self) -> None:
        self.run_duel("--verb", "send", "--mode", "lat", "--size", "64")
        order = [words[0] for words in map(json.loads, (self.folder / "calls").read_text(encoding="utf-8").splitlines())
                 if words[-1] == "127.0.0.1" or "off" in words]
        changes = [order[0], *(now for before, now in zip(order, order[1:]) if now != before)]
        self.assertEqual(changes, ["rdma-perf", "ib_send_lat"] * 3 + ["rdma-perf"])

    def test_settings_of_each_verb(self) -> None:
        point = {"verb": "send", "mode": "bw", "time_ms": 0, "depth": 8, "batch": 1, "signal": 1, "mtu_bytes": 4096, "inline_bytes": 0, "reads": 16,
                 "poll": "spin", "ordering": "relaxed", "server_ordering": "relaxed"}
        self.assertEqual(perftest.settings_of(point), "-m 4096 -t 8 -Q 1 -r 512 -I 0".split())
        self.assertEqual(perftest.settings_of(point | {"time_ms": 5000}), "-m 4096 -D 7 -f 1 -t 8 -Q 1 -r 512 -I 0".split())
        self.assertEqual(perftest.settings_of(point | {"verb": "read"}), "-m 4096 -t 8 -Q 1 -o 16".split())
        self.assertEqual(perftest.settings_of(point | {"poll": "event"}), "-m 4096 -e -t 8 -Q 1 -r 512 -I 0".split())
        latency = point | {"verb": "write", "mode": "lat", "server_ordering": "strict"}
        self.assertEqual(perftest.settings_of(latency), "-m 4096 -I 0".split())
        known = set(perftest.OPTIONAL)
        self.assertEqual(perftest.options_of(point, known), [])
        self.assertEqual(perftest.options_of(latency, known), list(perftest.OPTIONAL))
        self.assertEqual(perftest.options_of(latency, {"--write_with_imm"}), ["--write_with_imm"])

    def test_events_are_counted_and_not_timed(self) -> None:
        status, _, said = self.run_duel("--verb", "write", "--mode", "bw", "--size", "64", "--poll", "event", "--iterations", "500")
        self.assertEqual(status, 0, said)
        self.assertTrue(all("-e" in call and call[call.index("-n") + 1] == "5000" and "-D" not in call for call in self.calls("ib_write_bw")))
        runs = [call for call in self.calls("rdma-perf") if call[0] == "run"]
        self.assertTrue(all(call[call.index("--iterations") + 1] == "5000" and "--time" not in call for call in runs))

    def test_defaults(self) -> None:
        status, document, said = self.run_duel("--verb", "read", "--mode", "lat", "--size", "64", "--defaults", "--goals")
        self.assertEqual(status, 0, said)
        self.assertIsNone(document["results"][0]["settings"])
        self.assertFalse(any("--poll" in call for call in self.calls("rdma-perf")))
        self.assertFalse(any("-m" in call for call in self.calls("ib_read_lat")))
        self.run_duel("--verb", "read", "--mode", "bw", "--size", "64", "--time", "2", "--defaults")
        calls = self.calls("ib_read_bw")
        self.assertTrue(calls and all(call[call.index("-D") + 1] == "2" and "-f" not in call for call in calls))

    def test_by_rdma_cm(self) -> None:
        self.run_duel("--verb", "write", "--mode", "bw", "--size", "64", "--cm")
        self.assertTrue(all("-R" in call and "-x" not in call for call in self.calls("ib_write_bw")))
        self.assertTrue(all("--cm" in call for call in self.calls("rdma-perf") if call[0] == "run"))

    def test_a_run_that_fails_is_made_again(self) -> None:
        for behaviour, mode, text in (("stumble", "bw", "Failed to complete"), ("clock", "lat", "'inf'")):
            status, document, said = self.run_duel("--verb", "write", "--mode", mode, "--size", "64", behaviour=behaviour)
            self.assertEqual(status, 0, said)
            self.assertEqual(len(document["results"][0]["failures"]), 1)
            self.assertIn(text, said)

    def test_what_ends_it(self) -> None:
        one = ("--verb", "write", "--mode", "bw", "--size", "64")
        status, document, said = self.run_duel(*one, behaviour="gone")
        self.assertEqual(status, 1)
        self.assertIn("status 1 there: no device", said)
        self.assertIn("no device", document["error"])
        status, _, said = self.run_duel(*one, behaviour="deaf")
        self.assertEqual((status, "cannot listen" in said), (1, True), said)
        status, document, said = self.run_duel(*one, behaviour="wrong")
        self.assertEqual((status, "WRONG data" in said), (3, True), said)
        self.assertEqual(document["results"][0]["pairs"], [])

    def test_goals(self) -> None:
        cell = {"data_ok": True, "mode": "bw", "size_bytes": 64, "ci95": [0.98, 1.01], "ratio": 1.0}
        self.assertTrue(duel.is_met(cell, False))
        self.assertFalse(duel.is_met(cell, True))
        self.assertTrue(duel.is_met(cell | {"ci95": [0.996, 0.997]}, False))
        self.assertFalse(duel.is_met(cell | {"ci95": [0.98, 0.994]}, False))
        self.assertFalse(duel.is_met(cell | {"ci95": [0.96, 1.2]}, False))
        self.assertFalse(duel.is_met(cell | {"ci95": None}, False))
        self.assertTrue(duel.is_met(cell | {"mode": "lat", "ci95": [0.5, 1.02]}, False))
        self.assertFalse(duel.is_met(cell | {"mode": "lat", "ci95": [1.01, 1.02]}, False))
        self.assertTrue(duel.is_met(cell | {"ratio": 1.06, "size_bytes": 4096}, True))

    def test_command_line(self) -> None:
        options = duel.parse(["h", "--size", "64,4K,1M", "--pairs", "9"])
        self.assertEqual(options.sizes, [64, 4096, 1 << 20])
        self.assertEqual(options.pairs, (6, 9))
        self.assertEqual(duel.parse(["h"]).pairs, (6, 12))
        for words in (["--size", "64Q"], ["--pairs", "5"], ["--pairs", "9..8"], ["--verb", "fetch_add"], ["--mode", ""]):
            with self.assertRaises(SystemExit), redirect_stderr(io.StringIO()):
                duel.parse(["h", *words])


class Output(unittest.TestCase):
    """Recorded of perftest 25.01."""

    @staticmethod
    def recorded(name: str) -> str:
        return (ROOT / "tests/data/perftest" / name).read_text(encoding="utf-8")

    def test_recorded(self) -> None:
        for name, mode, size, value in (("write_bw_dur", "bw", 65536, 31.50 * perftest.MIB), ("write_bw_iter", "bw", 64, None),
                                        ("read_bw_default", "bw", 64, None), ("send_bw_dur", "bw", 65536, None), ("write_lat_iter", "lat", 64, None),
                                        ("read_lat_iter", "lat", 64, None), ("send_lat_iter", "lat", 64, 235060)):
            found = perftest.result_of(self.recorded(name), mode, size)
            self.assertGreater(found, 0)
            if value is not None:
                self.assertAlmostEqual(found, value, places=3)

    def test_the_column_with_more_digits(self) -> None:
        head = "#bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]\n"
        self.assertAlmostEqual(perftest.result_of(head + "2 1000 0.00 0.03 0.016000\n", "bw", 2), 32000)
        self.assertAlmostEqual(perftest.result_of(head + "65536 9 0.00 3150.25 0.050404\n", "bw", 65536), 3150.25 * perftest.MIB)

    def test_refused(self) -> None:
        text = self.recorded("write_bw_dur")
        for changed in (text.replace("#bytes", "#octets"), text.replace("BW average", "BW mean"), text + text, text.replace("31.50", "99.50"),
                        text.replace("31.50", "0.00").replace("0.000504", "0.000000"), text.replace(" 65536 ", " 6 "), text.replace("31.50", "lots"),
                        text[: text.index(" 65536 ")], ""):
            with self.assertRaises(perftest.Unknown):
                perftest.result_of(changed, "bw", 65536)
        with self.assertRaises(perftest.Unknown):  # by time latency has no median
            perftest.result_of(self.recorded("write_lat_dur"), "lat", 64)
        with self.assertRaises(perftest.Disturbed):
            perftest.result_of(text.replace("31.50", "inf"), "bw", 65536)

    def test_last_line(self) -> None:
        self.assertEqual(perftest.last_line("", "a\n b \n\n"), "b")
        self.assertEqual(perftest.last_line("", "\n"), "nothing")


if __name__ == "__main__":
    unittest.main()
