#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on examples for engines that no engine would understand.

usage: examples.py ROOT

Files below examples/: YAML is parsed; every annotation rdma.* that a YAML file or a quadlet gives must be in the schema;
names that stand in several files must agree: the runtime, the RuntimeClass and its handler. What Kubernetes gets is of its API's
schema (tests/data/kubernetes). Each example is run by a test,
which names it: RUN_BY. Slurm's spool is one folder in oci.conf, in rdma-spool and in the documents, and no folder is for all.
"""
import json
import re
import sys
from pathlib import Path

RUNTIME = "rdma"
LAB = "tests/lab/scenarios/"
# A file below examples/, or a folder of one program's modules, and the test that runs it; or, after a dash, why none can.
RUN_BY = {
    "quickstart": "tests/runner/command.py",
    "softroce-podman.sh": "examples/quickstart",
    "vf-podman.sh": LAB + "vf.sh",
    "asap2-podman.sh": LAB + "asap2.sh",
    "two-rails.json": LAB + "examples.sh",
    "quadlet/rdma-server.container": LAB + "examples.sh",
    "docker-compose/compose.yaml": LAB + "docker.sh",
    "gpu/docker-gpus": LAB + "gpu.sh",
    "gpu/compose.yaml": LAB + "gpu.sh",
    "gpu/inference.container": "- guests reach no registry of images; examples.sh runs the other quadlet",
    "kubernetes/config.json": "tests/unit/hook/examples_test.cc",
    "kubernetes/containerd-config.toml": "tests/unit/hook/examples_test.cc",
    "kubernetes/containerd-2-config.toml": "tests/unit/hook/examples_test.cc",
    "kubernetes/crio-50-rdma-hook.conf": "tests/unit/hook/examples_test.cc",
    "kubernetes/pod.yaml": "- Debian has no kubelet; this lint holds it to the API's schema",
    "kubernetes/runtimeclass.yaml": "- Debian has no kubelet; this lint holds it to the API's schema",
    "slurm/oci.conf": LAB + "slurm.sh",
    "slurm/rdma-spool": "tests/unit/slurm/spool_test.py",
    "overlay/tenant-asap2": LAB + "overlay.sh",
    "overlay/tenant-vxlan": LAB + "overlay.sh",
    "overlay/README.md": "- about the others; its commands are the scenario's",
    "openmpi/run": LAB + "openmpi.sh",
    "openmpi/exchange.c": LAB + "openmpi.sh",
    "openmpi/Containerfile": "- guests reach no registry of images",
    "Containerfile": "- guests reach no registry of images",
    "evaluation/evaluate": LAB + "evaluation.sh",
    "evaluation/softroce.json": LAB + "evaluation.sh",
    "evaluation/namespaces.sh": LAB + "evaluation.sh",
    "evaluation/fleet.json": "tests/unit/evaluation/evaluation_test.py",
    "evaluation/plans/": "tests/unit/perf/plan_file_test.cc",
    "evaluation/rdma-perf-report": "tests/unit/report/report_test.py",
    "evaluation/rdma_report/": "tests/unit/report/report_test.py",
    "evaluation/fleet-vf.json": "tests/unit/evaluation/evaluation_test.py",
    "evaluation/fleet-asap2.json": "tests/unit/evaluation/evaluation_test.py",
    "evaluation/rdma_evaluation/": "tests/unit/evaluation/evaluation_test.py",
    "evaluation/README.md": "- about the others",
    "acceptance/accept": LAB + "accept.sh",
    "acceptance/rdma_acceptance/": "tests/unit/acceptance/acceptance_test.py",
    "acceptance/README.md": "- about the others",
    "README.md": "- the table of the others",
}
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


TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}


def misfits(value, schema, kinds, where):
    """What of a value the API refuses: a wrong type, a member that it does not know or that is missing, another word than it takes."""
    schema = kinds[schema["$ref"]] if "$ref" in schema else schema
    if not isinstance(value, TYPES[schema["type"]]) or (isinstance(value, bool) and schema["type"] != "boolean"):
        yield f"{where} is {value!r}, and the API wants {schema['type']}"
        return
    if "enum" in schema and value not in schema["enum"] or "pattern" in schema and not re.fullmatch(schema["pattern"], value):
        yield f"{where} is {value!r}, which the API does not take"
    for index, each in enumerate(value if isinstance(value, list) else ()):
        yield from misfits(each, schema["items"], kinds, f"{where}[{index}]")
    members = value if isinstance(value, dict) else {}
    yield from (f"{where} has no {name}" for name in schema.get("required", ()) if name not in members)
    for name, each in members.items():
        member = schema.get("properties", {}).get(name) or schema.get("additionalProperties")
        yield from misfits(each, member, kinds, f"{where}.{name}") if member else [f"{where}.{name} is not in the API"]


def of_kubernetes(value, kinds):
    """What Kubernetes' API refuses of a YAML file; nothing of one that is not for it."""
    kind = f"{value.get('apiVersion')} {value.get('kind')}"
    if "apiVersion" in value:
        yield from misfits(value, kinds[kind], kinds, value["kind"]) if kind in kinds else [f"tests/data/kubernetes has no {kind}"]


