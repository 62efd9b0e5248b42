# SPDX-License-Identifier: Apache-2.0
"""Chooses jobs, cuts them into shards, orders them and estimates their time. Starts nothing and reads no clock."""
import fnmatch
import math
import re
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = "tests/lab/scenarios/"
SHARD_SECONDS = 80 * 60
# A guest costs some seconds before and after its scenarios; and whatever runs in it for the first time is slow there, as an emulated
# processor translates each program once. So short jobs share one.
GUEST_OVERHEAD = 6
SHARED_SECONDS = 480


@dataclass(frozen=True)
class Job:
    """One piece of work. `seconds` are its wall time."""
    name: str
    kind: str               # how it is run and counted: a key of run.KINDS
    rung: str               # build, unit, contract or lab
    form: str               # short, full or both
    run: tuple              # words of a command; a guest's scenarios
    seconds: int
    sees: frozenset         # areas whose change it can notice
    cpus: int = 1           # 0: all of the machine's
    spare: bool = False     # runs beside the others, in the time of processors that they leave over
    prompt: bool = False    # judges how long something took, or has daemons that give up (dockerd): never in spare time
    after: tuple = ()       # names of jobs that must have passed before
    options: str = ""       # of tests/lab/run
    timeout: int = 0        # seconds; 0: four times `seconds`, at least ten minutes
    parts: tuple = ()       # the jobs that share this one's guest

    @property
    def scripts(self):
        """The files of tests/lab/scenarios that it runs."""
        return frozenset(word.rsplit("/", 1)[-1] for each in self.run for word in each.split("|") if word.endswith(".sh"))

    @property
    def limit(self):
        return self.timeout or max(600, 4 * self.seconds)


def with_needs(chosen, jobs):
    """`chosen` and all that they come after, in the order of `jobs`."""
    by_name = {job.name: job for job in jobs}
    wanted, open_ = set(), [job.name for job in chosen]
    while open_:
        name = open_.pop()
        if name not in wanted:
            wanted.add(name)
            open_ += by_name[name].after
    return [job for job in jobs if job.name in wanted]


def of_form(jobs, form):
    return [job for job in jobs if job.form in (form, "both")]


def of_scenarios(jobs, wanted):
    """The jobs for what is named: 'vf.sh', or 'vf.sh --full', as the table has it. Those of the short form; else all that have exactly
    these words, or else all of that scenario."""
    found = []
    for each in wanted:
        words = each.replace(" ", "|")
        same = [job for job in jobs if words in job.scripts]
        choice = of_form(same, "short") or [job for job in jobs if words in job.run] or same
        if not choice:
            raise ValueError(f"no job runs '{each}': tests/run --list and --full --list name them all")
        found += choice
    return list(dict.fromkeys(found))


def shared(jobs, seconds):
    """The jobs, with those short ones together that the same guest can run; each keeps its name and its result."""
    rest, guests = [], {}
    for job in sorted(jobs, key=lambda job: (-seconds(job), job.name)):
        if job.kind != "guest" or seconds(job) > SHARED_SECONDS / 2:
            rest.append(job)
            continue
        open_ = guests.setdefault((job.options, job.after, job.prompt), [[]])
        if sum(map(seconds, open_[-1])) + seconds(job) > SHARED_SECONDS:
            open_.append([])
        open_[-1].append(job)
    for parts in (parts for each in guests.values() for parts in each if parts):
        names = ", ".join(part.name.partition(" / ")[2] for part in parts)
        rest.append(parts[0] if len(parts) == 1 else replace(
            parts[0], name=f"{parts[0].name.partition(' / ')[0]} / {names}", run=sum((part.run for part in parts), ()),
            seconds=sum(part.seconds for part in parts) - GUEST_OVERHEAD * (len(parts) - 1), parts=tuple(parts)))
    return rest


def cost(job):
    """Seconds of a machine of two processors, by the table."""
    return job.seconds / 2 * (job.cpus or 2)


def shard(jobs, number, count):
    """The jobs of shard `number` of 1..`count`: the dearest first, each to the shard that has the least so far. It is the same cut
    on every machine. Each shard makes the lab's trees that its guests want: those of another tree than the usual one are in few shards."""
    def rare(job):
        return "--tree " in job.options

    few = math.ceil(count * sum(cost(job) for job in jobs if rare(job)) / max(1, sum(map(cost, jobs))))
    parts = [[] for _ in range(count)]
    totals = [0] * count
    for job in sorted(jobs, key=lambda job: (not rare(job), -cost(job), job.name)):
        index = min(range(few if rare(job) else count), key=totals.__getitem__)
        totals[index] += cost(job)
        parts[index].append(job)
    return parts[number - 1]


# ---- what sees a change ---------------------------------------------------------------------------------------------------------
def matches(path, pattern):
    """A pattern is a path, a folder with a slash behind it, or has wildcards."""
    return path.startswith(pattern) if pattern.endswith("/") else fnmatch.fnmatchcase(path, pattern)


