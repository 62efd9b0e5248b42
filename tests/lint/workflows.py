#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on workflows and other files in .github that GitHub would refuse, or that do more than call the repository's own scripts.

usage: workflows.py ROOT

A step runs one command, whose program is an executable file of the repository. Expressions stand where GitHub takes them for values,
never in a command: text from a pull request would be run. Actions are named by commit. A job has its limit of time and no more rights
than it needs. The full form's shards are those of jobs.py. A pattern of CODEOWNERS is that of a file. Skips (77) without python3-yaml; runs actionlint, too, where there is one.
"""
import fnmatch
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import jobs as table

try:
    import yaml
except ImportError:
    yaml = None

WORKFLOWS, FORMS, PULL = ".github/workflows", ".github/ISSUE_TEMPLATE", ".github/pull_request_template.md"
DEPENDABOT, OWNERS = ".github/dependabot.yml", ".github/CODEOWNERS"
DOCTOR = "rdmactl doctor --json"
RUNNERS = {"ubuntu-24.04", "ubuntu-24.04-arm", "ubuntu-26.04", "ubuntu-26.04-arm"}
EVENTS = {"push": {"branches", "tags", "paths"}, "pull_request": {"branches", "paths"}, "schedule": None, "workflow_dispatch": {"inputs"}}
# The keys that may be there, and those that must.
WORKFLOW = ({"name", "on", "permissions", "concurrency", "jobs"}, {"name", "on", "permissions", "concurrency", "jobs"})
JOB = ({"name", "needs", "if", "runs-on", "container", "timeout-minutes", "strategy", "permissions", "steps", "env"}, {"runs-on", "timeout-minutes", "steps"})
CONTAINER = ({"image", "options", "volumes", "env"}, {"image"})
STRATEGY = ({"fail-fast", "matrix", "max-parallel"}, {"matrix"})
STEP = ({"name", "id", "if", "uses", "with", "run", "env"}, set())
FORM = ({"name", "description", "title", "labels", "assignees", "body"}, {"name", "description", "body"})
ELEMENTS = {"markdown", "textarea", "input", "dropdown", "checkboxes"}
CHOOSER = ({"blank_issues_enabled", "contact_links"}, {"blank_issues_enabled"})
LINK = ({"name", "url", "about"}, {"name", "url", "about"})
PROPOSALS = ({"version", "updates"}, {"version", "updates"})
UPDATE = ({"package-ecosystem", "directory", "schedule", "labels", "groups"}, {"package-ecosystem", "directory", "schedule"})
SCHEDULE = ({"interval", "day", "time"}, {"interval"})
OWNER = re.compile(r"@[\w-]+(/[\w.-]+)?")
PERMISSIONS = {"contents", "packages", "id-token", "attestations"}
ACTION = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
KNOWN = re.compile(r"github\.(ref|token)|strategy\.job-index|matrix\.([\w-]+)")
CRON = re.compile(r"(\*|\d+)( (\*|\d+)){4}")


class Unique(yaml.SafeLoader if yaml else object):
    """A key that is there twice is an error; `on` is text."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.YAMLError(f"line {key.start_mark.line + 1}: {key.value} is there twice")
            seen.add(key.value)
        return {"on" if key is True else key: value for key, value in super().construct_mapping(node, deep).items()}


def keys(what, value, allowed):
    """Whether a mapping has the keys that it must and may have."""
    if not isinstance(value, dict):
        yield f"{what} is no mapping"
        return
    may, must = allowed
    yield from (f"{what} has {key}, which is not known here" for key in sorted(map(str, value.keys() - may)))
    yield from (f"{what} has no {key}" for key in sorted(must - value.keys()))


def texts(value, path=()):
    """Each text in a document, with the keys on the way to it."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from texts(each, (*path, str(key)))
    elif isinstance(value, list):
        for each in value:
            yield from texts(each, path)
    elif isinstance(value, str):
        yield path, value


def matrix_values(job):
    """The values of each name of a job's matrix."""
    matrix = (job.get("strategy") or {}).get("matrix") or {}
    values = {name: list(each) for name, each in matrix.items() if name != "include" and isinstance(each, list)}
    for more in matrix.get("include") or []:
        for name, each in more.items():
            values.setdefault(name, []).append(each)
    return values


