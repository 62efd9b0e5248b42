# SPDX-License-Identifier: Apache-2.0
"""Hosts of which there are only files: a callback plugin under which ansible-playbook runs plays, and no module.

Every call of a module is answered here, from the folder of its host below RDMA_FAKE_HOSTS:

  host.json   facts, packages (installed), without (modules that the kernel lacks), programs (that succeed and print nothing), answers
              [{to, rc, out, err, times, while, writes}] (to: a pattern of the command line; the first one that is not used up answers;
              while: {path: content} with which it does; writes: {path: content} of the command), after_reboot {path: content}
  root/       its files, which modules read and, but in check mode, change
  used        how often each answer was given

`log` has a JSON object in each line: what was asked (host, module, args), and how tasks ended (host, task, status, msg, changed).

All else is Ansible's own: roles, templates, conditions, loops, serial, check mode. A module does here what the roles rely on: commands
have creates and removes, copy needs the folder of its file, and a program that a host does not have is an error.
"""
from __future__ import annotations

import base64
import contextlib
import fnmatch
import gc
import hashlib
import json
import os
import re
import shutil
import sys
from pathlib import Path

from ansible.executor.process import worker
from ansible.plugins.action import ActionBase
from ansible.plugins.callback import CallbackBase
from ansible.plugins.loader import action_loader, filter_loader, test_loader
from ansible.utils.display import Display
from ansible.vars import manager
from jinja2 import Environment

DOCUMENTATION = """
name: fake_hosts
type: aggregate
short_description: answers all modules
description: Answers all modules in the place of hosts.
"""
FOLDER = Path(os.environ["RDMA_FAKE_HOSTS"])
CHANGED = {"changed": True}


LOG = open(FOLDER / "log", "ab", buffering=0)  # noqa: SIM115


def note(**entry):
    LOG.write((json.dumps(entry) + "\n").encode())


