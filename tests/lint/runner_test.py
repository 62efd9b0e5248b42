#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program behind tests/run (tests/runner): what it chooses, cuts, orders, estimates, counts and resumes."""
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "runner"))
import command  # noqa: E402
import jobs as lint  # noqa: E402
import plan  # noqa: E402
import results  # noqa: E402
import state  # noqa: E402
import table  # noqa: E402


def job(name, seconds=10, sees="", **more):
    return plan.Job(**{"name": name, "kind": "guest", "rung": "lab", "form": "short", "run": (), "seconds": seconds,
                       "sees": frozenset(sees.split())} | more)


class Choice(unittest.TestCase):
    AREAS = {"core": ["hook/"], "vf": ["hook/vf.*", "hook/deep/vf/"], "perf": ["perf/"]}
    JOBS = [job("vf", sees="vf core", run=("vf.sh|--brief",)), job("perf", sees="perf", run=("A=1|perf.sh",))]
    FILES = {"vf.sh": 'source "${BASH_SOURCE[0]%/*}/mode-lib.sh"\n', "mode-lib.sh": 'source "${BASH_SOURCE[0]%/*}/lib.sh"\n',
             "perf.sh": "run $here/helper.c\n"}

    def seeing(self, *paths):
        chosen, unknown = plan.seeing(self.JOBS, paths, self.AREAS, lambda name: self.FILES.get(name, ""))
        return [each.name for each in chosen], unknown

    def test_the_longest_pattern_counts(self):
        self.assertEqual(plan.areas_of("hook/vf.cc", self.AREAS), {"vf"})
        self.assertEqual(plan.areas_of("hook/deep/vf/a.cc", self.AREAS), {"vf"})
        self.assertEqual(plan.areas_of("hook/deep/b.cc", self.AREAS), {"core"})
        self.assertEqual(plan.areas_of("README.md", self.AREAS), set())

    def test_what_can_see_a_change(self):
        for path, names in (("hook/vf.cc", ["vf"]), ("perf/a.cc", ["perf"]), (plan.SCENARIOS + "vf.sh", ["vf"]),
                            (plan.SCENARIOS + "lib.sh", ["vf"]), (plan.SCENARIOS + "helper.c", ["perf"]),
                            (plan.SCENARIOS + "other.sh", [])):
            self.assertEqual(self.seeing(path), (names, []), path)
        self.assertEqual(self.seeing("LICENSE"), ([], ["LICENSE"]))

    def test_scenarios_by_name(self):
        full = job("full", form="full", run=("vf.sh|--full",))
        jobs = [full, *self.JOBS]
        self.assertEqual([each.name for each in plan.of_scenarios(jobs, ["vf.sh"])], ["vf"])
        self.assertEqual([each.name for each in plan.of_scenarios(jobs, ["vf.sh --full"])], ["full"])
        self.assertRaises(ValueError, plan.of_scenarios, jobs, ["gone.sh"])

    def test_a_scenario_of_the_full_form_runs_in_each_of_its_rows(self):
        rows = [job(name, form="full", run=run) for name, run in (("a 7.2", ("a.sh",)), ("a 7.3", ("a.sh",)), ("a exclusive", ("a.sh",)),
                                                                  ("a full", ("a.sh|--full",)), ("b x", ("b.sh|x",)), ("b y", ("b.sh|y",)))]
        for words, names in (("a.sh", ["a 7.2", "a 7.3", "a exclusive"]), ("a.sh --full", ["a full"]), ("b.sh", ["b x", "b y"]), ("b.sh y", ["b y"])):
            self.assertEqual([each.name for each in plan.of_scenarios(rows, [words])], names, words)
        self.assertIn("7.3 exclusive hca nics igb / adapter.sh", [each.name for each in plan.of_scenarios(table.JOBS, ["adapter.sh"])])

    def test_guests_of_another_tree_come_after_it(self):
        for each in table.JOBS:
            if each.kind == "guest":
                tree = re.search(r"--tree (\S+)", each.options)
                self.assertEqual([name for name in each.after if name.startswith("lab")], [f"lab {tree[1]}" if tree else "lab"], each.name)
        for tree in ("lab next", "lab next-engines"):
            rows = [each for each in table.JOBS if tree in each.after]
            self.assertTrue(rows)
            for row in rows:
                needs = [each.name for each in plan.with_needs([row], table.JOBS)]
                self.assertEqual([name for name in needs if name != "tests"], ["install", tree, "programs", row.name])

    def test_the_short_form_boots_the_next_release_once(self):
        rows = [each for each in plan.of_form(table.JOBS, "short") if "--tree " in each.options]
        self.assertEqual([each.after for each in plan.shared(rows, lambda job: job.seconds)], [("lab next-engines", "programs")])

    def test_what_a_job_comes_after_is_there(self):
        jobs = [job("tree"), job("build", after=("tree",)), job("a", after=("build",)), job("b")]
        self.assertEqual([each.name for each in plan.with_needs([jobs[2]], jobs)], ["tree", "build", "a"])

    def test_unit_programs(self):
        unit = job("unit", kind="unit")
        narrow = plan.narrowed(unit, ["perf/a.cc"], {"perf_test": "perf", "hook_test": "core", "lint": "perf core"}, self.AREAS)
        self.assertEqual(narrow.run, ("perf_test", "lint"))

    def test_shards_are_a_cut_of_the_whole(self):
        full = [each for each in plan.of_form(table.JOBS, "full") if each.rung != "build"]
        parts = [plan.shard(full, number, 7) for number in range(1, 8)]
        self.assertEqual(sorted(each.name for part in parts for each in part), sorted(each.name for each in full))

    def test_few_shards_make_another_tree_of_the_lab(self):
        usual, other = [job(f"usual {i}", 100) for i in range(30)], [job(f"other {i}", 100, options="--tree next") for i in range(10)]
        parts = [plan.shard(usual + other, number, 8) for number in range(1, 9)]
        self.assertEqual([sum(each in other for each in part) for part in parts], [5, 5, 0, 0, 0, 0, 0, 0])
        self.assertEqual([len(part) for part in parts], [5] * 8)
        self.assertEqual(plan.shard([], 1, 2), [])

    def test_words(self):
        for words in (["--shard", "1/2"], ["--full", "--shard", "3/2"], ["--full", "--shard", "0/2"], ["--rung", "x"], ["--nonsense"]):
            with mock.patch("sys.stderr"), self.assertRaises(SystemExit) as end:
                command.parse(words)
            self.assertEqual(end.exception.code, 64, words)
        names = [each.name for each in command.choose(command.parse(["--rung", "unit"]))]
        self.assertEqual(names, ["unit", "install", "programs", "tests"])


