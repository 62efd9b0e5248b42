# SPDX-License-Identifier: Apache-2.0
"""The command line, and one run: it begins with a look at the host, and ends with everything brought back, however it ends."""
from __future__ import annotations

import argparse
import contextlib
import ipaddress
import os
import platform
import re
import shutil
import signal
import socket
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

from . import inventory, offload, plain
from .anonymous import Anonymous
from .engine import Engine
from .host import PCI, SYS, Facts, NoSuchPf, Pf, find_pf, names_in, picture
from .modes import MODES
from .recorders import Recorders
from .report import document, outcome_of, pack, tally
from .run import Check, Run
from .tools import Failed, Tools
from .undo import Busy, Undo

USAGE, CANNOT, INTERRUPTED = 64, 69, 130
FREE = ("free", "without a driver")


class Refused(Exception):
    """Nothing was changed: the reason."""

    def __init__(self, text: str, status: int = CANNOT) -> None:
        super().__init__(text)
        self.status = status


def say(text: str) -> None:
    with contextlib.suppress(OSError):  # the terminal may be gone: the run goes on to bring everything back
        print(text, flush=True)


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="accept", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Tries rdma-hook on an adapter of this host, in some 15 minutes: starts containers in each mode, passes data between them,\n"
        "ends them in good and bad ways, and looks whether all is as before. One line a check; a failure stops nothing. Everything\n"
        "that it makes is taken away again, also after Ctrl-C. It writes an archive with a page of results, and the evidence.",
        epilog="examples:\n"
        "  accept --pf enp59s0f0np0 --image localhost/rdma\n"
        "  accept --pf enp59s0f0np0 --pf2 enp59s0f1np1 --bridge br-rdma --image localhost/rdma --anonymous\n"
        "  accept --pf enp59s0f0np0 --peer 192.168.7.2 --address 192.168.7.100/24 --image localhost/rdma\n"
        "      (on the peer: rdma-perf serve --bind 192.168.7.2; .100 to .115 are free there)\n"
        "  accept --pf eth1 --modes softroce --image localhost/rdma      without an adapter\n\n"
        "The image has libibverbs with its providers: podman build -t localhost/rdma -f examples/Containerfile examples.\n"
        "Status: 0, nothing failed; 1, a check failed; 64, wrong usage; 69, something that it needs is missing; 130, interrupted.")
    parser.add_argument("--pf", metavar="ADAPTER", help="the adapter: its network interface, PCI address or RDMA device")
    parser.add_argument("--pf2", metavar="ADAPTER", help="a second port, on one switch or wire with the first: for traffic that leaves the adapter")
    parser.add_argument("--peer", metavar="HOST", help="another host where `rdma-perf serve --bind ADDRESS` runs")
    parser.add_argument("--address", default="10.77.0.1/24", metavar="IP/PREFIX",
                        help="the first of 16 free IPv4 addresses in a row, for the containers; with --peer, of its network (default: %(default)s)")
    parser.add_argument("--bridge", metavar="NAME", help="for mode asap2: the bridge of Open vSwitch; it is made if it is not there")
    parser.add_argument("--modes", metavar="LIST", help="of softroce, shared, vf, asap2; or only inventory (default: what the adapter has)")
    parser.add_argument("--pool", metavar="NAME", help="modes vf and asap2: VFs of this pool of the configuration, in the place of the adapter's")
    parser.add_argument("--pool2", metavar="NAME", help="the same for the second container")
    image = parser.add_mutually_exclusive_group()
    image.add_argument("--image", help="an image with libibverbs and its providers (default: localhost/rdma)")
    image.add_argument("--rootfs", metavar="FOLDER", help="Podman: a root file system in the place of an image; it is not changed")
    parser.add_argument("--engine", choices=("podman", "docker"), help="default: the first of the two that is installed")
    parser.add_argument("--size", metavar="LIST", help="sizes of messages, as 64,64K,1M (default: those of rdmactl verify)")
    parser.add_argument("--checks", metavar="LIST", help="only these: I*,V1,V5 (what they need is started for them)")
    parser.add_argument("--out", type=Path, default=Path("."), metavar="FOLDER", help="where the archive goes (default: here)")
    parser.add_argument("--anonymous", action="store_true", help="hash MACs, GUIDs, serials, host names and public addresses in the archive")
    parser.add_argument("--keep", action="store_true", help="leave VFs, e-switch and the last containers for a look; then: accept --restore")
    parser.add_argument("--restore", action="store_true", help="only bring back what an earlier run left, by --keep or killed")
    return parser


