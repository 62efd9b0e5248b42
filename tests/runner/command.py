# SPDX-License-Identifier: Apache-2.0
"""tests/run: builds, runs jobs as many at a time as there are processors for, counts them."""
import argparse
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import plan
import processes
import results
import state
import table

ROOT = plan.ROOT
LOG = ROOT / "build/log"
BUILD = ROOT / "build/check"
STAGE = ROOT / "build/stage"

EPILOG = """\
Without a form: each fact once (the short form).
  unit       no privilege, no kernel
  contract   the fakes and this machine's kernel, asked the same questions
  lab        guests with real RDMA under several kernels (docs/dev/lab.md)

Logs are in build/log. Ends with the ten dearest tests and the number of tests run, passed, failed and skipped, with the
reasons. Status: 0 if none failed, 1 if one did, 64 for wrong usage, 69 if something is missing on this machine."""


def slug(name):
    return re.sub(r"[^\w.=-]+", "-", name).strip("-")[:120]


# ---- a run -----------------------------------------------------------------------------------------------------------------------
class Run:
    """`store` is the folder of results of these files, on `commit`; None: they are not kept."""

    def __init__(self, jobs, times, store, commit=""):
        self.jobs, self.times, self.store, self.commit = jobs, times, store, commit
        self.cpus = max(1, len(os.sched_getaffinity(0)))
        self.outcomes = {}
        self.unsteady, self.processes, self.lock = [], {}, threading.Lock()  # processes: of which job each is
        self.began = time.monotonic()
        self.ended = queue.Queue()
        self.thread = threading.local()  # `job`, and `before`: words that go before each of its commands

    def seconds(self, job):
        if job.parts:
            return sum(map(self.seconds, job.parts)) - plan.GUEST_OVERHEAD * (len(job.parts) - 1)
        return max(1, self.times.get(job.name, job.seconds))

    def say(self, text):
        spent = int(time.monotonic() - self.began)
        print(f"[{spent // 60:3}:{spent % 60:02}] {text}", flush=True)

    def execute(self, log, *command, env=None):
        """Runs a command in a process group of its own, with its output in a file; its status. Not in a session of its own: the kernel
        gives each session the same share of a processor (sched(7), autogroup), whatever the policies in them."""
        with open(log, "ab") as file, subprocess.Popen(
                [str(word) for word in (*self.thread.before, *command)], cwd=ROOT, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                process_group=0, env=os.environ | (env or {})) as process:
            with self.lock:
                self.processes[process] = self.thread.job
            try:
                return process.wait()
            finally:
                with self.lock:
                    del self.processes[process]

    def stop(self):
        with self.lock:
            for process in self.processes:
                try:
                    os.killpg(process.pid, signal.SIGTERM)
                except ProcessLookupError:
                    pass

    def promote(self, job):
        """Takes all of a job's processes out of the idle policy, and those that they start meanwhile."""
        with self.lock:
            roots = [process.pid for process, of in self.processes.items() if of == job]
        processes.leave_idle(roots)

    def work(self, job, spare, again=""):
        log = LOG / f"{slug(job.name)}{again}.log"
        log.unlink(missing_ok=True)
        began = time.monotonic()
        self.thread.job = job
        self.thread.before = ("chrt", "--idle", "0") if spare else ()
        try:
            outcome = KINDS[job.kind](self, job, log)
        except Exception as error:  # pylint: disable=broad-except  # a thread's end has to be heard of
            outcome = results.Outcome(errors=[f"{type(error).__name__}: {error}"])
        self.ended.put((job, outcome if isinstance(outcome, dict) else {each: outcome for each in job.parts or (job,)}, log, time.monotonic() - began))

    def finish(self, job, outcome, log, spent):
        verdict = "done" if outcome.good else "FAILED"
        self.say(f"{job.name}: {verdict} after {int(spent)} s" + (f" ({outcome.run} tests)" if outcome.run else ""))
        if not outcome.good:
            for line in results.failures(log) or results.read(log)[-40:]:
                print(line)
        else:
            self.times[job.name] = round(spent)
            state.save(state.folder() / "times.json", self.times)
        self.outcomes[job.name] = outcome
        if self.store:
            state.save(self.store / f"{slug(job.name)}.json", {"job": job.name, "commit": self.commit, "seconds": round(spent),
                                                         "outcome": results.to_json(outcome)})

    def schedule(self, jobs, again=""):
        """Runs jobs, as many at a time as there are processors for. What comes after one that failed does not run."""
        waiting, running, spare, tick = plan.order(jobs, self.seconds), {}, set(), time.monotonic() + 60
        while waiting or running:
            while not (again and running) and (job := plan.next_job(waiting, running, spare, self.cpus)) is not None:
                waiting.remove(job)
                bad = [name for name in job.after if name in self.outcomes and not self.outcomes[name].good]
                if bad:
                    self.outcomes |= {each.name: results.Outcome(errors=[f"not run, as '{bad[0]}' failed"])
                                      for each in job.parts or (job,)}
                    continue
                self.say(job.name + (" once more, alone" if again else ""))
                if not again and not plan.fits(job, running, spare, self.cpus):
                    spare.add(job)
                running[job] = time.monotonic()
                threading.Thread(target=self.work, args=(job, job in spare, again), daemon=True).start()
            try:
                job, outcomes, log, spent = self.ended.get(timeout=max(0.0, tick - time.monotonic()))
            except queue.Empty:
                tick += 60
                self.tell_progress(waiting, running, spare)
                continue
            del running[job]
            spare.discard(job)
            while (next_ := plan.promoted(running, spare, self.cpus)) is not None:
                spare.remove(next_)
                self.promote(next_)
            for part, outcome in outcomes.items():
                own = sum(outcome.times.values()) + plan.GUEST_OVERHEAD if job.parts else spent
                self.finish(part, outcome, log, own)

    def tell_progress(self, waiting, running, spare):
        now = time.monotonic()
        spent = {job: now - since for job, since in running.items()}
        left = plan.estimate(waiting, spent, spare, self.cpus, self.seconds)
        each = ", ".join(f"{job.name} ({int(seconds) // 60}:{int(seconds) % 60:02})" for job, seconds in spent.items())
        self.say(f"... {each}; {len(waiting)} to come, about {round(left / 60)} min left")

    def whole(self):
        self.schedule(plan.shared(self.jobs, self.seconds))
        # A busy machine's guest stands still now and then. A job that failed runs once more with nothing beside it; if it passes, it
        # is called unsteady, which is a defect all the same.
        for job in [job for job in self.jobs if job.kind in AGAIN and not self.outcomes[job.name].good
                    and not any(error.startswith("not run") for error in self.outcomes[job.name].errors)]:
            first = self.outcomes[job.name]
            self.schedule([job], "-again")
            if self.outcomes[job.name].good:
                self.unsteady += [f"{job.name}: {what}" for what in first.errors + first.cases or [f"{first.failed} tests"]]