class Host:
    def __init__(self, folder, root, check):
        self.folder, self.root, self.check = folder, root, check
        self.what = json.loads((folder / "host.json").read_text(encoding="utf-8")) if folder else {}

    def at(self, path):
        return self.root / str(path).lstrip("/")

    def put(self, files):
        for path, content in files.items():
            self.at(path).parent.mkdir(parents=True, exist_ok=True)
            self.at(path).write_text(content, encoding="utf-8")

    # ---- programs --------------------------------------------------------------------------------------
    def answer(self, line):
        used = json.loads((self.folder / "used").read_text(encoding="utf-8")) if (self.folder / "used").exists() else {}
        for number, each in enumerate(self.what.get("answers", [])):
            count = used.get(str(number), 0)
            if fnmatch.fnmatchcase(line, each["to"]) and count < each.get("times", count + 1) and all(
                    self.at(path).is_file() and self.at(path).read_text(encoding="utf-8") == content
                    for path, content in each.get("while", {}).items()):
                (self.folder / "used").write_text(json.dumps(used | {str(number): count + 1}), encoding="utf-8")
                self.put(each.get("writes", {}))
                return each.get("rc", 0), each.get("out", ""), each.get("err", "")
        return None

    def run(self, argv):
        """(status, stdout, stderr), or nothing: the host has no such program."""
        answer = self.answer(" ".join(argv))
        if answer:
            return answer
        installed, lacking = self.what.get("packages", []), self.what.get("without", [])
        if argv[0] == "dpkg-query":
            if argv[3] == "${db:Status-Status}":
                return (0, "installed", "") if argv[4] in installed else (1, "", f"no packages found matching {argv[4]}")
            return 0, "".join(f"{name} installed" + ("\n" if "\\n" in argv[3] else " ") for name in installed), ""
        if argv[0] == "rpm":
            names = argv[4:] if "--queryformat" in argv else argv[2:]
            return (len(set(names) - set(installed)),
                    "".join(f"{name} installed \n" if name in installed else f"package {name} is not installed\n" for name in names), "")
        if argv[0] == "modprobe":
            missing = [name for name in argv[2:] if name in lacking]
            if missing:
                return 1, "", f"modprobe: FATAL: Module {missing[0]} not found in directory /lib/modules"
            return 0, "".join(f"insmod /lib/modules/kernel/{name}.ko.xz\n" for name in argv[-1:]), ""
        if argv[0] == "systemd-escape":
            return 0, re.sub(r"[^\w:.-]|(?<=.)-", lambda found: f"\\x{ord(found[0]):02x}", argv[-1].replace("/", "\0")).replace("\\x00", "-"), ""
        if argv[0] == "rmdir":
            try:
                self.at(argv[1]).rmdir()
            except OSError as error:
                return 1, "", f"rmdir: failed to remove '{argv[1]}': {error.strerror}"
            return 0, "", ""
        if argv[0] == "systemctl":
            return 1, "not-found", ""
        return (0, "", "") if argv[0] in self.what.get("programs", []) else None

    def command(self, args):
        creates, removes = args.get("creates"), args.get("removes")
        said = {"changed": False, "rc": 0, "stdout": "", "stderr": "", "msg": ""}
        if creates and self.at(creates).exists() or removes and not self.at(removes).exists():
            return said | {"stdout": f"skipped, since of {creates or removes}"}
        if self.check:
            return said | ({"changed": True} if creates or removes else {"skipped": True})
        answer = self.run([str(word) for word in args["argv"]])
        if answer is None:
            return said | {"failed": True, "rc": 2, "msg": f"[Errno 2] No such file or directory: b'{args['argv'][0]}'"}
        status, out, err = answer
        said |= {"changed": True, "rc": status, "stdout": out.rstrip("\r\n"), "stderr": err.rstrip("\r\n")}
        return said | ({"failed": True, "msg": "non-zero return code"} if status else {})

    # ---- files -----------------------------------------------------------------------------------------
    def stat(self, args):
        path = self.at(args["path"])
        if not os.path.lexists(path):
            return {"stat": {"exists": False}}
        found = {"exists": True, "isdir": path.is_dir() and not path.is_symlink(), "islnk": path.is_symlink()}
        if path.is_symlink():
            found["lnk_source"] = "/" + os.path.relpath(path.resolve(), self.root.resolve())
        elif path.is_file():
            found["checksum"] = hashlib.sha1(path.read_bytes()).hexdigest()
        return {"stat": found}

    def slurp(self, args):
        path = self.at(args.get("path") or args["src"])
        if not path.is_file():
            return {"failed": True, "msg": f"file not found: {path}"}
        return {"content": base64.b64encode(path.read_bytes()).decode(), "encoding": "base64"}

    def find(self, args):
        patterns, paths = ([each] if isinstance(each, str) else each for each in (args.get("patterns", ["*"]), args["paths"]))
        kinds = {"file": Path.is_file, "directory": Path.is_dir, "any": Path.exists}
        found = [path for folder in paths if self.at(folder).is_dir() for path in sorted(self.at(folder).iterdir())
                 if kinds[args.get("file_type", "file")](path) and any(fnmatch.fnmatchcase(path.name, each) for each in patterns)]
        return {"matched": len(found), "files": [{"path": "/" + os.path.relpath(path, self.root)} for path in found]}

    def file(self, args):
        path = self.at(args.get("path") or args["dest"])
        changed = path.exists() if args["state"] == "absent" else args["state"] == "directory" and not path.is_dir()
        if changed and not self.check:
            if args["state"] == "directory":
                path.mkdir(parents=True)
            elif path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        return {"changed": changed}

    def copy(self, args):
        path = self.at(args["dest"])
        if not path.parent.is_dir():
            return {"failed": True, "msg": f"Destination directory {path.parent} does not exist"}
        path.write_bytes(args["fake_content"])
        return CHANGED

    def lineinfile(self, args):
        path = self.at(args["path"])
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        wanted = [line for line in lines if line != args["line"]] if args.get("state") == "absent" else \
            lines + [args["line"]] * (args["line"] not in lines)
        if wanted != lines and not self.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in wanted), encoding="utf-8")
        return {"changed": wanted != lines}

    # ---- all else --------------------------------------------------------------------------------------
    def setup(self, _):
        return {"ansible_facts": {f"ansible_{key}": value for key, value in self.what["facts"].items()}}

    def call(self, module, args):
        only_noted = ("apt", "dnf", "dnf5", "get_url", "group", "modprobe", "systemd", "unarchive")
        if module in only_noted:
            return dict(CHANGED)
        if module not in ("command", "copy", "file", "find", "lineinfile", "setup", "slurp", "stat"):
            return {"failed": True, "msg": f"fake_hosts has no module {module}"}
        return getattr(self, module)(args)


def host_of(action, variables):
    """A task for the controller looks at its files."""
    name = variables["inventory_hostname"]
    if action._task.delegate_to:
        return name, Host(None, Path("/"), action._task.check_mode)
    return name, Host(FOLDER / name, FOLDER / name / "root", action._task.check_mode)


