# SPDX-License-Identifier: Apache-2.0
"""What stays between runs: times and results; and the names of what is in the work tree."""
import json
import os
import subprocess
from pathlib import Path

import plan


def folder():
    """Earlier times and results: beside the lab's trees, or in the build folder of somebody who is not root."""
    cache = Path(os.environ.get("LAB_CACHE", "/var/cache/rdma-hook-lab"))
    return cache if os.geteuid() == 0 else plan.ROOT / "build"


def load(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def save(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.write_text(json.dumps(value, indent=1), encoding="utf-8")
    part.replace(path)


def git(*words, **more):
    return subprocess.run(["git", *words], cwd=plan.ROOT, capture_output=True, text=True, check=True, **more).stdout.strip()


def contents():
    """The name of what is in the work tree, committed or not, of which results are; and the commit that it stands on. Both are empty
    where this is no checkout: then results are not kept."""
    index = plan.ROOT / "build/results-index"
    index.parent.mkdir(exist_ok=True)
    index.unlink(missing_ok=True)
    env = os.environ | {"GIT_INDEX_FILE": str(index)}
    try:
        git("add", "-A", env=env)
        return git("write-tree", env=env), git("rev-parse", "HEAD")
    except (OSError, subprocess.CalledProcessError):
        return "", ""


def changed_files(base):
    return sorted({*git("diff", "--name-only", base).splitlines(), *git("ls-files", "-o", "--exclude-standard").splitlines()})
