#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The decisions of examples/evaluation/rdma_evaluation: plan, order, MTU, what is kept; and whole campaigns with a stand-in for
rdma-perf. The plans examples/evaluation/fleet.json, examples/evaluation/fleet-vf.json and examples/evaluation/fleet-asap2.json name
hosts: what would be called there is looked at."""
from __future__ import annotations

import copy
import io
import json
import os
import shlex
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples/evaluation"
sys.path[:0] = [str(EXAMPLES), str(ROOT / "tests/unit/report")]

import samples  # noqa: E402
from rdma_evaluation import command, mtu, parents, places, schedule  # noqa: E402
from rdma_evaluation.plan import Node, Plan, Refused, fill, parse_plan  # noqa: E402
from rdma_evaluation.store import Store, write_atomically  # noqa: E402
from rdma_report import documents  # noqa: E402

STAND_IN = Path(__file__).with_name("stand_in.py")
NODES = {"alpha": Node("root@10.0.0.1", 2222, "/key"), "beta": Node("")}


def sample() -> dict[str, Any]:
    system = {"kind": "host", "mode": "softroce", "server": {}, "client": {}}
    return {"schema": "rdma-evaluation-plan/1", "name": "sample", "title": "A sample", "rdma_perf": str(STAND_IN), "deadline_s": 20,
            "systems": [system | {"name": "host", "addresses": ["10.0.0.1", "10.0.1.1"]},
                        system | {"name": "other", "addresses": ["10.0.2.1", "10.0.3.1"], "baseline": "host"}],
            "profiles": {"quick": {"repetitions": 3, "time": "50ms", "suites": {"basic": {"sizes": "2,64K"}, "transfers": {"transfers": [1, 4]}}}}}


VALUES = {"server": "alpha", "client": "beta", "parent": "ens1f0np0", "image": "registry.example/rdma", "host_ip": "10.9.0.1",
          "server_ip": "10.9.0.11", "client_ip": "10.9.0.12"}
FLEETS = {"fleet.json": {"rdma.mode": "shared", "rdma.parent": "ens1f0np0"}, "fleet-vf.json": {"rdma.mode": "vf", "rdma.device": "ens1f0np0"},
          "fleet-asap2.json": {"rdma.mode": "asap2", "rdma.device": "ens1f0np0", "rdma.bridge": "ovs-sriov"}}


def example(name: str, **given: str) -> dict[str, Any]:
    document = json.loads((EXAMPLES / name).read_text(encoding="utf-8"))
    filled: dict[str, Any] = fill(document, name, (VALUES | given) if name in FLEETS else given)
    return filled


def plan_of(document: dict[str, Any], profile: str = "quick") -> Plan:
    return parse_plan(document, "plan", profile, NODES)


class Plans(unittest.TestCase):
    def test_those_of_the_examples_are_good(self) -> None:
        self.assertEqual({path.name for path in EXAMPLES.glob("*.json")}, {"softroce.json", *FLEETS})
        for name in ("softroce.json", *FLEETS):
            document = example(name)
            self.assertNotRegex(json.dumps(document), r"\{[a-z_]+\}", name)
            for profile in document["profiles"]:
                plan = plan_of(document, profile)
                self.assertTrue(schedule.trials_of(plan), name)
                self.assertGreaterEqual(plan.profile.repetitions, 6, f"{name}: {profile} has no 95 % interval")
                self.assertTrue(plan.one_parent, name)

    def test_both_containers_of_a_fleet_are_on_the_adapter_of_the_host(self) -> None:
        for name, wanted in FLEETS.items():
            system = plan_of(example(name)).systems[1]
            for side, address in ((system.server, "10.9.0.11/24"), (system.client, "10.9.0.12/24")):
                self.assertEqual(dict(side.annotations), wanted | {"rdma.ip": address}, name)
            self.assertEqual((system.server.node, system.client.node), (NODES["alpha"], NODES["beta"]), name)
        plan = plan_of(example("fleet.json", mode="softroce", engine="podman", prefix="16"))
        self.assertEqual({system.mode for system in plan.systems}, {"softroce"})
        self.assertEqual((plan.systems[1].engine, dict(plan.systems[1].client.annotations)["rdma.ip"]), ("podman", "10.9.0.12/16"))

    def test_values_are_asked_for_by_name(self) -> None:
        document = json.loads((EXAMPLES / "fleet.json").read_text(encoding="utf-8"))
        with self.assertRaisesRegex(Refused, "fleet.json needs values of yours:\n  --set client=VALUE   another, which measures\n  --set parent="):
            fill(document, "fleet.json", {"server": "alpha"})
        with self.assertRaisesRegex(Refused, "--set paren: fleet.json has no such value; did you mean parent?"):
            fill(document, "fleet.json", VALUES | {"paren": "eth1"})
        with self.assertRaisesRegex(Refused, "has no such value; known: none"):
            fill(sample(), "plan", {"x": "y"})
        with self.assertRaisesRegex(Refused, "did you mean help?"):
            fill(sample() | {"values": {"a": {"help": "x", "hepl": "y"}}}, "plan", {"a": "b"})
        filled = fill(sample() | {"values": {"a": {"help": "x"}}, "title": "{a} {b} {a}", "rdma_perf": "{{a}}"}, "plan", {"a": "{a}"})
        self.assertEqual((filled["title"], filled["rdma_perf"]), ("{a} {b} {a}", "{{a}}"))
        self.assertNotIn("values", filled)
        self.assertNotEqual(plan_of(example("fleet.json")).digest, plan_of(example("fleet.json", parent="eth1")).digest)
        # Words that a value makes are checked as all others: of ssh, no option.
        with self.assertRaisesRegex(Refused, "ssh '-oProxyCommand=x' has a character"):
            plan_of(fill(sample() | {"values": {"a": {"help": "x"}}, "nodes": {"n": {"ssh": "{a}"}}}, "plan", {"a": "-oProxyCommand=x"}))

    def test_what_is_wrong_is_named(self) -> None:
        def changed(**more: Any) -> dict[str, Any]:
            return sample() | more

        def system(**more: Any) -> dict[str, Any]:
            document = sample()
            document["systems"][1] |= more
            return document

        for document, said in (
                (changed(titel="x"), "did you mean title?"), (changed(schema="x"), "schema is 'x'"), (changed(systems=[]), "there must be one"),
                (changed(name="../x"), "has no place there"), (changed(mtu={"rule": "ignore"}), "allowed: refuse, lowest"),
                (changed(deadline_s=True), "deadline_s is no int"), (changed(deadline_s=0), "allowed: 1 to 86400"),
                (system(name="host"), "names of their own"), (system(baseline="x"), "is no other system"), (system(baseline="other"), "is no other"),
                (system(addresses=["-x"]), "addresses"), (system(addresses=[]), "addresses"), (system(name="a/b"), "has no place there"),
                (system(kind="container"), "needs an image"), (system(image=["x"]), "kind host"), (system(suites=["x"]), "not known"),
                (system(server={"node": "x"}), "no node x"), (system(kind="vm"), "allowed: host, container"),
                (changed(nodes={"a": {"inventory": "gamma"}}), "no host gamma"), (changed(nodes={"a": {"ssh": "-oProxyCommand=x"}}), "ssh"),
                (changed(profiles={"quick": {"repetitions": 0, "time": "1s", "suites": {}}}), "repetitions is 0"),
                (changed(profiles={"quick": {"repetitions": 1, "time": "1s", "suites": {"x": {}}}}), "suite x")):
            with self.assertRaisesRegex(Refused, said.replace("?", r"\?")):
                plan_of(document)
        with self.assertRaisesRegex(Refused, "no profile full, only quick"):
            plan_of(sample(), "full")

    def test_the_digest_is_of_what_decides(self) -> None:
        digest = plan_of(sample()).digest
        self.assertEqual(plan_of(sample() | {"title": "Another"}).digest, digest)
        document = sample()
        document["profiles"]["full"] = document["profiles"]["quick"]
        self.assertEqual(plan_of(document).digest, digest)
        document["profiles"]["quick"] = copy.deepcopy(document["profiles"]["quick"]) | {"repetitions": 4}
        self.assertNotEqual(plan_of(document).digest, digest)


class Schedules(unittest.TestCase):
    def test_repetitions_alternate(self) -> None:
        trials = schedule.trials_of(plan_of(sample()), ["basic"])
        self.assertEqual([trial.system.name for trial in trials], ["host", "other", "other", "host", "host", "other"])
        self.assertEqual([trial.repetition for trial in trials], [1, 1, 2, 2, 3, 3])
        self.assertEqual([trial.position for trial in trials], [1, 2, 3, 4, 5, 6])

    def test_a_linear_drift_goes_away_with_an_even_number(self) -> None:
        document = sample()
        document["profiles"]["quick"]["repetitions"] = 4
        positions: dict[str, int] = {"host": 0, "other": 0}
        for trial in schedule.trials_of(plan_of(document), ["basic"]):
            positions[trial.system.name] += trial.position
        self.assertEqual(positions["host"], positions["other"])

    def test_words(self) -> None:
        document = sample()
        document["profiles"]["quick"]["suites"] = {name: {} for name in ("basic", "multi_dev", "multi_qp", "transfers", "software")}
        document["systems"][1] |= {"rdma_cm": True}
        trials = [trial for trial in schedule.trials_of(plan_of(document)) if trial.repetition == 1]
        words = {f"{trial.step.name} {trial.system.name}": " ".join(schedule.words_of(trial, 0)) for trial in trials}
        self.assertTrue(words["basic host"].startswith("thesis 10.0.0.1 --suite basic --reps 1 --time 50ms --size 64K"))
        self.assertIn("thesis 10.0.0.1 10.0.1.1 --suite multi_dev", words["multi_dev host"])
        self.assertIn("run 10.0.0.1 10.0.0.1 10.0.0.1 10.0.0.1 --verb send", words["transfers-4 host"])
        self.assertIn("--cm", words["software-bw other"])
        self.assertEqual({name for name in words if name.endswith("other")}, {"software-bw other", "software-lat other"})
        self.assertIn("--mtu 1024", " ".join(schedule.words_of(trials[0], 1024)))
        self.assertEqual(len({trial.file for trial in schedule.trials_of(plan_of(document))}), len(schedule.trials_of(plan_of(document))))

    def test_the_estimate_takes_the_most_like(self) -> None:
        trials = schedule.trials_of(plan_of(sample()), ["basic"])
        self.assertIsNone(schedule.time_left(trials, {}))
        self.assertEqual(schedule.time_left(trials, {"transfers-1 host": [2.0]}), 12)
        self.assertEqual(schedule.time_left(trials, {"basic host": [2.0, 4.0], "basic other": [1.0]}), 12)
        self.assertEqual(schedule.human_time(125.4), "2 min 5 s")


class Mtus(unittest.TestCase):
    def seen(self, *paths: int, netdevs: tuple[int, ...] = (1500, 1500)) -> list[mtu.Seen]:
        return [mtu.Seen(f"s{index}", path, {"client rdma0": netdev}) for index, (path, netdev) in enumerate(zip(paths, netdevs))]

    def test_equal_is_agreed_and_nothing_is_set(self) -> None:
        agreed = mtu.agree("refuse", self.seen(1024, 1024), True)
        self.assertEqual((agreed.path, agreed.set_by_us, agreed.for_system("s0", 1024)), (1024, False, 0))

    def test_unequal_is_refused_with_what_mends_it(self) -> None:
        with self.assertRaisesRegex(Refused, "4096 of s0, 1024 of s1.*lowest"):
            mtu.agree("refuse", self.seen(4096, 1024), False)
        with self.assertRaisesRegex(Refused, "9000 on client rdma0 of s0; 1500 on client rdma0 of s1.*ip link set dev INTERFACE mtu 1500"):
            mtu.agree("refuse", self.seen(1024, 1024, netdevs=(9000, 1500)), False)

    def test_the_lowest_is_set_and_recorded(self) -> None:
        agreed = mtu.agree("lowest", self.seen(4096, 1024, netdevs=(9000, 1500)), False)
        self.assertEqual(agreed.for_system("s0", 4096), 1024)
        self.assertEqual(agreed.record("s0"), {"rule": "lowest", "path_bytes": 1024, "set": True, "netdev_bytes": {"client rdma0": 9000}})
        with self.assertRaisesRegex(Refused, "different MTUs"):  # packets of TCP are the interface's affair
            mtu.agree("lowest", self.seen(4096, 1024, netdevs=(9000, 1500)), True)

    def test_iwarp_has_none(self) -> None:
        agreed = mtu.agree("refuse", self.seen(1024, 0), True)
        self.assertEqual((agreed.path, agreed.for_system("s1", 0)), (1024, 0))
        self.assertEqual(mtu.agree("refuse", self.seen(0, 0), True).path, 0)
        report = samples.report([samples.result(samples.point(mtu_bytes=4096), 1e6)])
        with self.assertRaisesRegex(Refused, "agreed was 1024"):
            mtu.check_results(report, agreed, "x")
        report["env"]["client"]["device"]["iwarp"] = True
        mtu.check_results(report, agreed, "x")
        self.assertEqual(mtu.path_of(report, report["results"][0]), 0)


class Parents(unittest.TestCase):
    def seen(self, name: str, below: str, function: str = "", node: Node = Node(), baseline: str = "host") -> parents.Seen:
        return parents.Seen(name, baseline if name != baseline else "", "server", node, f"net-{name}", below, function)

    def test_a_child_is_on_the_interface_below_it(self) -> None:
        pf = "/sys/devices/pci0000:00/0000:00:01.0"
        parents.check([self.seen("host", "5", pf), self.seen("container", "5")])  # a macvlan of it
        parents.check([self.seen("host", "5"), self.seen("container", "5")])  # two macvlans
        parents.check([self.seen("host", "5", pf), self.seen("container", "9", pf)])  # a VF of it

    def test_two_adapters_are_refused_with_both_names(self) -> None:
        with self.assertRaisesRegex(Refused, "different adapters, server: net-container of container is on interface 7, and net-host of host is on "
                                             "0000:00:01.0. Give both one parent"):
            parents.check([self.seen("host", "5", "/sys/devices/pci0000:00/0000:00:01.0"), self.seen("container", "7")])
        with self.assertRaisesRegex(Refused, "on 0000:00:02.0, and"):
            parents.check([self.seen("host", "5", "/sys/0000:00:01.0"), self.seen("container", "7", "/sys/0000:00:02.0")])

    def test_what_cannot_be_compared_is_not(self) -> None:
        parents.check([self.seen("host", "5"), self.seen("container", "")])
        parents.check([self.seen("host", "5", node=NODES["alpha"]), self.seen("container", "7")])
        parents.check([self.seen("container", "7")])


class Words(unittest.TestCase):
    def test_ssh_gets_one_quoted_word_and_a_host_none_of_it(self) -> None:
        words = places.over(NODES["alpha"], ["echo", "a b", "$(x)", ";reboot"])
        self.assertEqual(words[:1] + words[-3:], ["ssh", "root@10.0.0.1", "--", "echo 'a b' '$(x)' ';reboot'"])
        self.assertEqual(words[5:9], ["-p", "2222", "-i", "/key"])
        self.assertEqual(shlex.split(words[-1]), ["echo", "a b", "$(x)", ";reboot"])
        self.assertEqual(places.over(Node(), ["a b"]), ["a b"])

    def test_containers_are_the_engines(self) -> None:
        plan = plan_of(example("fleet.json"))
        system = plan.systems[1]
        server, client = places.Place(plan, system, system.server, "server"), places.Place(plan, system, system.client, "client")
        started = shlex.split(server.start_words()[-1])
        self.assertEqual(started[:5], ["docker", "run", "-d", "--name", f"rdma-evaluation-{plan.digest[:8]}-container-server"])
        for word in ("--runtime", "rdma.mode=shared", "registry.example/rdma", "serve"):
            self.assertIn(word, started)
        self.assertEqual(client.start_words()[-2:], ["sleep", "infinity"])
        self.assertEqual(client.words(["x"]), ["docker", "exec", f"rdma-evaluation-{plan.digest[:8]}-container-client", "x"])


class Interfaces(unittest.TestCase):
    """Of devices whose GIDs name none."""

    def place(self, system: dict[str, Any], said: str) -> places.Place:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        program = Path(folder.name) / "program"
        program.write_text(f"#!/bin/sh\nshift $#\necho {shlex.quote(said)}\n", encoding="utf-8")
        program.chmod(0o755)
        document = sample()
        document["systems"] = [sample()["systems"][0] | {"server": {"prefix": [str(program)]}}]
        document["systems"][0] |= system
        plan = plan_of(document)
        if "image" in system:
            object.__setattr__(plan.systems[0], "engine", str(program))
        return places.Place(plan, plan.systems[0], plan.systems[0].server, "server")

    def test_on_a_host_by_rdma(self) -> None:
        self.assertEqual(self.place({}, '[{"ifname":"siw0","port":1,"netdev":"eth5"}]').netdev_of("siw0"), "eth5")

    def test_in_a_container_by_what_was_attached(self) -> None:
        container = {"kind": "container", "mode": "softiwarp", "image": ["x"], "engine": "podman", "server": {}}
        attached = '{"format":1,"attachments":[{"device":"siw1","netdev":"rdma1"},{"device":"siw0","netdev":"rdma0"}]}'
        self.assertEqual(self.place(container, attached).netdev_of("siw0"), "rdma0")

    def test_the_interface_below_as_the_kernel_says(self) -> None:
        plan = plan_of(sample())
        place = places.Place(plan, plan.systems[0], plan.systems[0].server, "server")
        self.assertEqual(place.parent_of("lo"), ("1", ""))
        self.assertEqual(place.parent_of("gone"), ("", ""))

    def test_that_nobody_knows(self) -> None:
        for said in ("", "{}", "[]", "[{}]", "[1]"):
            with self.assertRaisesRegex(places.Failed, "no interface is known of siw0"):
                self.place({}, said).netdev_of("siw0")


class Campaigns(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.out = self.folder / "out"
        os.environ["STAND_IN"] = folder.name
        self.mtus(1024, 1024)
        self.plan(sample())

    def plan(self, document: dict[str, Any]) -> None:
        (self.folder / "plan.json").write_text(json.dumps(document), encoding="utf-8")

    def mtus(self, host: int, other: int) -> None:
        (self.folder / "mtus").write_text(json.dumps({"10.0.0.1": host, "10.0.2.1": other}), encoding="utf-8")

    def evaluate(self, *words: str) -> tuple[int, str, str]:
        out, errors = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(errors):
            status = command.main([str(self.folder / "plan.json"), "--out", str(self.out), "--no-report", *words])
        return status, out.getvalue(), errors.getvalue()

    def calls(self) -> list[str]:
        """Of what was measured, without the probes."""
        path = self.folder / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def files(self) -> list[str]:
        return sorted(path.name for path in (self.out / "raw").iterdir())

    def test_a_whole_one_is_kept_read_by_the_report_and_not_measured_again(self) -> None:
        status, _, said = self.evaluate()
        self.assertEqual(status, 0, said)
        self.assertEqual(len(self.files()), 18)
        self.assertIn("[18/18] transfers-4, other, repetition 3", said)
        self.assertIn("about 0 s left", said)
        about, runs = documents.read_evaluation(self.out)
        self.assertEqual((about.title, len(runs)), ("A sample", 18))
        self.assertEqual({run.system.baseline for run in runs if run.system.name == "other"}, {"host"})
        self.assertIn(("path_bytes", "1024"), runs[0].environment["MTU"])
        self.assertTrue(any(name == "processors" for name, _ in runs[0].environment["client"]))
        self.assertIn("thesis", runs[0].command)
        calls = self.calls()
        status, _, said = self.evaluate()
        self.assertEqual((status, self.calls()), (0, calls))
        self.assertIn("18 of 18 runs are there already", said)

    def test_one_that_broke_goes_on_where_it_stopped(self) -> None:
        for call in (4, 5):  # twice the fourth
            (self.folder / f"trouble-{call}").write_text("124")
        status, _, said = self.evaluate("--suite", "basic")
        self.assertEqual(status, 2)
        self.assertIn("basic, host, repetition 2", said)
        self.assertEqual(self.files(), ["basic-001-host.json", "basic-001-other.json", "basic-002-other.json"])
        before = len(self.calls())
        status, _, said = self.evaluate("--suite", "basic")
        self.assertEqual((status, len(self.files()), len(self.calls()) - before), (0, 6, 3), said)

    def test_one_failure_is_tried_again_and_recorded(self) -> None:
        (self.folder / "trouble-2").write_text("5")
        self.assertEqual(self.evaluate("--suite", "basic")[0], 0)
        attempts = {path.name: json.loads(path.read_text())["attempts"] for path in (self.out / "raw").iterdir()}
        self.assertEqual([name for name, count in attempts.items() if count == 2], ["basic-001-other.json"])

    def test_a_first_look_that_fails_once_is_tried_again(self) -> None:
        (self.folder / "trouble-probe").write_text("7")
        status, _, said = self.evaluate("--suite", "basic")
        self.assertEqual(status, 0, said)
        self.assertIn("host: again, because", said)

    def test_unequal_mtu_is_refused_before_anything_is_measured(self) -> None:
        self.mtus(4096, 1024)
        status, _, said = self.evaluate()
        self.assertEqual((status, self.calls(), self.files()), (2, [], []))
        self.assertIn("4096 of host, 1024 of other", said)

    def test_or_set_for_all(self) -> None:
        self.mtus(4096, 1024)
        self.plan(sample() | {"mtu": {"rule": "lowest"}})
        self.assertEqual(self.evaluate("--suite", "basic")[0], 0)
        self.assertTrue(all("--mtu 1024" in call for call in self.calls()))

    def test_two_adapters_are_refused_before_anything_is_measured(self) -> None:
        (self.folder / "netdevs").write_text(json.dumps({"10.0.2.1": "stand-in"}))
        with mock.patch.object(places.Place, "parent_of", lambda _self, netdev: ("1" if netdev == "lo" else "2", "")), \
                mock.patch.object(places.Place, "mtu_of", lambda _self, _netdev: 1500):
            status, _, said = self.evaluate()
            self.assertEqual((status, self.calls(), self.files()), (2, [], []))
            self.assertIn("other and host use different adapters, server", said)
            self.plan(sample() | {"parents": "any"})
            self.assertEqual(self.evaluate("--suite", "basic")[0], 0)

    def test_an_mtu_that_changes_meanwhile_is_not_kept(self) -> None:
        (self.folder / "mtu-2").write_text("4096")
        status, _, said = self.evaluate("--suite", "basic")
        self.assertEqual((status, self.files()), (2, ["basic-001-host.json"]))
        self.assertIn("measured with path MTU 4096, agreed was 1024", said)

    def test_a_folder_belongs_to_one_plan_and_one_evaluation_and_has_only_its_runs(self) -> None:
        self.evaluate("--suite", "basic")
        document = sample()
        document["profiles"]["quick"]["time"] = "60ms"
        self.plan(document)
        self.assertIn("another plan", self.evaluate()[2])
        self.plan(sample())
        with Store(self.out, plan_of(sample())):
            self.assertIn("another evaluation writes there", self.evaluate()[2])
        for text, said in (("{", "cannot be read"), ("[]", "is no object"), ("{}", "is no run of this plan")):
            (self.out / "raw/basic-002-host.json").write_text(text)
            self.assertIn(said, self.evaluate("--suite", "basic")[2])

    def test_what_is_written_is_there_whole_or_not_at_all(self) -> None:
        path = self.folder / "x.json"
        write_atomically(path, {"a": 1})
        with self.assertRaises(TypeError):
            write_atomically(path, {"a": object()})
        self.assertEqual(json.loads(path.read_text()), {"a": 1})

    def test_a_server_that_does_not_start(self) -> None:
        document = sample()
        document["systems"][0]["server"] = {"prefix": ["false"]}
        self.plan(document)
        status, _, said = self.evaluate()
        self.assertEqual(status, 2)
        self.assertIn("host: the two sides do not reach each other", said)

    def test_dry_run_changes_nothing(self) -> None:
        status, out, _ = self.evaluate("--dry-run")
        self.assertEqual((status, self.calls(), self.out.exists()), (0, [], False))
        self.assertEqual(len(out.splitlines()), 2 + 18)

    def test_an_interrupt_ends_it_and_it_goes_on(self) -> None:
        (self.folder / "trouble-3").write_text("hang")
        words = [str(EXAMPLES / "evaluate"), str(self.folder / "plan.json"), "--out", str(self.out), "--no-report", "--suite", "basic"]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as campaign:
            assert campaign.stderr
            for line in campaign.stderr:
                if line.startswith("[2/6]"):
                    campaign.terminate()
                    break
            rest = campaign.stderr.read()
        self.assertEqual(campaign.returncode, 130, rest)
        self.assertEqual(len(self.files()), 2)
        (self.folder / "trouble-3").unlink()
        self.assertEqual(self.evaluate("--suite", "basic")[0], 0)
        self.assertEqual(len(self.files()), 6)

    def test_wrong_words(self) -> None:
        self.assertIn("--suite cpu: profile quick has only basic, transfers", self.evaluate("--suite", "cpu")[2])
        self.assertIn("no profile x", self.evaluate("--profile", "x")[2])
        for bad in ("parent", "parent="):
            self.assertIn(f"--set {bad}: is not NAME=VALUE", self.evaluate("--set", bad)[2])
        self.assertIn("--set parent: ", self.evaluate("--set", "parent=eth1")[2])


if __name__ == "__main__":
    unittest.main()