class Order(unittest.TestCase):
    def test_two_at_a_time_and_alone(self):
        jobs = [job("a", 30), job("b", 20), job("c", 10), job("alone", 5, cpus=0)]
        seconds = lambda each: each.seconds  # noqa: E731
        waiting = plan.order(jobs, seconds)
        self.assertEqual([each.name for each in waiting], ["a", "b", "c", "alone"])
        self.assertEqual(plan.estimate(waiting, {}, (), 2, seconds), 35)  # a beside b and c, then alone
        self.assertEqual(plan.estimate(waiting, {}, (), 1, seconds), 65)
        self.assertEqual(plan.estimate(waiting[1:], {waiting[0]: 25}, (), 2, seconds), 25)  # five of a are left: b beside a and c

    def test_nothing_starts_before_what_it_comes_after(self):
        build, guest = job("build", 10, rung="build", cpus=2), job("guest", 99, after=("build",))
        waiting = plan.order([guest, build], lambda each: each.seconds)
        self.assertEqual(plan.next_job(waiting, [], (), 2), build)
        self.assertIsNone(plan.next_job([guest], [build], (), 2))
        self.assertEqual(plan.next_job([guest], [], (), 2), guest)

    def test_short_jobs_share_a_guest(self):
        jobs = [job("7.3 / a", 220, run=("a.sh",)), job("7.3 / b", 160, run=("b.sh",)), job("7.3 / c", 150, run=("c.sh",)),
                job("7.3 / long", 300, run=("d.sh",)), job("7.2 / a", 9, options="--kernel 7.2"), job("unit", 5, kind="unit")]
        guests = {each.name: each for each in plan.shared(jobs, lambda each: each.seconds)}
        self.assertEqual(set(guests), {"7.3 / a, b", "7.3 / c", "7.3 / long", "7.2 / a", "unit"})
        self.assertEqual(guests["7.3 / a, b"].run, ("a.sh", "b.sh"))
        self.assertEqual(guests["7.3 / a, b"].parts, (jobs[0], jobs[1]))
        self.assertEqual(guests["7.3 / a, b"].seconds, 220 + 160 - plan.GUEST_OVERHEAD)

    def test_a_job_of_two_processors_keeps_its_place(self):
        unit, small = job("unit", 9, rung="unit", cpus=2), job("small", 5, rung="unit")
        self.assertIsNone(plan.next_job([unit, small], [job("other")], (), 2))
        self.assertEqual(plan.next_job([unit, small], [], (), 1), unit)

    def test_spare_time_is_for_one_job_beside_the_others(self):
        build, unit = job("build", 9, rung="build", spare=True), job("unit", 9, rung="unit", spare=True, after=("build",))
        guest, prompt, third = job("guest", 9, cpus=2), job("prompt", 9, cpus=2, prompt=True), job("third", 9, cpus=2)
        self.assertEqual(plan.next_job([build, unit, guest], [], (), 2), build)
        self.assertEqual(plan.next_job([unit, guest], [build], {build}, 2), guest)
        self.assertTrue(plan.fits(guest, [build], {build}, 2))
        self.assertIsNone(plan.next_job([unit, third], [build, guest], {build}, 2))
        self.assertEqual(plan.next_job([unit, third], [guest], (), 2), unit)
        self.assertIsNone(plan.next_job([job("other", 9, spare=True)], [unit], {unit}, 2))
        # A guest in another's spare time gets the processors when that has ended.
        self.assertEqual(plan.next_job([prompt, third], [guest], (), 2), third)
        self.assertFalse(plan.fits(third, [guest], (), 2))
        self.assertIsNone(plan.promoted([guest, third], {third}, 2))
        self.assertEqual(plan.promoted([third], {third}, 2), third)
        self.assertIsNone(plan.promoted([build], {build}, 2))