def expand(text, matrix):
    """The values that a text has over the matrix, if it is one name of it."""
    found = re.fullmatch(r"\$\{\{ matrix\.([\w-]+) \}\}", str(text))
    return matrix.get(found[1], []) if found else [text]


def expressions(where, job, matrix):
    for path, text in texts(job):
        found = EXPRESSION.findall(text)
        if "${{" in text and path[-1] == "run":
            yield f"{where}: an expression in a command: give it by env"
        elif text.count("${{") != len(found):
            yield f"{where}: '{text}' is no whole expression"
        for each in found:
            known = KNOWN.fullmatch(each)
            if not known:
                yield f"{where}: expression {each} is not among those that are needed"
            elif known[2] and known[2] not in matrix:
                yield f"{where}: the matrix has no {known[2]}"


def command(root, text):
    """What is wrong with a step's command."""
    if "\n" in text.strip():
        return "more than one line: make a script of it"
    try:
        lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError as error:
        return str(error)
    if any(set(word) <= set("();<>|&") for word in words if word):
        return "more than one command: make a script of it"
    program = root / words[0]
    if words[0].startswith(("/", "~")) or not program.is_file() or not os.access(program, os.X_OK):
        return f"{words[0]} is no executable file of the repository"
    return None


def check_step(root, where, step):
    yield from keys(where, step, STEP)
    if not isinstance(step, dict):
        return
    if ("uses" in step) == ("run" in step):
        yield f"{where}: one of uses and run"
    elif "run" in step:
        wrong = command(root, str(step["run"]))
        if wrong:
            yield f"{where}: {wrong}"
        if "with" in step:
            yield f"{where}: with is for an action"
    else:
        if not ACTION.fullmatch(str(step["uses"])):
            yield f"{where}: {step['uses']} is not named by a commit"
        if str(step["uses"]).startswith("actions/checkout@") and (step.get("with") or {}).get("persist-credentials") is not False:
            yield f"{where}: checkout leaves its token behind: persist-credentials: false"


def check_job(root, where, job, names):
    yield from keys(where, job, JOB)
    if not isinstance(job, dict):
        return
    matrix = matrix_values(job)
    if "strategy" in job:
        yield from keys(f"{where}: strategy", job["strategy"], STRATEGY)
    if "container" in job:
        yield from keys(f"{where}: container", job["container"], CONTAINER)
    for label in expand(job.get("runs-on"), matrix):
        if label not in RUNNERS:
            yield f"{where}: there is no runner {label}"
    limit = job.get("timeout-minutes")
    if not isinstance(limit, int) or not 0 < limit <= 360:
        yield f"{where}: timeout-minutes is from 1 to 360"
    needs = job.get("needs", [])
    for other in needs if isinstance(needs, list) else [needs]:
        if other not in names:
            yield f"{where}: it needs {other}, which is no job"
    for right, value in (job.get("permissions") or {}).items():
        if right not in PERMISSIONS or value not in ("read", "write"):
            yield f"{where}: permission {right}: {value}"
    yield from expressions(where, job, matrix)
    steps = job.get("steps")
    if not isinstance(steps, list) or not steps:
        yield f"{where}: no steps"
        return
    for number, step in enumerate(steps, 1):
        yield from check_step(root, f"{where}, step {number}", step)
    commands = " ".join(str(step.get("run", "")) for step in steps if isinstance(step, dict))
    shards = list(range(1, table.SHARDS + 1))
    if "--shard" in commands and (matrix.get("shard") != shards or f"/{table.SHARDS}" not in commands):
        yield f"{where}: shards are 1 to {table.SHARDS}, as jobs.py has them"


def check_workflow(root, name, document):
    yield from keys(name, document, WORKFLOW)
    if not isinstance(document, dict):
        return
    events = document.get("on")
    for event, filters in (events or {}).items() if isinstance(events, dict) else [(events, None)]:
        if event not in EVENTS:
            yield f"{name}: event {event} is not among {', '.join(EVENTS)}"
        elif event == "schedule":
            if not filters or not all(CRON.fullmatch(str(each.get("cron"))) for each in filters):
                yield f"{name}: schedule has no times of cron's form"
        elif filters:
            yield from keys(f"{name}: {event}", filters, (EVENTS[event], set()))
    if document.get("permissions") != {"contents": "read"}:
        yield f"{name}: permissions of a workflow are contents: read; a job that needs more says so"
    yield from expressions(name, {key: value for key, value in document.items() if key != "jobs"}, {})
    jobs = document.get("jobs")
    if not isinstance(jobs, dict) or not jobs:
        yield f"{name}: no jobs"
        return
    for job, value in jobs.items():
        yield from check_job(root, f"{name}: {job}", value, set(jobs))