def areas_of(path, areas):
    """The areas of the most exact patterns: the longest that match. One area can hold what another's folder does."""
    best, found = -1, set()
    for area, patterns in areas.items():
        for pattern in patterns:
            if matches(path, pattern) and len(pattern) >= best:
                if len(pattern) > best:
                    found = set()
                best = len(pattern)
                found.add(area)
    return found


def sources_of(script, read):
    """The -lib.sh files that a scenario sources, and what those do."""
    found, open_ = set(), [script]
    while open_:
        for name in re.findall(r'^source .*/([\w.-]+\.sh)"', read(open_.pop()), re.MULTILINE):
            if name not in found:
                found.add(name)
                open_.append(name)
    return found


def read_scenario(name):
    path = ROOT / SCENARIOS / name
    return path.read_text(encoding="utf-8") if path.exists() else ""


def seeing(jobs, changed, areas, read=read_scenario):
    """The jobs that can see a change of the files `changed`; and those files for which the table has no area."""
    touched, scripts, unknown = set(), set(), []
    for path in changed:
        if path.startswith(SCENARIOS):
            scripts.add(path.removeprefix(SCENARIOS))
        elif found := areas_of(path, areas):
            touched |= found
        else:
            unknown.append(path)
    used = {script: sources_of(script, read) | {script} for job in jobs for script in job.scripts}
    rests = scripts - set().union(*used.values())  # a program of a scenario's, say: those that name it
    chosen = []
    for job in jobs:
        mine = set().union(*(used[script] for script in job.scripts))
        if job.sees & touched or mine & scripts or any(rest in read(script) for rest in rests for script in mine):
            chosen.append(job)
    return chosen, unknown


# ---- order and estimate -----------------------------------------------------------------------------------------------------------
def ready(job, waiting, running):
    """Whether all that it comes after is over."""
    names = {other.name for other in (*waiting, *running)}
    return not names & set(job.after)


def order(jobs, seconds):
    """What later jobs wait for goes first; then what has no guest, which tells soonest of a mistake; then what others can run beside in
    spare time, and not the other way round; then the dearest."""
    waited = {name for job in jobs for name in job.after}
    rank = {"build": 0, "unit": 1, "contract": 1}
    return sorted(jobs, key=lambda job: (job.name not in waited, rank.get(job.rung, 2), job.cpus == 0, not job.prompt, -seconds(job)))


def fits(job, running, spare, cpus):
    """Whether processors are free for it; `spare` are those of `running` that run in spare time."""
    used = sum(each.cpus or cpus for each in running if each not in spare)
    return not job.spare and (used + min(job.cpus or cpus, cpus) <= cpus or not used)


def next_job(waiting, running, spare, cpus):
    """Of those that wait, in their order, the first that may start now; None if it has to wait for one that runs. One job at a time
    runs in spare time: one that is for that, or else one of the lab, which gets the processors when they are free (promoted)."""
    kept = False
    for job in waiting:
        if not ready(job, waiting, running):
            continue
        if not spare and (job.spare or job.rung == "lab" and job.cpus and cpus > 1 and not job.prompt and not kept):
            return job
        if not job.spare and not kept:
            if fits(job, running, spare, cpus):
                return job
            kept = job.cpus != 1 and job.rung != "lab"  # keeps its place: smaller ones behind it would put it off for ever
    return None


def promoted(running, spare, cpus):
    """The job that no longer has to run in spare time; None if there is none."""
    return next((job for job in spare if fits(job, running, spare, cpus)), None)


def estimate(waiting, running, spare, cpus, seconds):
    """Seconds until all is over. `running` maps jobs to the seconds that they have run. What runs in spare time takes twice as long."""
    left = {job: max(1.0, seconds(job) - spent) for job, spent in running.items()}
    waiting, spare, clock = list(waiting), set(spare), 0.0
    while waiting or left:
        while (job := next_job(waiting, left, spare, cpus)) is not None:
            if not fits(job, left, spare, cpus):
                spare.add(job)
            waiting.remove(job)
            left[job] = float(seconds(job))
        speed = {job: 0.5 if job in spare else 1.0 for job in left}
        step = min(rest / speed[job] for job, rest in left.items())
        clock += step
        left = {job: rest - step * speed[job] for job, rest in left.items() if rest - step * speed[job] > 1e-6}
        spare &= left.keys()
        while (job := promoted(left, spare, cpus)) is not None:
            spare.remove(job)
    return clock


def narrowed(job, changed, units, areas):
    """A job of unit tests with those programs alone that can see the change; `units` has the areas of each."""
    if job.kind != "unit":
        return job
    touched = set().union(*(areas_of(path, areas) for path in changed)) if changed else set()
    return replace(job, run=tuple(name for name, sees in units.items() if set(sees.split()) & touched))