def execute_module(self, module_name=None, module_args=None, task_vars=None, **_):
    module = (module_name or self._task.action).rpartition(".")[2]
    args = dict(self._task.args if module_args is None else module_args)
    name, host = host_of(self, task_vars)
    note(host=name, module=module, args=args)
    if module == "copy":
        args["fake_content"] = self.fake_content
    said = host.call(module, args)
    for stream in ("stdout", "stderr"):
        if stream in said:
            said[f"{stream}_lines"] = said[stream].splitlines()
    return said


def transfer_file(self, local_path, remote_path):
    self.fake_content = Path(local_path).read_bytes()
    return remote_path


def make_tmp_path(self, *_, **__):
    self._connection._shell.tmpdir = "/tmp/fake"
    return self._connection._shell.tmpdir


def run_reboot(self, tmp=None, task_vars=None):
    name, host = host_of(self, task_vars)
    note(host=name, module="reboot", args=dict(self._task.args))
    host.put(host.what.get("after_reboot", {}))
    return {"changed": True, "rebooted": True}


# ---- haste -------------------------------------------------------------------------------------------------
# With no module to run, most of a play's time goes into what these plays do not need.
class Through:
    """A stream to which a process of its own would have written nothing."""

    def __init__(self, stream):
        self.stream = stream

    def __getattr__(self, name):
        return getattr(self.stream, name)

    def getvalue(self):
        return ""


def copy_of(given):
    copy = object.__new__(type(given))
    copy.__dict__.update(given.__dict__)
    return copy


def run_here(self):
    """Runs a task of one host in this process, and not in a new one. It may change its task and host, which are those of later tasks here."""
    self._task, self._host = copy_of(self._task), copy_of(self._host)
    self._new_stdin = None
    # ansible-core has it since 2.19.
    with worker._task.TaskContext(self._task) if hasattr(worker, "_task") else contextlib.nullcontext():
        self._run()


def compile_once(self, source, *args, compiled={}, compile=Environment.compile, **options):  # noqa: B006
    """Each task of each host compiles its templates."""
    if not isinstance(source, str) or args or options:
        return compile(self, source, *args, **options)
    key = (type(self), self.block_start_string, self.trim_blocks, self.lstrip_blocks, self.keep_trailing_newline, str(source))
    if key not in compiled:
        compiled[key] = compile(self, source)
    return compiled[key]


def remembered(get):
    """Each template looks for its filters and tests in all collections, and for Jinja's own in vain."""
    known = {}

    def get_once(name, *args, **options):
        if args or options:
            return get(name, *args, **options)
        if name not in known:
            try:
                known[name] = get(name), None
            except Exception as error:  # it is raised again
                known[name] = None, error
        plugin, error = known[name]
        if error:
            raise error
        return plugin

    return get_once


def hasten():
    gc.disable()
    worker.WorkerProcess.start = run_here
    Display.set_queue = lambda *_: None
    sys.stdout, sys.stderr = Through(sys.stdout), Through(sys.stderr)
    # Files of group_vars and host_vars, of which there are none, are looked for in each task of each host.
    manager.get_vars_from_inventory_sources = manager.get_vars_from_path = lambda *_, **__: {}
    Environment.compile = compile_once
    for loader in (filter_loader, test_loader):
        loader.get = remembered(loader.get)


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "fake_hosts"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        ActionBase._execute_module = execute_module
        ActionBase._transfer_file = transfer_file
        ActionBase._make_tmp_path = make_tmp_path
        ActionBase._remove_tmp_path = lambda *_, **__: None
        ActionBase._fixup_perms2 = lambda *_, **__: None
        ActionBase._remote_expand_user = lambda self, path, *_, **__: path
        action_loader.get("ansible.builtin.reboot", class_only=True).run = run_reboot
        hasten()

    def v2_playbook_on_play_start(self, play):
        # What the controller is, where a role asks for it.
        if os.environ.get("RDMA_FAKE_ANSIBLE"):
            play.get_variable_manager()._options_vars["ansible_version"]["full"] = os.environ["RDMA_FAKE_ANSIBLE"]

    def ended(self, status, result):
        said = result._result
        note(host=result._host.get_name(), task=result._task.get_name().rpartition(" : ")[2], status=status, changed=bool(said.get("changed")),
             msg=said.get("msg", ""))

    def v2_runner_on_ok(self, result):
        self.ended("ok", result)

    def v2_runner_item_on_ok(self, result):
        self.ended("ok", result)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self.ended("ignored" if ignore_errors else "failed", result)
