#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on examples for engines that no engine would understand.

usage: examples.py ROOT

Files below examples/: YAML is parsed; every annotation rdma.* that a YAML file or a quadlet gives must be in the schema;
names that stand in several files must agree: the runtime, the RuntimeClass and its handler.
"""
import json
import re
import sys
from pathlib import Path

RUNTIME = "rdma"
QUADLET = re.compile(r"^Annotation=([^=]+)=", re.MULTILINE)


def annotations(value):
    """The keys of all mappings called annotations, at any depth."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from (each or {}) if key == "annotations" else annotations(each)
    elif isinstance(value, list):
        for each in value:
            yield from annotations(each)


def names(value):
    """What a YAML file calls our runtime."""
    if value.get("kind") == "RuntimeClass":
        yield from (value["handler"], value["metadata"]["name"])
    if value.get("kind") == "Pod":
        yield value["spec"]["runtimeClassName"]
    for service in value.get("services", {}).values():
        yield service["runtime"]


def check(root, yaml):
    schema = json.loads((root / "runtime-config/schema/annotations.schema.json").read_text(encoding="utf-8"))
    known = [re.compile(pattern) for pattern in schema["patternProperties"]]
    found = 0
    for path in sorted((root / "examples").rglob("*")):
        where, keys = path.relative_to(root), []
        if path.suffix == ".yaml":
            value = yaml.safe_load(path.read_text(encoding="utf-8"))
            keys = list(annotations(value))
            for name in names(value):
                if name != RUNTIME:
                    yield f"{where}: calls the runtime {name}, not {RUNTIME}"
        elif path.suffix == ".container":
            keys = QUADLET.findall(path.read_text(encoding="utf-8"))
        found += len(keys)
        for key in keys:
            if key.startswith("rdma.") and not any(pattern.search(key) for pattern in known):
                yield f"{where}: annotation {key} is not in the schema"
    if not found:
        yield "examples/: no annotation was found"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        import yaml
    except ImportError:
        print("skipped: python3-yaml is not installed")
        sys.exit(77)
    problems = list(check(Path(sys.argv[1]), yaml))
    print("\n".join(problems) or "examples: engines know all that they say")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
