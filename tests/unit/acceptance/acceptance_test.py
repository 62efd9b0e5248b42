#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""examples/acceptance/rdma_acceptance: it understands answers, and brings everything back. The programs that it calls are
stand-ins here; runs_test.py has whole runs, archive_test.py the archives, tests/lab/scenarios/accept.sh the real programs.
budget: a class for each module of the kit, and one stand-in for all."""
from __future__ import annotations

import io
import json
import sys
import tempfile
import time
import unittest
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "examples/acceptance"), str(ROOT / "tests/unit/report")]

import samples  # noqa: E402
from rdma_acceptance import capture, command, host, inventory, modes, plain, wire  # noqa: E402
from rdma_acceptance.engine import Container, Engine, short  # noqa: E402
from rdma_acceptance.host import Facts, Pf  # noqa: E402
from rdma_acceptance.run import Check, Run  # noqa: E402
from rdma_acceptance.tools import Done, Failed, Late, Skipped, Tools, call  # noqa: E402
from rdma_acceptance.undo import Busy, Undo  # noqa: E402



def done(status: int | None = 0, out: str = "", err: str = "", words: Sequence[str] = ("program",)) -> Done:
    return Done(tuple(words), status, out, err, 7)


class Answers(Tools):
    """Programs that answer as a test says: the first whose words begin so."""

    def __init__(self, answers: dict[str, Done | str] | None = None) -> None:
        super().__init__()
        self.answers = answers or {}
        self.called: list[str] = []

    def run(self, words: Sequence[str], limit: float = 60, text: str = "") -> Done:
        self.left(limit)
        line = " ".join(words)
        self.called.append(line)
        for begin, answer in self.answers.items():
            if line.startswith(begin):
                return answer if isinstance(answer, Done) else done(out=answer, words=words)
        return done(words=words)

    def look(self, words: Sequence[str], limit: float = 60) -> Done:
        return self.run(words, limit)


class InFolder(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def undo(self, run: Any = call) -> Undo:
        undo = Undo(self.folder / "run", run)
        self.addCleanup(undo.close)
        return undo


class Programs(unittest.TestCase):
    def test_status_output_and_time(self) -> None:
        seen = call(["sh", "-c", "echo out; echo err >&2; exit 3"], 20)
        self.assertEqual((seen.status, seen.out, seen.err, seen.said()), (3, "out\n", "err\n", "err"))
        self.assertEqual(call(["cat"], 20, "given").out, "given")
        self.assertEqual(call(["/no/such/program"], 20).status, 127)

    def test_one_that_hangs_is_killed_with_what_it_started(self) -> None:
        begin = time.monotonic()
        seen = call(["sh", "-c", "echo said; sleep 1000 & sleep 1000"], 0.3)
        self.assertIsNone(seen.status)
        self.assertIn("it said: said", seen.said())
        self.assertLess(time.monotonic() - begin, 20)

    def test_words_are_never_a_shells(self) -> None:
        self.assertEqual(call(["echo", "$(id); `id` | id"], 20).out, "$(id); `id` | id\n")

    def test_a_check_has_its_time_and_no_more(self) -> None:
        tools = Tools()
        tools.begin(0.2)
        self.assertIsNone(tools.run(["sleep", "1000"], 60).status)
        with self.assertRaises(Late):
            tools.run(["true"])
        tools.begin(None)
        self.assertTrue(tools.run(["true"]).ok)
        self.assertNotIn("sleep", tools.evidence())

    def test_evidence_has_every_word_and_answer(self) -> None:
        tools = Tools()
        tools.run(["echo", "two words"])
        self.assertIn("$ echo 'two words'    # status 0, ", tools.evidence())
        self.assertIn("\ntwo words", tools.evidence())


class TheWayBack(InFolder):
    def test_the_last_comes_first_and_a_failure_stops_nothing(self) -> None:
        called = []

        def run(words: Sequence[str], _limit: float) -> Done:
            called.append(words[0])
            return done(1, err="device busy") if words[0] == "b" else done()

        undo = self.undo(run)
        for each in "abc":
            undo.plan(each, [each])
        self.assertEqual(undo.all_back(), ["b: device busy; by hand: b"])
        self.assertEqual(called, ["c", "b", "a"])
        self.assertEqual(undo.steps(), ["b"], "what could not be undone is tried again")

    def test_what_is_gone_is_undone(self) -> None:
        undo = self.undo(lambda words, limit: done(1, err="Error: no such container x"))
        undo.plan("x", ["podman", "rm"], "no such container")
        self.assertEqual(undo.all_back(), [])
        undo.plan("y", ["podman", "rm"])
        self.assertEqual(len(undo.all_back()), 1)

    def test_it_is_on_disk_before_the_change(self) -> None:
        undo = self.undo()
        undo.plan("VFs", ["touch", str(self.folder / "undone")])
        undo.close()  # as if it had been killed
        again = self.undo()
        self.assertEqual(again.steps(), ["VFs"])
        self.assertEqual(again.all_back(), [])
        self.assertTrue((self.folder / "undone").exists())
        self.assertFalse((self.folder / "run/undo.json").exists())

    def test_two_runs_do_not_meet(self) -> None:
        self.undo()
        with self.assertRaises(Busy):
            Undo(self.folder / "run")

    def test_one_step_goes_alone(self) -> None:
        undo = self.undo(lambda words, limit: done())
        for each in ("a", "b"):
            undo.plan(each, [each])
        self.assertEqual(undo.back("a"), "")
        self.assertEqual(undo.steps(), ["b"])
        self.assertEqual(undo.back("never"), "")


class Adapters(InFolder):
    def setUp(self) -> None:
        super().setUp()
        self.sys = self.folder / "sys"
        for line in (ROOT / "tests/data/sysfs/connectx5-switchdev").read_text().splitlines():
            path, _, rest = line.partition(" ")
            if not path or path == "#":
                continue
            target = self.sys / path
            if path.endswith("/"):
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            if rest.startswith("-> "):
                target.symlink_to(rest[3:])
            else:
                target.write_text(rest[2:] + "\n")

    def test_an_adapter_is_found_by_each_of_its_names(self) -> None:
        for given in ("ens1f0np0", "0000:3b:00.0", "pci/0000:3b:00.0", "mlx5_0"):
            pf = host.find_pf(given, self.sys)
            self.assertEqual((pf.netdev, pf.address, pf.handle), ("ens1f0np0", "0000:3b:00.0", "pci/0000:3b:00.0"), given)
            self.assertEqual((pf.driver, pf.total_vfs, pf.num_vfs, pf.rdma), ("mlx5_core", 8, 2, ["mlx5_0"]))
        self.assertEqual(host.representors(pf.folder), {"pf0vf0": "ens1f0npf0vf0", "pf0vf1": "ens1f0npf0vf1"})  # type: ignore[arg-type]

    def test_names_that_are_none(self) -> None:
        for given in ("", "nothing", "../ens1f0np0", "0000:3b:00.7", "pci/..", "a b", "bus/pci/devices"):
            with self.assertRaises(host.NoSuchPf):
                host.find_pf(given, self.sys)

    def test_a_netdev_without_a_device(self) -> None:
        (self.sys / "class/net/lab0").mkdir()
        pf = host.find_pf("lab0", self.sys)
        self.assertEqual((pf.netdev, pf.folder, pf.num_vfs, pf.rdma), ("lab0", None, 0, []))

    def test_what_is_captured_is_of_the_form_of_the_fixtures(self) -> None:
        """Captured of a planted fixture, it is that fixture: of what both have."""
        text = capture.sysfs_of([host.find_pf("ens1f0np0", self.sys)], self.sys)
        listed = set((ROOT / "tests/data/sysfs/connectx5-switchdev").read_text().splitlines())
        self.assertEqual([line for line in text.splitlines() if line and line not in listed], [])
        self.assertEqual([line for line in listed if line and line not in text and not line.startswith("#")], [])


class Netlink(unittest.TestCase):
    def test_messages_that_are_cut_off_end(self) -> None:
        whole = bytes.fromhex("140000000300020007000000b100000000000000")
        self.assertEqual([kind for kind, _, _ in capture.messages(whole + whole)], [3, 3])
        self.assertEqual(list(capture.messages(whole[:-1])), [])
        self.assertEqual(list(capture.messages(b"\x04\x00\x00\x00" + bytes(16))), [])

    def test_the_kernel_answers_about_lo(self) -> None:
        answer = capture.ask(capture.NETLINK_ROUTE, capture.RTM_GETLINK, 0, capture.link_question(1))
        kinds = [kind for kind, _, _ in capture.messages(answer)]
        self.assertEqual(kinds, [16], "RTM_NEWLINK")


def passed(**more: Any) -> dict[str, Any]:
    result = samples.result(samples.point(), 1e9)
    document = samples.report([result])
    document["errors"] = []
    return document | more


class Data(unittest.TestCase):
    def test_what_a_report_says(self) -> None:
        seen = modes.traffic_of(passed())
        self.assertGreater(seen.bandwidth, 0)
        self.assertIn("bit/s", seen.text())

    def test_what_is_wrong_is_named(self) -> None:
        wrong = passed()
        wrong["results"][0]["verify"] = {"data_ok": False}
        for document, said in ((wrong, "wrong data"), (passed(errors=[{"code": "x", "text": "no GID", "fix": "give one"}]), "no GID: give one"),
                               (passed(results=[]), "measured nothing")):
            with self.assertRaisesRegex(Failed, said):
                modes.traffic_of(document)

    def test_answers_of_rdmactl_verify(self) -> None:
        inner = passed()
        self.assertEqual(modes.report_in(done(out=json.dumps({"client": {"out": inner}}))), inner)
        self.assertEqual(modes.report_in(done(out=json.dumps(inner))), inner)
        for out, said in ((json.dumps({"error": "the server ended"}), "the server ended"), ("no json", "printed no JSON"),
                          (json.dumps({"client": {"out": "", "err": "a\nno route\n"}}), "no route")):
            with self.assertRaisesRegex(Failed, said):
                modes.report_in(done(5, out))

    def test_growth_of_counters_that_should_stand_still(self) -> None:
        document = passed()
        document["results"][0]["counters"] = {"client": {"hw_counters/packet_seq_err": 1, "hw_counters/local_ack_timeout_err": 3}, "server": None}
        self.assertEqual(modes.traffic_of(document).growth, {"hw_counters/local_ack_timeout_err": 3})

    def test_one_gid_in_two_spellings(self) -> None:
        self.assertTrue(plain.same_gid("0000:0000:0000:0000:0000:ffff:0a09:0001", "::ffff:10.9.0.1"))
        self.assertFalse(plain.same_gid("", "::ffff:10.9.0.1"))


class Pictures(unittest.TestCase):
    def link(self, **more: Any) -> dict[str, Any]:
        return {"ifname": "enp1s0", "address": "52:54:00:00:00:01", "mtu": 1500, "flags": ["UP", "LOWER_UP"]} | more

    def test_carrier_is_no_difference_and_a_vlan_is_one(self) -> None:
        self.assertEqual(host.link_line(self.link()), host.link_line(self.link(flags=["UP", "NO-CARRIER"])))
        self.assertNotEqual(host.link_line(self.link(vfinfo_list=[{"vf": 0, "vlan": 0}])), host.link_line(self.link(vfinfo_list=[{"vf": 0, "vlan": 7}])))
        self.assertEqual(host.difference(["a", "b"], ["b", "c"]), ["-a", "+c"])

    def test_an_engines_own_interfaces_are_left_out(self) -> None:
        links = [self.link(), self.link(ifname="veth1", linkinfo={"info_kind": "veth"}, link_netnsid=0)]
        lines = host.picture(Answers({"ip -d -j link": json.dumps(links)}), [])
        self.assertEqual([line.split()[1] for line in lines], ["enp1s0"])


class Containers(InFolder):
    def engine(self, tools: Tools, name: str = "podman", *image: str) -> Engine:
        return Engine(name, list(image) or ["localhost/rdma"], tools, self.undo(lambda words, limit: tools.run(words, limit)))

    def test_words_for_both_engines(self) -> None:
        engine = self.engine(Answers())
        words = engine.words("x", ["mode=vf", "device=0000:3b:00.0"])
        self.assertIn("rdma.device=0000:3b:00.0", words)
        self.assertEqual(words[-3:], ["localhost/rdma", "sleep", "1000000"])
        self.assertNotIn("--runtime", words)

    def test_docker_takes_its_runtime(self) -> None:
        engine = self.engine(Answers(), "docker")
        words = engine.words("x", ["mode=vf"])
        self.assertEqual(words[words.index("--runtime") + 1], "rdma")
        self.assertNotIn("--runtime", engine.words("x", []))

    def test_a_refused_one_is_removed_and_its_reason_is_rdma_hooks(self) -> None:
        tools = Answers({"podman run": done(126, err="Error: OCI\nrdma-hook: no free VF on enp1s0\nexit status 69")})
        with self.assertRaisesRegex(Failed, "rdma-hook: no free VF on enp1s0"):
            self.engine(tools).start("mode=vf")
        self.assertTrue(any(line.startswith("podman rm -f -t 0 rdma-accept-") for line in tools.called))
        self.assertIn("status 126", short(done(126)))

    def test_what_it_has_comes_from_rdmactl(self) -> None:
        shown = {"container": {"pid": 42, "granted": {"attachments": [{"device": "mlx5_2", "addresses": ["10.77.0.1/24"], "netdev": "rdma0"}]}}}
        engine = self.engine(Answers({"podman run": "abc\n", "rdmactl show abc": json.dumps(shown)}))
        container = engine.start("mode=vf")
        self.assertEqual((container.id, container.pid, container.device, container.address), ("abc", 42, "mlx5_2", "10.77.0.1"))
        self.assertEqual(container.inside(["ping"])[:2], ["nsenter", "--net=/proc/42/ns/net"])


class Checks(InFolder):
    def run_of(self, tools: Tools, pf: Pf | None = None, **facts: Any) -> Run:
        undo = Undo(Path(tempfile.mkdtemp(dir=self.folder)), lambda words, limit: tools.run(words, limit))
        self.addCleanup(undo.close)
        return Run(Facts(**facts), pf or Pf("eth1", "eth1"), None, tools, undo, Engine("podman", ["i"], tools, undo))

    def outcome(self, look: Any, tools: Tools | None = None) -> Any:
        run = self.run_of(tools or Answers())
        with redirect_stdout(io.StringIO()) as printed:
            outcome = run.one(Check("T1", "a check", "", look, 5))
        self.assertEqual(printed.getvalue().strip(), outcome.line())
        return outcome

    def test_each_way_to_end(self) -> None:
        def raises(error: Exception) -> Any:
            def look(_run: Run) -> str:
                raise error
            return look

        self.assertEqual(self.outcome(lambda run: "seen").line().split(" (")[0], "ok   T1  a check: seen")
        self.assertEqual(self.outcome(raises(Failed("broken"))).status, "FAIL")
        self.assertEqual(self.outcome(raises(Skipped("not here"))).status, "skip")
        wrong = self.outcome(raises(KeyError("x")))
        self.assertEqual((wrong.status, wrong.evidence), ("FAIL", "raw/checks/T1.txt"))

    def test_one_failure_stops_nothing(self) -> None:
        def fails(_run: Run) -> str:
            raise Failed("no")

        run = self.run_of(Answers())
        with redirect_stdout(io.StringIO()):
            run.all([Check("A1", "a", "", fails, 5), Check("A2", "b", "vf", lambda run: "", 5), Check("A3", "c", "asap2", lambda run: "", 5)], ["vf"], [])
            run.all([Check("B1", "a", "", fails, 5), Check("B12", "b", "", lambda run: "", 5)], [], ["B1"])
        self.assertEqual([each.id for each in run.outcomes], ["A1", "A2", "B1"])

    def test_ids_are_told_apart(self) -> None:
        run = self.run_of(Answers(), modes=("vf",))
        checks = command.checks_of(run, ["vf"])
        ids = [check.id for check in checks]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual(ids[ids.index("V1b") + 1:ids.index("V1b") + 4], ["P1", "P2", "P3"])

    def test_what_did_not_start_is_not_tried_again(self) -> None:
        tools = Answers({"podman run": done(126, err="rdma-hook: no"), "ip -d -j link": "[]"})
        run = self.run_of(tools)
        with self.assertRaises(Failed):
            modes.start(run, "softroce")
        with self.assertRaisesRegex(Skipped, "did not start"):
            modes.between(run, "softroce")

    def test_modules_that_are_not_the_kernels_own_are_named(self) -> None:
        files = ("kernel/doca-ofed-26.01/ib_core.ko.zst", "updates/dkms/mlx5_core.ko", "kernel/drivers/net/ethernet/intel/ice/ice.ko.zst")
        run = self.run_of(Answers({"modinfo": "".join(f"/lib/modules/7.0.0-22-generic/{file}\n" for file in files), "ofed_info": done(127)}))
        self.assertTrue(inventory.system(run).endswith("; not the kernel's own: ib_core.ko.zst, mlx5_core.ko"))

    def test_no_carrier_is_named(self) -> None:
        sys_folder = self.folder / "sys"
        netdev = sys_folder / "class/net/eth1"
        netdev.mkdir(parents=True)
        for name, text in (("flags", "0x1003"), ("carrier", "0"), ("mtu", "1500")):
            (netdev / name).write_text(text)
        tools = Answers()
        tools.wait_for = lambda limit, is_so: is_so()  # type: ignore[method-assign]
        run = self.run_of(tools, Pf("eth1", "eth1", sys=sys_folder))
        with self.assertRaisesRegex(Failed, "eth1 is up and has no carrier"):
            inventory.links(run)
        (netdev / "flags").write_text("0x1002")
        with self.assertRaisesRegex(Failed, "ip link set eth1 up"):
            inventory.links(run)
        (netdev / "flags").write_text("0x1003")
        (netdev / "carrier").write_text("1")
        self.assertEqual(inventory.links(run), "eth1 up, MTU 1500")

    def test_vfs_that_another_manages_are_told_of(self) -> None:
        sys_folder, function = self.folder / "sys", self.folder / "0000:3b:00.0"
        (sys_folder / "class/net/eth1").mkdir(parents=True)
        function.mkdir()
        for file, text in ((sys_folder / "class/net/eth1/flags", "0x1003"), (sys_folder / "class/net/eth1/carrier", "1"), (function / "sriov_numvfs", "2")):
            file.write_text(text)
        run = self.run_of(Answers({"ip link show dev eth1": "3: eth1: <UP>"}), Pf("eth1", "eth1", "0000:3b:00.0", function, sys=sys_folder))
        self.assertIn("a BlueField in DPU mode", inventory.links(run))
        self.assertEqual(run.facts.platform["vfs"], "set up elsewhere")
        own = self.run_of(Answers({"ip link show dev eth1": "3: eth1: <UP>\n vf 0 link/ether"}), run.pf)
        self.assertNotIn("BlueField", inventory.links(own))

    def test_vfs_without_rdma_are_no_failure(self) -> None:
        said = "rdma-hook: VF 0 of eth1 (driver iavf) has no RDMA device of its own, and its PF has one (irdma0); set rdma.provider=rxe"
        tools = Answers({"podman run": done(126, err=said), "ip -d -j link": "[]", "rdmactl plan": done(69, err=said)})
        run = self.run_of(tools, modes=("vf",))
        for look in (lambda: modes.start(run, "vf"), lambda: modes.plan(run, "vf"), lambda: modes.crowd(run, "vf", 2, 1)):
            with self.assertRaisesRegex(Skipped, "has no RDMA device of its own, and its PF has one"):
                look()

    def test_a_small_mtu_at_the_peer_is_measured(self) -> None:
        class Wire(Answers):
            def run(self, words: Sequence[str], limit: float = 60, text: str = "") -> Done:
                if "ping" in words:
                    return done(0 if int(words[words.index("-s") + 1]) + 28 <= 1000 else 1)
                return super().run(words, limit, text)

        run = self.run_of(Wire(), modes=("vf",), peer="127.0.0.1")
        container = Container("c", "c", 1, 42, {"mtu": 1500, "addresses": ["10.77.0.1/24"]})
        run._pairs["vf"] = (container, container)
        with self.assertRaisesRegex(Failed, "1500 bytes does not reach 127.0.0.1, one of 1000 does"):
            inventory.frames(run)
        run.kept["peer traffic"] = modes.Traffic(1, 1, (1024, 512), {})
        with self.assertRaisesRegex(Failed, "1024 here and 512 at the peer"):
            inventory.path_mtu(run)

    def test_addresses_are_in_a_row(self) -> None:
        run = self.run_of(Answers(), address="192.168.7.250/24")
        self.assertEqual(run.ip(3), "ip=192.168.7.253/24")


    def test_an_adapter_in_use_is_not_touched(self) -> None:
        tools = Answers({"rdmactl vf list": json.dumps({"pfs": [{"vfs": [{"number": 2, "state": "attached"}]}]})})
        folder = self.folder / "0000:3b:00.0"
        folder.mkdir()
        (folder / "sriov_numvfs").write_text("4")
        with self.assertRaisesRegex(command.Refused, "VF 2 of enp is in use"):
            command.check_free(tools, Pf("enp", "enp", "0000:3b:00.0", folder))


class Frames(unittest.TestCase):
    def test_a_frame_is_marked(self) -> None:
        frame = wire.frame("02:00:5e:00:00:66")
        self.assertEqual(frame[:14].hex(), "ffffffffffff" + "02005e000066" + "88b5")
        self.assertGreaterEqual(len(frame), 60)


if __name__ == "__main__":
    unittest.main()