# ---- how a job of each kind is run ----------------------------------------------------------------------------------------------
def run_install(run, _job, log):
    """What is missing here; and a compiler's cache if there is one."""
    parts = ["build", "test", "documents", *(["fuzz"] if any(job.kind == "fuzz" for job in run.jobs) else [])]
    if run.execute(log, ".ci/install", *parts):
        return results.Outcome(errors=["packages are missing"])
    if shutil.which("ccache"):
        os.environ |= {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache", "CMAKE_C_COMPILER_LAUNCHER": "ccache", "CCACHE_BASEDIR": str(ROOT),
                       "CCACHE_NOHASHDIR": "1",
                       "CCACHE_SLOPPINESS": "pch_defines,time_macros,include_file_mtime,include_file_ctime"}
    return results.Outcome()


def run_lab(run, job, log):
    return results.tree(log, run.execute(log, "tests/lab/build", *job.run))


def build(run, log, preset, *targets):
    return (run.execute(log, "cmake", "--preset", preset, "-DRDMA_WERROR=ON") or
            run.execute(log, "cmake", "--build", "--preset", preset, "--parallel", run.cpus, *(("--target", *targets) if targets else ())))


def run_programs(run, _job, log):
    """The programs and what guests have besides, put where guests copy them from."""
    shutil.rmtree(STAGE, ignore_errors=True)
    env = {"DESTDIR": str(STAGE)}
    status = (build(run, log, "check", "guest") or run.execute(log, "cmake", "--install", BUILD, env=env) or
              run.execute(log, "cmake", "--install", BUILD, "--component", "guest", env=env))
    return results.Outcome(errors=[] if status == 0 else ["it does not build"])


def run_tests(run, _job, log):
    return results.Outcome(errors=[] if build(run, log, "check") == 0 else ["it does not build"])


