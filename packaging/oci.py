#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the image that packaging/image/make prepared as an OCI archive. It needs no engine, and equal files make equal bytes.

usage: packaging/oci.py FOLDER FILE    the time in it is SOURCE_DATE_EPOCH, or else 1970

`podman load`, `docker load`, `ctr images import` and skopeo read it: beside OCI's index it has the manifest.json that Docker reads.
"""
import datetime
import gzip
import hashlib
import io
import json
import os
import re
import sys
import tarfile
from pathlib import Path

NAME = "localhost/rdma-perf:latest"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
MEDIA = "application/vnd.oci.image."
LABEL = "org.opencontainers.image."


class Broken(Exception):
    """What is no image, or not a whole one."""


def packed(members, when):
    """A tar of (name, file or bytes), the same bytes from the same files: root's, of one time, without what umask left."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, content in members:
            if isinstance(content, bytes):
                about, content = tarfile.TarInfo(name), io.BytesIO(content)
                about.size, about.mode = len(content.getvalue()), 0o644
            else:
                about = archive.gettarinfo(content, name)
                about.mode = (about.mode | 0o600 | (0o055 if about.isdir() or about.mode & 0o100 else 0) | 0o044) & 0o755
                content = content.open("rb") if about.isreg() else None
            about.mtime, about.uid, about.gid, about.uname, about.gname = when, 0, 0, "", ""
            archive.addfile(about, content)
            if content:
                content.close()
    return made.getvalue()


def settings(containerfile):
    """The image's configuration, by the lines of the Containerfile."""
    words = dict(re.findall(r"^(ENTRYPOINT|CMD) (\[.*\])$", containerfile, re.MULTILINE))
    return {"Entrypoint": json.loads(words["ENTRYPOINT"]), "Cmd": json.loads(words["CMD"]),
            "Labels": dict(re.findall(r'^LABEL ([\w.]+)="(.*)"$', containerfile, re.MULTILINE))}


def place(described):
    """The name of a blob in the archive."""
    return "blobs/" + described["digest"].replace(":", "/")


def archive(folder, machine, when):
    """The bytes of the archive."""
    root = folder / "root"
    layer = packed([(str(path.relative_to(root)), path) for path in sorted(root.rglob("*"))], when)
    blobs = {}

    def blob(kind, content):
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content
        return {"mediaType": MEDIA + kind, "digest": f"sha256:{digest}", "size": len(content)}

    def document(value):
        return json.dumps(value, indent=1, sort_keys=True).encode()

    config = settings((folder / "Containerfile").read_text(encoding="utf-8"))
    platform = {"architecture": ARCHITECTURES[machine], "os": "linux"}
    created = datetime.datetime.fromtimestamp(when, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    layers = [blob("layer.v1.tar+gzip", gzip.compress(layer, mtime=0))]
    about = blob("config.v1+json", document(platform | {
        "created": created, "config": config, "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        "history": [{"created": created, "created_by": "COPY root/ /"}]}))
    manifest = blob("manifest.v1+json", document({"schemaVersion": 2, "mediaType": MEDIA + "manifest.v1+json", "config": about, "layers": layers,
                                                  "annotations": config["Labels"]}))
    manifest |= {"platform": platform, "annotations": {LABEL + "ref.name": NAME, "io.containerd.image.name": NAME}}
    return packed(sorted((blobs | {
        "oci-layout": document({"imageLayoutVersion": "1.0.0"}),
        "index.json": document({"schemaVersion": 2, "mediaType": MEDIA + "index.v1+json", "manifests": [manifest]}),
        "manifest.json": document([{"Config": place(about), "RepoTags": [NAME], "Layers": [place(each) for each in layers]}]),
    }).items()), when)


def summary(path):
    """A line that says what is in an archive, of which each part is read and compared with its digest."""
    with tarfile.open(path) as opened:
        parts = {member.name: opened.extractfile(member).read() for member in opened}
    wrong = [name for name, content in parts.items() if name.startswith("blobs/") and name != f"blobs/sha256/{hashlib.sha256(content).hexdigest()}"]

    def read(described):
        name = place(described)
        if name not in parts or name in wrong or len(parts[name]) != described["size"]:
            raise Broken(f"{path.name}: {name} is not whole")
        return parts[name]

    try:
        manifest = json.loads(read(json.loads(parts["index.json"])["manifests"][0]))
        config = json.loads(read(manifest["config"]))
        layers = [gzip.decompress(read(each)) for each in manifest["layers"]]
    except (KeyError, ValueError) as error:
        raise Broken(f"{path.name}: {error!r}") from error
    if config["rootfs"]["diff_ids"] != [f"sha256:{hashlib.sha256(each).hexdigest()}" for each in layers]:
        raise Broken(f"{path.name}: a layer is not the one of its configuration")
    files = 0
    for each in layers:
        with tarfile.open(fileobj=io.BytesIO(each)) as layer:
            files += sum(not member.isdir() for member in layer)
    labels = config["config"]["Labels"]
    return f"{labels.get(LABEL + 'title')}, {labels.get(LABEL + 'version')}, {config['architecture']}; {files} files"


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 64
    Path(sys.argv[2]).write_bytes(archive(Path(sys.argv[1]), os.uname().machine, int(os.environ.get("SOURCE_DATE_EPOCH", "0"))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