def untested(root):
    """Examples without a test, and tests that do not name theirs."""
    there = {str(path.relative_to(root / "examples")) for path in (root / "examples").rglob("*") if path.is_file()}
    folders = {name for name in RUN_BY if name.endswith("/")}
    there = {next((folder for folder in folders if name.startswith(folder)), name) for name in there}
    for name in sorted(there ^ RUN_BY.keys()):
        yield f"examples/{name}: " + ("no test runs it: say in RUN_BY which does" if name in there else "it is in RUN_BY, and gone")
    for name in sorted(there & RUN_BY.keys()):
        test = RUN_BY[name]
        if not test.startswith("- ") and not re.search(rf"\bexamples\b.*{re.escape(name.rstrip('/'))}", (root / test).read_text(encoding="utf-8")):
            yield f"examples/{name}: {test} does not name it"


def slurm(root):
    """What oci.conf, its script and the scenario say of one another. A folder that all may write is root's downfall: see rdma-spool."""
    folder = root / "examples/slurm"
    conf, script = ((folder / name).read_text(encoding="utf-8") for name in ("oci.conf", "rdma-spool"))
    settings = dict(re.findall(r"^(\w+)=(.*)$", conf, re.MULTILINE))
    spool = re.search(r"^spool=(\S+)$", script, re.MULTILINE)[1]
    if not settings.get("ContainerPath", "").startswith(f"{spool}/%U/%j/"):
        yield f"slurm/oci.conf: ContainerPath is not below {spool}/%U/%j/, which rdma-spool makes and removes"
    if not settings.get("RunTimeRun", "").startswith('"/etc/slurm/rdma-spool run %b '):
        yield "slurm/oci.conf: RunTimeRun starts a bundle that rdma-spool did not look at"
    if settings.get("DisableCleanup") != "true":
        yield "slurm/oci.conf: without DisableCleanup=true slurmstepd removes files as root through links of users"
    for name in ("examples/slurm/oci.conf", "docs/engines/slurm.md", LAB + "slurm.sh"):
        text = (root / name).read_text(encoding="utf-8")
        for word in ("Prolog=/etc/slurm/rdma-spool", "Epilog=/etc/slurm/rdma-spool"):
            if word not in text:
                yield f"{name}: does not say {word}"
        if re.search(r"(chmod|-m|--mode=?) *[0-7]*[2367]\b", text):
            yield f"{name}: makes something that all may write"


def check(root, yaml):
    yield from untested(root)
    yield from slurm(root)
    schema = json.loads((root / "runtime-config/install/schema/annotations.schema.json").read_text(encoding="utf-8"))
    kinds = json.loads((root / "tests/data/kubernetes/schema.json").read_text(encoding="utf-8"))
    known = [re.compile(pattern) for pattern in schema["patternProperties"]]
    found = 0
    for path in sorted((root / "examples").rglob("*")):
        where, keys = path.relative_to(root), []
        if path.suffix == ".yaml":
            value = yaml.safe_load(path.read_text(encoding="utf-8"))
            keys = list(annotations(value))
            yield from (f"{where}: {problem}" for problem in of_kubernetes(value, kinds))
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