GTEST = '<testsuites><testcase classname="X" name="A" time="2"/><testcase classname="X" name="B" time="1">{}</testcase></testsuites>'
CTEST = '<testsuite><testcase name="x_test.0" status="{}" time="3"/><testcase name="lint.y" status="run" time="1"/></testsuite>'
MANY = """many: begin a.sh
ok 1 - one
not ok 2 - two
skipped: no wire
scenario a.sh: 2 checks, 1 failed
many: end a.sh: status 1 after 7 s
many: begin b.sh
[==========] 4 tests from 2 test suites ran. (1 ms total)
[  PASSED  ] 3 tests.
[  SKIPPED ] 1 test, listed below:
many: end b.sh: status 0 after 9 s
"""


class Count(unittest.TestCase):
    def counted(self, cases, *programs):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "x_test.0.xml").write_text(GTEST.format(cases), encoding="utf-8")
            files = [Path(folder, f"{number}.junit") for number in range(len(programs))]
            for path, status in zip(files, programs):
                if status:
                    path.write_text(CTEST.format(status), encoding="utf-8")
            return results.ctest(files, folder)

    def test_ctest(self):
        no = '<failure message="no"/>'
        for cases, programs, wanted in (("", ("run",), (3, 3, 0, [], [])), (no, ("fail",), (3, 2, 1, [], ["X.B: no"])),
                                        ("", ("fail", "run"), (3, 3, 0, [], [])), (no, ("fail", "fail"), (3, 2, 1, [], ["X.B: no"])),
                                        ("", ("fail", "fail"), (3, 3, 0, ["x_test.0 did not come to its end"], [])),
                                        ("", ("fail", None), (0, 0, 0, ["ctest did not finish"], []))):
            got = self.counted(cases, *programs)
            self.assertEqual((got.run, got.passed, got.failed, got.errors, got.cases), wanted)
        self.assertEqual(self.counted("", "run").times, {"X.A": 2.0, "X.B": 1.0, "lint.y": 1.0})

    def guest(self, text, status, *scenarios):
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder, "log")
            log.write_text(text, encoding="utf-8")
            return results.guest(log, status, scenarios)

    def test_guest(self):
        got = self.guest(MANY, 1, "X=1|a.sh", "b.sh")
        self.assertEqual((got.run, got.passed, got.failed, got.errors), (5, 4, 1, []))
        self.assertEqual(got.skips, ["no wire", "contract: not for this kernel or RDMA mode"])
        self.assertEqual(got.times, {"a.sh": 7.0, "b.sh": 9.0})
        self.assertEqual(self.guest(MANY, 124, "a.sh", "b.sh", "c.sh").errors, ["timeout; ended: 2 of 3 scenarios"])
        self.assertEqual(self.guest("many: begin a.sh\nmany: end a.sh: status 0 after 1 s\n", 0, "a.sh").errors,
                         ["a.sh ended with status 0 and no closing line"])
        self.assertEqual(self.guest("lab: waiting\nlab: skipped: no kernel of series 6.12\n", 77, "a.sh").skips, ["no kernel of series 6.12"])
        self.assertEqual(self.guest("", 77, "a.sh").skips, ["no reason given"])

    def test_checks(self):
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder, "log")
            log.write_text("ok 1 - one\nskipped: no user namespaces\nnot ok 2 - two\nscenario a.sh: 2 checks, 1 failed\n", encoding="utf-8")
            got = results.checks(log, 1)
            self.assertEqual((got.run, got.failed, got.errors, got.skips, got.cases), (2, 1, [], ["no user namespaces"], ["not ok 2 - two"]))

    def test_tree(self):
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder, "log")
            self.assertEqual(results.tree(log, 1).errors, ["the lab's tree, in which nothing is rdma-hook's, cannot be made: status 1"])
            log.write_text("lab: [  1 s] installing\nE: no Release file\nlab: apt-get update (is it a mirror?)\n", encoding="utf-8")
            for status, said in ((0, []), (77, []), (69, ["the lab's tree, in which nothing is rdma-hook's, cannot be made: apt-get update (is it a mirror?)"])):
                got = results.tree(log, status)
                self.assertEqual((got.errors, got.skips), (said, []), status)

    def test_closing_lines(self):
        outcomes = {"unit": results.Outcome(run=2, passed=2, skips=["x"], times={"slow": 9.0, "quick": 1.0}),
                    "guest": results.Outcome(errors=["timeout"])}
        lines, status = results.closing(outcomes, ["guest: y"], 65)
        self.assertEqual(status, 1)
        self.assertIn("failed: guest: timeout", lines)
        self.assertIn("skipped: 1 x unit: x", lines)
        self.assertLess(lines.index("     9.0 s  slow (unit)"), lines.index("     1.0 s  quick (unit)"))
        self.assertEqual(lines[-2:], ["tests run: 3, passed: 2, failed: 1, skipped: 1, unsteady: 1 (1 min 5 s)",
                                      "2 passed, 1 failed, 1 skipped"])
        self.assertEqual(results.closing({}, [], 1)[1], 1)


