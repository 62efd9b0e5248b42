# SPDX-License-Identifier: Apache-2.0
"""Hosts of which there are only files, and plays of ansible/ on them (plugins/fake_hosts.py answers in their place)."""
from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

Made = TypeVar("Made")
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
RECORDS = "/var/lib/rdma-hook-ansible/"


def facts(family: str, distribution: str, version: str, kernel: str) -> dict[str, Any]:
    return {"os_family": family, "distribution": distribution, "distribution_version": version, "distribution_major_version": version.split(".")[0],
            "kernel": kernel, "cmdline": {}, "processor": ["0", "GenuineIntel", "CPU"], "pkg_mgr": "apt" if family == "Debian" else "dnf"}


def host(of: dict[str, Any], *, group: str = "no_mlnx_ofed", files: dict[str, str] | None = None, pfs: tuple[str, ...] = (), answers: tuple = (),
         variables: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """pfs: `PCI-ADDRESS INTERFACE VENDOR VFS-AT-MOST` of each."""
    return {"group": group, "files": {"/run/systemd/system/x": "", **(files or {})}, "pfs": pfs, "variables": variables or {},
            "host": {"facts": of, "answers": list(answers), **more}}


def lay_out(folder: Path, what: dict[str, Any]) -> None:
    for name in ("modprobe.d", "modules-load.d", "security/limits.d", "systemd/system", "udev/rules.d"):
        (folder / "root/etc" / name).mkdir(parents=True)
    (folder / "host.json").write_text(json.dumps(what["host"]), encoding="utf-8")
    files = dict(what["files"])
    for pf in what["pfs"]:
        address, netdev, vendor, total = pf.split()
        device = f"/sys/devices/pci0000:00/{address}"
        files |= {f"{device}/vendor": f"{vendor}\n", f"{device}/sriov_totalvfs": f"{total}\n", f"/sys/class/net/{netdev}/flags": "0x1002\n"}
        for link in (f"/sys/bus/pci/devices/{address}", f"/sys/class/net/{netdev}/device"):
            path = folder / "root" / link[1:]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(os.path.relpath(folder / "root" / device[1:], path.parent))
    for name, text in files.items():
        path = folder / "root" / name[1:]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


class Play:
    """What one run of a playbook asked hosts for, how its tasks ended, and what files there were then."""

    def __init__(self, printed: str, folder: Path) -> None:
        self.printed = printed
        self.log = [json.loads(line) for line in (folder / "log").read_text(encoding="utf-8").splitlines()]
        self.files = {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in folder.glob("*/root/**/*") if path.is_file()}

    def asked(self, name: str, module: str = "command") -> list[Any]:
        """What a module was given on a host: a command's words, else its arguments."""
        args = [entry["args"] for entry in self.log if entry["host"] == name and entry.get("module") == module]
        return [" ".join(map(str, each["argv"])) for each in args] if module == "command" else args

    def modules(self, name: str) -> set[str]:
        return {entry["module"] for entry in self.log if entry["host"] == name and "module" in entry}

    def order(self) -> list[str]:
        """The host of each call."""
        return [entry["host"] for entry in self.log if "module" in entry]

    def said(self, name: str) -> list[str]:
        return [entry["msg"] for entry in self.log if entry["host"] == name and "msg" in entry]

    def failures(self, name: str) -> list[str]:
        return [entry["msg"] for entry in self.log if entry["host"] == name and entry.get("status") == "failed"]

    def recorded(self, name: str, kind: str) -> dict[str, set[str]]:
        """By role: the packages or units that the play found missing, and would bring."""
        found: dict[str, set[str]] = {}
        for args in self.asked(name, "lineinfile"):
            role = args["path"].removeprefix(f"{RECORDS}{kind}-")
            if role != args["path"]:
                found.setdefault(role, set()).add(args["line"])
        return found

    def read(self, name: str, path: str) -> str | None:
        return self.files.get(f"{name}/root{path}")


class Fleet:
    """Hosts. A later play finds what an earlier one left."""

    def __init__(self, hosts: dict[str, dict[str, Any]]) -> None:
        self.folder = new_folder()
        for name, what in hosts.items():
            lay_out(self.folder / name, what)
        groups = sorted({what["group"] for what in hosts.values()})
        inventory = {"all": {"vars": {"ansible_connection": "local"}, "children": {
            group: {"hosts": {name: what["variables"] for name, what in hosts.items() if what["group"] == group}} for group in groups}}}
        (self.folder / "inventory.json").write_text(json.dumps(inventory), encoding="utf-8")
        # The module is answered as all others are; ansible-playbook wants to see its file.
        module = self.folder / "collections/ansible_collections/community/general/plugins/modules/modprobe.py"
        module.parent.mkdir(parents=True)
        module.write_text("# Answered by fake_hosts.\n", encoding="utf-8")

    def play(self, *options: str, book: str = "site.yml", ansible: str = "2.16.0", **variables: Any) -> Play:
        """`ansible`: the version that roles see."""
        (self.folder / "log").write_bytes(b"")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")} | {
            "HOME": str(self.folder), "RDMA_FAKE_HOSTS": str(self.folder), "RDMA_FAKE_ANSIBLE": ansible,
            "ANSIBLE_CALLBACKS_ENABLED": "fake_hosts",
            "ANSIBLE_CALLBACK_PLUGINS": str(HERE / "plugins"), "ANSIBLE_COLLECTIONS_PATH": str(self.folder / "collections"), "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_COLLECTIONS_PATHS": str(self.folder / "collections"), "ANSIBLE_INJECT_FACT_VARS": "false",
            "ANSIBLE_DISPLAY_SKIPPED_HOSTS": "false", "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"}
        command = ["ansible-playbook", "-i", str(self.folder / "inventory.json"), book, "-e", json.dumps(variables), *options]
        done = subprocess.run(command, cwd=ROOT / "ansible", env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        play = Play(done.stdout + done.stderr, self.folder)
        if done.returncode not in (0, 2) or not play.log:
            raise AssertionError(play.printed)
        return play


def new_folder() -> Path:
    folder = Path(tempfile.mkdtemp())
    unittest.addModuleCleanup(shutil.rmtree, folder)
    return folder


# Plays of several fleets run beside each other. The first test that asks for one waits for it.
POOL = ThreadPoolExecutor(2)
STARTS: list[Callable[[], Any]] = []


def once(make: Callable[[], Made]) -> Callable[[], Made]:
    start = functools.cache(lambda: POOL.submit(make))
    STARTS.append(start)
    return lambda: start().result()