# ---- the options ----------------------------------------------------------------------------------------------
def modes_for(options: argparse.Namespace, pf: Pf) -> list[str]:
    """The modes of --modes, or those that the adapter has."""
    if options.modes:
        asked = [each for each in options.modes.split(",") if each]
        for each in asked:
            if each not in (*MODES, "inventory"):
                raise Refused(f"--modes {each}: there are {', '.join(MODES)} and inventory", USAGE)
        return [mode for mode in MODES if mode in asked]
    found = {"softroce": not pf.rdma and not pf.infiniband, "shared": bool(pf.rdma) and not pf.infiniband, "vf": bool(pf.total_vfs or options.pool),
             "asap2": bool(options.bridge)}
    return [mode for mode in MODES if found[mode]]


def check_words(options: argparse.Namespace) -> None:
    for option, value, form in (("--bridge", options.bridge, r"[A-Za-z0-9_.-]{1,15}"), ("--pool", options.pool, r"[A-Za-z0-9_.-]{1,64}"),
                                ("--pool2", options.pool2, r"[A-Za-z0-9_.-]{1,64}"), ("--peer", options.peer, r"[A-Za-z0-9][A-Za-z0-9.-]{0,252}"),
                                ("--size", options.size, r"[0-9KM]{1,10}(,[0-9KM]{1,10}){0,9}"),
                                ("--image", options.image, r"[A-Za-z0-9][A-Za-z0-9_.:/@-]{0,254}")):
        if value is not None and not re.fullmatch(form, value):
            raise Refused(f"{option} '{value}' is none", USAGE)
    try:
        first = ipaddress.IPv4Interface(options.address)
        room = first.network.prefixlen <= 27 and first.ip + 15 in first.network
    except ValueError as error:
        raise Refused(f"--address {options.address}: {error}", USAGE) from error
    if not room:
        raise Refused(f"--address {options.address}: give an address and its prefix, with 15 more behind it in the network", USAGE)


def engine_of(options: argparse.Namespace) -> tuple[str, list[str]]:
    """The engine, and its words for the containers' file system."""
    name = options.engine or next((each for each in ("podman", "docker") if shutil.which(each)), "")
    if not name or not shutil.which(name):
        raise Refused("neither Podman nor Docker is installed")
    if not options.rootfs:
        return name, [options.image or "localhost/rdma"]
    folder = Path(options.rootfs)
    if name != "podman" or not folder.is_dir() or ":" in options.rootfs:
        raise Refused("--rootfs names a folder, and needs Podman", USAGE)
    return name, ["--rootfs", f"{folder.resolve()}:O"]


def check_free(tools: Tools, pf: Pf) -> None:
    """Refuses a PF whose VFs somebody uses."""
    if PCI.fullmatch(pf.address) and pf.num_vfs:
        for found in tools.need(["rdmactl", "vf", "list", pf.address, "--json"]).json()["pfs"]:
            for vf in found["vfs"]:
                if vf["state"] not in FREE:
                    raise Refused(f"VF {vf['number']} of {pf.label} is in use ({vf['state']}): end that first, or name another adapter; rdmactl vf list")
    if pf.folder:
        for each in tools.need(["rdmactl", "list", "--json"]).json()["containers"]:
            if any(one.get("mode") in ("vf", "asap2") for one in (each.get("granted") or {}).get("attachments") or []):
                raise Refused(f"container {str(each.get('id'))[:12]} has a VF of this host: end it first; rdmactl list")


def checks_of(run: Run, modes: list[str]) -> list[Check]:
    """Inventory, and the modes in order; the checks of the peer behind the first data to it."""
    found = [*inventory.CHECKS]
    for check in (*plain.CHECKS, *offload.CHECKS):
        found.append(check)
        if modes and check.mode == modes[0] and check.text == "data to the peer":
            found += [Check(name, text, modes[0], look, limit) for name, text, look, limit in inventory.PEER]
    return found


# ---- one run --------------------------------------------------------------------------------------------------
def exclusive_mode(tools: Tools) -> bool:
    return "netns exclusive" in tools.run(["rdma", "system", "show"]).out


def modules(run: Run, modes: list[str]) -> None:
    """Loads the modules of the modes that are not there, to be unloaded at the end."""
    wanted = ["ib_uverbs", "rdma_ucm", "macvlan"] + (["rdma_rxe"] if "softroce" in modes or not run.pf.rdma else [])
    loaded = set(names_in(SYS / "module"))
    for each in wanted:
        if each not in loaded and modes:
            run.undo.plan(f"module {each}", ["modprobe", "-r", each], "not found|in use|builtin")
            run.tools.run(["modprobe", each])