class Running(unittest.TestCase):
    """Real processes in the place of guests."""

    def run_jobs(self, jobs, kinds):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(command, "LOG", Path(folder)), \
                mock.patch.object(state, "folder", lambda: Path(folder)), mock.patch.dict(command.KINDS, kinds), \
                mock.patch.object(command, "AGAIN", {"shell", "guest"}), mock.patch("builtins.print"):
            run = command.Run(jobs, {}, Path(folder, "store"))
            run.cpus = 2
            run.whole()
            return run, {path.stem: state.load(path)["outcome"]["run"] for path in Path(folder, "store").glob("*.json")}

    def test_what_fails_once_is_unsteady_and_what_comes_after_it_does_not_run(self):
        with tempfile.TemporaryDirectory() as folder:
            def shell(run, each, log):
                return results.command(run.execute(log, "sh", "-c", *each.run))
            jobs = [job("good", kind="shell", run=("true",)), job("bad", kind="shell", run=("exit 3",)),
                    job("once", kind="shell", run=(f"mkdir {folder}/seen && exit 1; true",)),
                    job("behind", kind="shell", run=("true",), after=("bad",))]
            run, stored = self.run_jobs(jobs, {"shell": shell})
        good = {name: outcome.good for name, outcome in run.outcomes.items()}
        self.assertEqual(good, {"good": True, "bad": False, "once": True, "behind": False})
        self.assertEqual(run.unsteady, ["once: status 1"])
        self.assertEqual(run.outcomes["behind"].errors, ["not run, as 'bad' failed"])
        self.assertEqual(stored, {"good": 1, "bad": 1, "once": 1})

    @unittest.skipIf(subprocess.run(["chrt", "--idle", "0", "chrt", "--other", "0", "true"], stderr=subprocess.DEVNULL, check=False).returncode,
                     "leaving the policy SCHED_IDLE needs CAP_SYS_NICE")
    def test_what_runs_in_spare_time_gets_the_processors_when_they_are_free(self):
        with tempfile.TemporaryDirectory() as folder:
            def shell(run, each, log):
                return results.command(run.execute(log, "timeout", 30, "sh", "-ec", *each.run))
            wait = "until {}; do sleep 0.02; done; "  # no event tells of another process's policy
            first = wait.format(f"test -e {folder}/idle")
            second = f"chrt -p $$ | grep SCHED_IDLE; touch {folder}/idle; " + wait.format("chrt -p $$ | grep SCHED_OTHER")
            run, _ = self.run_jobs([job("first", 20, kind="shell", cpus=2, run=(first,)), job("second", kind="shell", cpus=2, run=(second,))],
                                   {"shell": shell})
        self.assertEqual({name: outcome.errors + outcome.cases for name, outcome in run.outcomes.items()}, {"first": [], "second": []})

    def test_each_that_shares_a_guest_has_its_own_result_and_second_try(self):
        jobs = [job("7.3 / a", kind="guest", run=("a.sh",)), job("7.3 / b", kind="guest", run=("b.sh",))]
        tries = []

        def guest(_run, each, log):
            tries.append(each.run)
            log.write_text(MANY if len(tries) == 1 else MANY.replace("not ok", "ok").replace("1 failed", "0 failed")
                           .replace("status 1", "status 0"), encoding="utf-8")
            return {part: results.guest(log, 1, part.run) for part in each.parts or (each,)}
        run, stored = self.run_jobs(jobs, {"guest": guest})
        self.assertEqual(tries, [("a.sh", "b.sh"), ("a.sh",)])
        self.assertEqual(run.unsteady, ["7.3 / a: not ok 2 - two"])
        self.assertEqual(stored, {"7.3-a": 2, "7.3-b": 3})
        self.assertEqual(run.times["7.3 / b"], 9 + plan.GUEST_OVERHEAD)

    def test_a_job_that_raises_is_a_failure(self):
        def wrong(*_):
            raise OSError("no such program")
        run, _ = self.run_jobs([job("a", kind="wrong")], {"wrong": wrong})
        self.assertEqual(run.outcomes["a"].errors, ["OSError: no such program"])