def check_form(name, document, text):
    yield from keys(name, document, FORM)
    if DOCTOR not in text:
        yield f"{name}: it does not ask for {DOCTOR}"
    body = document.get("body") if isinstance(document, dict) else None
    ids = [each.get("id") for each in body or [] if isinstance(each, dict) and each.get("type") != "markdown"]
    if not ids or None in ids or len(set(ids)) != len(ids):
        yield f"{name}: each field has an id of its own"
    for each in body or []:
        kind, attributes = (each.get("type"), each.get("attributes") or {}) if isinstance(each, dict) else (None, {})
        if kind not in ELEMENTS or not attributes.get("value" if kind == "markdown" else "label"):
            yield f"{name}: a field of type {kind} without its text"


def check_list(name, document, own, key, each):
    """A document with a list, and what the keys of both are."""
    yield from keys(name, document, own)
    for number, member in enumerate(document.get(key) or [] if isinstance(document, dict) else [], 1):
        yield from keys(f"{name}: {key} {number}", member, each)
        if "schedule" in each[0] and isinstance(member, dict):
            yield from keys(f"{name}: schedule {number}", member.get("schedule"), SCHEDULE)


def matches(pattern, name):
    """As in .gitignore: a pattern without a slash but at its end is for each folder, and one that names a folder for all in it."""
    parts = name.split("/")
    paths = ["/".join(parts[:depth + 1]) if "/" in pattern.rstrip("/") else part for depth, part in enumerate(parts)]
    return any(fnmatch.fnmatchcase(path, pattern.strip("/")) for path in (paths[:-1] if pattern.endswith("/") else paths))


def check_owners(root):
    files = table.files(root)
    for number, line in enumerate((root / OWNERS).read_text(encoding="utf-8").splitlines(), 1):
        pattern, *owners = line.partition("#")[0].split() or [""]
        if pattern and (not owners or not all(map(OWNER.fullmatch, owners))):
            yield f"{OWNERS}:{number}: it is PATTERN @OWNER..."
        elif pattern and not any(matches(pattern, name) for name in files):
            yield f"{OWNERS}:{number}: {pattern} is the pattern of no file"


def check(root):
    loaded = {}
    for path in sorted([root / DEPENDABOT, *(path for folder in (WORKFLOWS, FORMS) for path in (root / folder).glob("*.y*ml"))]):
        name = str(path.relative_to(root))
        if not path.is_file():
            yield f"{name} is missing"
            continue
        text = path.read_text(encoding="utf-8")
        try:
            loaded[name] = yaml.load(text, Unique)
        except yaml.YAMLError as error:
            yield f"{name}: {error}"
            continue
        if name.startswith(WORKFLOWS):
            yield from check_workflow(root, name, loaded[name])
        elif name == DEPENDABOT:
            yield from check_list(name, loaded[name], PROPOSALS, "updates", UPDATE)
        elif path.stem == "config":
            yield from check_list(name, loaded[name], CHOOSER, "contact_links", LINK)
        else:
            yield from check_form(name, loaded[name], text)
    for folder in (WORKFLOWS, FORMS):
        if not any(name.startswith(folder) for name in loaded):
            yield f"{folder}: nothing is there"
    yield from check_owners(root)
    if DOCTOR not in (root / PULL).read_text(encoding="utf-8"):
        yield f"{PULL}: it does not ask for {DOCTOR}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if yaml is None:
        print("skipped: python3-yaml is not installed")
        sys.exit(77)
    root = Path(sys.argv[1])
    problems = list(check(root))
    if shutil.which("actionlint"):
        done = subprocess.run(["actionlint", "-no-color"], cwd=root, capture_output=True, text=True, check=False)
        problems += (done.stdout + done.stderr).splitlines() if done.returncode else []
    print("\n".join(problems) or "workflows: GitHub takes them, and they only call the repository's scripts")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