def try_all(options: argparse.Namespace, undo: Undo) -> int:
    check_words(options)
    tools = Tools()
    if not options.pf:
        raise Refused("name the adapter: --pf INTERFACE; `ip link` and `rdma link` show what there is", USAGE)
    if not shutil.which("rdmactl"):
        raise Refused("rdma-hook is not installed: there is no rdmactl")
    try:
        pf = find_pf(options.pf)
        pf2 = find_pf(options.pf2) if options.pf2 else None
    except NoSuchPf as error:
        raise Refused(str(error), USAGE) from error
    modes = modes_for(options, pf)
    if "asap2" in modes and not options.bridge:
        raise Refused("mode asap2 needs --bridge", USAGE)
    engine, image = engine_of(options) if modes else (options.engine or "podman", [])
    for each in (pf, pf2):
        if each and modes:
            check_free(tools, each)
    facts = Facts(kernel=platform.release(), exclusive=exclusive_mode(tools), modes=tuple(modes), address=options.address, peer=options.peer or "",
                  bridge=options.bridge or "", size=options.size or "", pools=(options.pool or "", options.pool2 or ""))
    facts.platform["machine"] = platform.machine()
    run = Run(facts, pf, pf2, tools, undo, Engine(engine, image, tools, undo), options.anonymous)
    if modes:
        try:
            run.engine.prepare()
        except Failed as why:
            raise Refused(f"{image[-1]}: {why}; --image names another one, examples/Containerfile makes one") from why
    return carry_out(run, options, modes)


def carry_out(run: Run, options: argparse.Namespace, modes: list[str]) -> int:
    started, host = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), socket.gethostname()
    wanted = [each for each in (options.checks or "").split(",") if each]
    more = ["infiniband"] * run.pf.infiniband + ["exclusive"] * run.facts.exclusive
    state = "complete"
    pfs = [pf for pf in (run.pf, run.pf2) if pf]
    before = picture(run.tools, pfs)
    recorders = Recorders()
    try:
        recorders.begin()
        modules(run, modes)
        run.all(checks_of(run, modes), modes + more if modes else [], wanted, options.keep)
    except KeyboardInterrupt:
        state = "interrupted"
    except Failed as why:
        state = "stopped"
        say(f"accept: {why}")
    finally:
        hold_signals()
        end = time.monotonic()
        if options.keep and state == "complete":
            say(f"left for a look, until accept --restore: {', '.join(run.undo.steps()) or 'nothing'}")
        else:
            trouble = run.undo.all_back()
            run.outcomes.append(back(run, before, trouble, end))
            say(run.outcomes[-1].line())
        end = time.monotonic()
        run.evidence |= recorders.end()
        run.outcomes.append(outcome_of("Z2", "the kernel's log", recorders.kernel_troubles(), end, "no warning of the kernel's"))
        say(run.outcomes[-1].line())
    report = document(run, host, started, state)
    anonymous = Anonymous([host, socket.getfqdn(), options.peer or ""]) if options.anonymous else None
    path = pack(options.out, run, report, host, anonymous)
    say(f"{tally(report)}\n{path}")
    if state != "complete":
        return INTERRUPTED if state == "interrupted" else 1
    return int(any(each.status == "FAIL" for each in run.outcomes))


def back(run: Run, before: list[str], trouble: list[str], begin: float) -> Any:
    run.tools.begin(None)
    try:
        run.still(before)
    except Exception as why:  # it is said, whatever it is
        trouble = [*trouble, str(why)]
    if run.tools.evidence():
        run.evidence["checks/Z1.txt"] = run.tools.evidence() + "\n"
    return outcome_of("Z1", "everything is as before", trouble, begin, "links, VFs, e-switches, bridges, RDMA devices")


def hold_signals() -> None:
    """The way back is not to be interrupted again."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)


def interrupt(_number: int, _frame: FrameType | None) -> None:
    hold_signals()
    raise KeyboardInterrupt


def main(words: list[str]) -> int:
    options = parser().parse_args(words)
    try:
        if os.geteuid() != 0:
            raise Refused("run it as root")
        undo = Undo()
    except (Refused, Busy) as error:
        say(f"accept: {error}")
        return CANNOT
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, interrupt)
    left = undo.steps()
    try:
        if left or options.restore:
            say(f"an earlier run left: {', '.join(left) or 'nothing'}")
            trouble = undo.all_back()
            if trouble:
                raise Refused("not brought back: " + "; ".join(trouble))
        return 0 if options.restore else try_all(options, undo)
    except Refused as error:
        say(f"accept: {error}")
        return error.status
    except (Failed, OSError) as error:
        say(f"accept: {error}")
        return CANNOT
    except KeyboardInterrupt:
        say("accept: interrupted before anything was tried")
        return INTERRUPTED
    finally:
        undo.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