class Table(unittest.TestCase):
    PATHS = ["hook/a.cc", plan.SCENARIOS + "a.sh"]
    AREAS = {"core": ["hook/"]}
    GOOD = [job("a", sees="core", run=("a.sh",))]

    def problems(self, paths=(), areas=None, jobs=None, units=None, tests=()):
        return list(lint.check([*self.PATHS, *paths], areas or self.AREAS, self.GOOD if jobs is None else jobs, units or {}, lambda _: "", tests))

    def test_unit_tests_are_found_in_what_cmake_reads(self):
        text = "rdma_test(a_test LABEL unit X)\nrdma_test(b_test LABEL contract)\nforeach(test r/c d)\n add_test(NAME python.${name} X)\nendforeach()\n"
        self.assertEqual(list(lint.unit_tests([text])), ["a_test", "python.c", "python.d"])
        self.assertEqual(self.problems(units={r"python\.(c|d)": "core", "a_test": "core"}, tests=lint.unit_tests([text])), [])

    def test_the_lint_of_the_table_fails_when_it_must(self):
        self.assertEqual(self.problems(), [])
        for more, text in (({"paths": ["new/b.cc"]}, "no area of the table has it"), ({"areas": {"core": ["hook/", "gone/"]}}, "nothing matches"),
                           ({"areas": {"core": ["hook/"], "x": ["hook/a.cc"]}}, "no job sees it"),
                           ({"paths": [plan.SCENARIOS + "b.sh"]}, "no job runs this scenario"), ({"jobs": self.GOOD * 2}, "two jobs"),
                           ({"jobs": [*self.GOOD, job("b", run=("c.sh",))]}, "no scenario c.sh"),
                           ({"jobs": [*self.GOOD, job("b", sees="y")]}, "no area y"), ({"units": {"t": "z"}}, "no area z"),
                           ({"jobs": [*self.GOOD, job("b", after=("c",))]}, "which is no job"),
                           ({"jobs": [*self.GOOD, job("b", 99999, form="full", run=("a.sh",))]}, "cut its jobs"),
                           ({"paths": ["hook/x_fuzz.cc"]}, "fuzz target x"), ({"units": {"a": "core"}, "tests": ["ab"]}, "no row for it")):
            self.assertTrue(any(text in each for each in self.problems(**more)), text)


if __name__ == "__main__":
    unittest.main()