def ctest(run, log, preset, label, programs=(), before=()):
    """One label of a preset. What fails runs once more with nothing beside it."""
    folder, junit = ROOT / f"build/{preset}/Testing/gtest/{label}", [log.with_suffix(".xml")]
    shutil.rmtree(folder, ignore_errors=True)
    command = [*before, "ctest", "--preset", preset, "-L", f"^{label}$", "--timeout", "900"]
    chosen = ("-R", rf"^({'|'.join(programs)})(\.|$)") if programs else ()
    # Many of them sleep until a deadline has passed.
    if run.execute(log, *command, *chosen, "-j", 2 * run.cpus, "--output-junit", junit[0]) and junit[0].exists():
        first = results.ctest(junit, folder)
        junit.append(log.with_name(f"{log.stem}-again.xml"))
        run.execute(log, *command, "--rerun-failed", "--output-junit", junit[1])
        outcome = results.ctest(junit, folder)
        if outcome.good:
            run.unsteady += [f"{log.stem}: {what}" for what in first.errors + first.cases]
        return outcome
    return results.ctest(junit, folder)


def run_unit(run, job, log):
    return ctest(run, log, "check", "unit", job.run)


def run_contract(run, _job, log):
    return ctest(run, log, "check", "contract")


def run_sanitizer(run, job, log):
    """The unit and contract tests that a preset chooses, by a command before them if it needs one."""
    preset, *before = job.run
    if build(run, log, preset):
        return results.Outcome(errors=["it does not build"])
    outcome = results.Outcome()
    for label in ("unit", "contract") if preset == "asan" else ("unit",):
        part = ctest(run, log.with_name(f"{log.stem}-{label}.log"), preset, label, before=before)
        outcome.count(part.passed, part.failed)
        for name in ("skips", "errors", "cases"):
            getattr(outcome, name).extend(getattr(part, name))
    return outcome


def run_guest(run, job, log):
    status = run.execute(log, "tests/lab/run", "--timeout", job.limit, *job.options.split(), "tests/lab/scenarios/many", *job.run,
                         env={"LAB_PROJECT": str(STAGE)})
    return {part: results.guest(log, status, part.run) for part in job.parts or (job,)}


def run_checks(run, job, log):
    return results.checks(log, run.execute(log, *job.run, env={"LAB_PROJECT": str(STAGE)}))


def run_fuzz(run, job, log):
    return results.fuzz(log, run.execute(log, "tests/fuzz/run", *job.run))


def run_quickstart(run, _job, log):
    return results.command(run.execute(log, "examples/quickstart"))


def run_bench(run, job, log):
    """What an attach costs: the goals of tests/bench, with nothing beside it."""
    share = ROOT / "build/bench"
    share.mkdir(exist_ok=True)
    status = (run.execute(log, "c++", "-std=c++20", "-O2", "-static", "-I.", "tests/bench/floor.cc", "tests/bench/floor_asap2.cc", "-o",
                          share / "bench_floor") or build(run, log, "check", "bench_bare"))
    if status:
        return results.Outcome(errors=["it does not build"])
    shutil.copy(BUILD / "tests/bench/bench_bare", share)
    measured = log.with_name(f"{log.stem}-guest.log")
    measured.unlink(missing_ok=True)
    status = run.execute(measured, "tests/lab/run", "--kernel", "7.3", "--timeout", job.limit, "--share", share,
                         "tests/lab/scenarios/bench-attach.sh", *job.run, env={"LAB_APPEND": "nohz_full=1", "LAB_PROJECT": str(STAGE)})
    return results.checks(measured, status)


KINDS = {"install": run_install, "lab": run_lab, "programs": run_programs, "tests": run_tests, "unit": run_unit, "contract": run_contract,
         "sanitizer": run_sanitizer, "guest": run_guest, "packages": run_checks, "rpm": run_checks, "source-package": run_checks, "bad-input": run_checks, "pair": run_checks, "power-loss": run_checks,
         "newest-libc": run_checks, "compilers": run_checks, "arm64": run_checks, "dynamic": run_checks, "reproducible": run_checks, "plain-container": run_checks, "selinux": run_checks, "fuzz": run_fuzz, "quickstart": run_quickstart, "bench": run_bench}
AGAIN = {"guest", "pair", "power-loss", "quickstart", "packages"}


