# SPDX-License-Identifier: Apache-2.0
"""The scheduling of processes that are running."""
import os
from pathlib import Path


def threads_of(roots):
    """The threads of processes, and of all that they have started."""
    children, found, open_ = {}, [], list(roots)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, rest = int(stat.parent.name), stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
        except OSError:
            continue  # it has ended
        children.setdefault(int(rest.split()[1]), []).append(pid)
    while open_:
        pid = open_.pop()
        open_ += children.get(pid, [])
        found += [int(task.name) for task in Path(f"/proc/{pid}/task").glob("*")]
    return found


def is_idle(thread):
    try:
        return os.sched_getscheduler(thread) == os.SCHED_IDLE
    except ProcessLookupError:
        return False


def leave_idle(roots):
    """Takes processes and all that they have started out of the idle policy, also what they start meanwhile."""
    while idle := list(filter(is_idle, threads_of(roots))):
        for thread in idle:
            try:
                os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))
            except ProcessLookupError:
                pass
            except PermissionError:
                return  # without CAP_SYS_NICE: it stays idle, and has the processors when nothing else wants them