# ---- the command line -----------------------------------------------------------------------------------------------------------
def parse(words):
    parser = argparse.ArgumentParser(prog="tests/run", description="Runs the tests. Root on Debian 12 or 13 for all of them: it "
                                     "installs what is missing and boots guests.", epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", nargs="*", metavar="SCENARIO", help="only these scenarios: vf.sh, or 'vf.sh --full'")
    parser.add_argument("--rung", choices=["unit", "contract", "lab", "all"], default="all", help="only this rung")
    parser.add_argument("--changed", nargs="?", const="", metavar="BASE", help="only jobs that can see a change since the commit BASE; "
                        "without BASE: a change that is not committed, or else the last commit")
    parser.add_argument("--full", action="store_true", help="all there is: longer scenarios, each kernel, sanitizers, fuzzing")
    parser.add_argument("--shard", metavar="K/N", help="of --full, the Kth of N parts")
    parser.add_argument("--resume", action="store_true", help="without the jobs that have passed with exactly these files")
    parser.add_argument("--list", action="store_true", help="prints the jobs with their seconds, and runs nothing")
    try:
        asked = parser.parse_args(words)
    except SystemExit as end:
        sys.exit(64 if end.code else 0)
    if asked.shard and not (asked.full and (cut := re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", asked.shard)) and int(cut[1]) <= int(cut[2])):
        parser.print_usage(sys.stderr)
        print("tests/run: --shard K/N is a part of --full, K from 1 to N", file=sys.stderr)
        sys.exit(64)
    return asked


def choose(asked):
    """The jobs that the command line asks for."""
    jobs = table.JOBS
    if asked.scenario:
        return plan.with_needs(plan.of_scenarios(jobs, asked.scenario), jobs)
    chosen = plan.of_form(jobs, "full" if asked.full else "short")
    if asked.changed is not None:
        base = asked.changed or ("HEAD" if state.changed_files("HEAD") else "HEAD~1")
        changed = state.changed_files(base)
        chosen, unknown = plan.seeing(chosen, changed, table.AREAS)
        print(f"{len(changed)} files changed since {base}" + (f", of no area: {' '.join(unknown)}" if unknown else ""))
        chosen = [plan.narrowed(job, changed, table.UNITS, table.AREAS) for job in chosen]
    if asked.rung != "all":
        chosen = [job for job in chosen if job.rung == asked.rung]
    else:
        chosen = [job for job in chosen if job.rung != "build"]
    if asked.shard:
        number, count = map(int, asked.shard.split("/"))
        chosen = plan.shard(chosen, number, count)
    return plan.with_needs(chosen, [*chosen, *(job for job in jobs if job.rung == "build")])


def main(words):
    asked = parse(words)
    os.chdir(ROOT)
    times = state.load(state.folder() / "times.json")
    try:
        jobs = choose(asked)
    except ValueError as error:
        print(f"tests/run: {error}", file=sys.stderr)
        return 64
    if asked.list:
        for job in jobs:
            print(f"{max(1, times.get(job.name, job.seconds)):6} s  {job.form:5}  {job.name}")
        total = sum(map(plan.cost, jobs))
        print(f"{len(jobs)} jobs, about {round(total / 60)} min on two processors"
              + (f"; --shard K/{-(-int(total) // plan.SHARD_SECONDS)} keeps each part under 80 min" if asked.full else ""))
        return 0
    LOG.mkdir(parents=True, exist_ok=True)
    tree, commit = state.contents()
    run = Run(jobs, times, state.folder() / "results" / tree if tree else None, commit)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return carry_out(run, asked)
    except KeyboardInterrupt:
        return 130
    finally:
        run.stop()


def carry_out(run, asked):
    if asked.resume and run.store:
        for job in [job for job in run.jobs if job.rung != "build"]:
            known = state.load(run.store / f"{slug(job.name)}.json")
            # One that was left out whole is not proven.
            if known and (outcome := results.Outcome(**known["outcome"])).good and outcome.run:
                run.outcomes[job.name] = outcome
                run.jobs.remove(job)
        run.say(f"{len(run.outcomes)} jobs have passed with these files before")
        rest = [job for job in run.jobs if job.rung != "build"]
        run.jobs = plan.with_needs(rest, run.jobs)
    if os.geteuid() != 0:
        for job in [job for job in run.jobs if job.rung == "lab" or job.name == "lab"]:
            run.jobs.remove(job)
            run.outcomes[job.name] = results.Outcome(skips=["it needs root"] if job.rung == "lab" else [])
    run.say(f"{len(run.jobs)} jobs on {run.cpus} processors: about "
            f"{round(plan.estimate(plan.order(plan.shared(run.jobs, run.seconds), run.seconds), {}, (), run.cpus, run.seconds) / 60)} min")
    run.whole()
    lines, status = results.closing(run.outcomes, run.unsteady, time.monotonic() - run.began)
    print("\n" + "\n".join(lines), flush=True)
    return status if run.outcomes.get("install", results.Outcome()).good else 69
