#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""ansible/ on hosts of which there are only files (plugins/fake_hosts.py): names of packages and units on each distribution, a roll-out host
by host, NVIDIA's drivers, several PFs, offload that is missing. tests/lab/scenarios/ansible.sh has real hosts, of Debian only.

usage: roles_test.py [PASSED]

Each play takes seconds. PASSED, a file in the build folder, remembers a digest of what passed.
"""
from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import sys
import unittest
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from fleet import HERE, RECORDS, ROOT, STARTS, Fleet, Play, facts, host, new_folder, once  # noqa: E402

HEALTHY = {"to": "rdmactl doctor *", "out": json.dumps({"healthy": True, "checks": []})}


# ---- distributions -----------------------------------------------------------------------------------------
# kmod is installed everywhere.
DEB = {
    "rdma_host": "rdma-core ibverbs-providers ibverbs-utils rdmacm-utils iproute2 ethtool",
    "rdma_hook": "rdma-hook rdma-perf",
    "podman": "podman crun",
    "docker": "docker.io",
    "sriov": "mstflint",
    "asap2_direct": "openvswitch-switch",
    "evaluation": "perftest iperf3 sysstat numactl jq qperf",
    "Open vSwitch": "openvswitch-switch.service",
    "initramfs": "update-initramfs -u -k all",
    "IOMMU": "Have a drop-in for GRUB",
}
RPM = {
    "rdma_host": "rdma-core libibverbs libibverbs-utils librdmacm-utils iproute ethtool",
    "rdma_hook": "rdma-hook rdma-perf",
    "podman": "podman crun",
    "docker": "moby-engine",
    "sriov": "mstflint",
    "asap2_direct": "openvswitch",
    "evaluation": "perftest iperf3 sysstat numactl jq qperf",
    "Open vSwitch": "openvswitch.service",
    "initramfs": "dracut --force --regenerate-all",
    "IOMMU": "Ask grubby",
}
# On RHEL, Docker is that of its makers, and was there before.
RHEL = RPM | {"docker": "", "evaluation": "perftest iperf3 sysstat numactl jq"}
ROLES = ("rdma_host", "rdma_hook", "podman", "docker", "softroce", "sriov", "asap2_direct", "evaluation")
# Each host's kernel lacks rdma_rxe, so that role softroce looks for a package that has it.
DISTRIBUTIONS = {
    "debian12": (facts("Debian", "Debian", "12.12", "6.1.0-40-amd64"), DEB | {"softroce": ""}),
    "debian13": (facts("Debian", "Debian", "13.2", "6.12.57+deb13-amd64"), DEB | {"docker": "docker.io docker-cli", "softroce": ""}),
    "ubuntu24": (facts("Debian", "Ubuntu", "24.04", "6.8.0-88-generic"), DEB | {"softroce": "linux-modules-extra-6.8.0-88-generic"}),
    "ubuntu26": (facts("Debian", "Ubuntu", "26.04", "7.0.0-31-generic"), DEB | {"softroce": ""}),
    "fedora43": (facts("RedHat", "Fedora", "43", "6.17.7-300.fc43.x86_64"), RPM | {"softroce": "kernel-modules-extra-6.17.7-300.fc43.x86_64"}),
    "rhel9": (facts("RedHat", "RedHat", "9.7", "5.14.0-611.el9.x86_64"), RHEL | {"softroce": "kernel-modules-extra-5.14.0-611.el9.x86_64"}),
    "rhel10": (facts("RedHat", "RedHat", "10.1", "6.12.0-124.el10.x86_64"), RHEL | {"softroce": "kernel-modules-extra-6.12.0-124.el10.x86_64"}),
}
CANDIDATES = ({"to": "apt-cache policy *", "out": "  Candidate: 28.0"}, {"to": "dnf * repoquery *", "out": "Candidate: 28.0"})
OLD = ({"to": "apt-cache policy podman", "out": "  Candidate: 4.3.1+ds1-8+deb12u1"},)
CONNECTX = "0000:41:00.0 enp65s0f0np0 0x15b3 2"


def plain(of: dict[str, Any], **more: Any) -> dict[str, Any]:
    grub = {"/etc/default/grub": ""} | ({"/usr/sbin/grubby": ""} if of["os_family"] == "RedHat" else {})
    return host(of, files=grub, pfs=(CONNECTX,), packages=["kmod"], without=["rdma_rxe"], **{"answers": CANDIDATES} | more | {
        "programs": ["grubby", *more.get("programs", [])]})


@once
def distributions() -> Play:
    fleet = Fleet({name: plain(of, programs=["dockerd"] if of["distribution"] == "RedHat" else []) for name, (of, _) in DISTRIBUTIONS.items()} | {
        "sles": plain(facts("Suse", "SLES", "16.0", "6.12.0-160000.5-default")),
        "rhel-without-docker": plain(DISTRIBUTIONS["rhel9"][0]),
        "debian12-as-it-is": plain(DISTRIBUTIONS["debian12"][0], answers=OLD)})
    packages = fleet.folder / "packages"
    packages.mkdir()
    for name in ("rdma-hook-0.1.0-1.x86_64.rpm", "rdma-perf-0.1.0-1.x86_64.rpm", "rdma-perf-report-0.1.0-1.noarch.rpm", "rdma-hook_0.1.0_amd64.deb",
                 "rdma-perf_0.1.0_amd64.deb", "rdma-perf-report_0.1.0_all.deb"):
        (packages / name).touch()
    return fleet.play("--check", "--tags", "base,sriov,asap2_direct,engines,evaluation", rdma_hook_package_folder=str(packages), NUM_OF_VFS=8,
               sriov_parent_device="enp65s0f0np0", rdma_host_netns_mode="exclusive", evaluation_interface="")


class Distributions(unittest.TestCase):
    def test_each_gets_what_it_calls_so(self) -> None:
        play = distributions()
        for name, (_, wanted) in DISTRIBUTIONS.items():
            with self.subTest(name):
                self.assertEqual(play.failures(name), [], play.printed)
                packages = {role: " ".join(found) for role, found in play.recorded(name, "packages").items()}
                self.assertEqual({role: set(packages.get(role, "").split()) for role in ROLES}, {role: set(wanted[role].split()) for role in ROLES})
                self.assertEqual(packages.keys() - set(ROLES), set())
                self.assertEqual(play.recorded(name, "units"), {
                    "rdma_hook": {"rdma-hook-gc.timer", "rdma-hook-recover.service"}, "docker": {"docker.service"},
                    "sriov": {"rdma-hook-vf@0000:41:00.0.service"}, "asap2_direct": {wanted["Open vSwitch"], "rdma-hook-asap2@enp65s0f0np0.service"}})
                self.assertEqual([words for words in play.asked(name) if words.startswith(("update-initramfs", "dracut"))], [wanted["initramfs"]])
                self.assertEqual([entry["task"] for entry in play.log if entry["host"] == name and entry.get("changed") and entry["task"] in (
                    "Have a drop-in for GRUB", "Ask grubby")], [wanted["IOMMU"]])

    def test_a_module_that_is_missing_shows_in_check_mode(self) -> None:
        play = distributions()
        self.assertIn("modules: rdma_rxe, not there yet: rdma_rxe", play.said("rhel10"))

    def test_what_cannot_be_is_refused_in_one_line(self) -> None:
        play = distributions()
        for name, words in (("sles", "this host has SLES, and the roles know the packages of Debian, Ubuntu, Fedora and RHEL only"),
                            ("rhel-without-docker", "RedHat has no Docker: install that of its makers first"),
                            ("debian12-as-it-is", "podman 4.3.1 is too old: rdma-hook needs 4.8 or later")):
            with self.subTest(name):
                self.assertEqual(len(play.failures(name)), 1, play.failures(name))
                self.assertIn(words, play.failures(name)[0])
        self.assertEqual(play.recorded("sles", "packages"), {})


# ---- a roll-out --------------------------------------------------------------------------------------------
DEBIAN = DISTRIBUTIONS["debian13"][0]
NETNS = "/sys/module/ib_core/parameters/netns_mode"
HAS_ALL = [*DEB["rdma_host"].split(), "kmod"]
SOME, NONE = ({"to": "rdmactl list --json", "out": json.dumps({"containers": containers})} for containers in ([{"id": "a"}], []))


def shared(*lists: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A host whose RDMA namespace mode only a reboot changes."""
    return host(DEBIAN, files={NETNS: "Y\n"}, packages=HAS_ALL, programs=["scheduler", "update-initramfs"], after_reboot={NETNS: "N\n"},
                answers=(*lists, HEALTHY, {"to": "rdma system set netns *", "rc": 1, "err": "Device or resource busy"}), **more)


ROLL_OUT = {"rdma_host_netns_mode": "exclusive", "rdma_allow_reboot": True, "rdma_drain_minutes": 0,
            "rdma_drain": [["scheduler", "drain", "{{ inventory_hostname }}"]], "rdma_resume": [["scheduler", "resume", "{{ inventory_hostname }}"]]}


@once
def roll_out() -> tuple[Play, Play]:
    ready = host(DEBIAN, files={NETNS: "N\n"}, packages=HAS_ALL, programs=["scheduler", "update-initramfs"], answers=(NONE, HEALTHY))
    fleet = Fleet({"1-ready": ready, "2-busy": shared(SOME | {"times": 1}, NONE), "3-stuck": shared(SOME), "4-last": shared(NONE)})
    first = fleet.play("--tags", "rdma_host", rdma_serial=1, **ROLL_OUT)
    # Its containers have ended.
    (fleet.folder / "3-stuck/host.json").write_text(json.dumps(shared(NONE)["host"]), encoding="utf-8")
    return first, fleet.play("--tags", "rdma_host", "--limit", "!1-ready", rdma_serial="67%", **ROLL_OUT)


@once
def roll_back() -> Play:
    def exclusive(*lists: dict[str, Any]) -> dict[str, Any]:
        made = shared(*lists)
        return made | {"files": made["files"] | {NETNS: "N\n"}, "host": made["host"] | {"after_reboot": {NETNS: "Y\n"}}}

    fleet = Fleet({"1-first": exclusive(NONE), "2-stuck": exclusive(SOME), "3-last": exclusive(NONE)})
    return fleet.play(book="teardown.yml", rdma_serial=1, **ROLL_OUT)


def life(play: Play, name: str) -> list[str]:
    """The calls that an operator cares for, in their order."""
    calls = [" ".join(entry["args"]["argv"]) if entry["module"] == "command" else entry["module"]
             for entry in play.log if entry["host"] == name and "module" in entry]
    return [words for words in calls if words.startswith(("scheduler", "rdmactl list", "reboot"))]


class RollOut(unittest.TestCase):
    def test_a_host_that_needs_no_reboot_is_not_drained(self) -> None:
        play, _ = roll_out()
        self.assertEqual((life(play, "1-ready"), play.failures("1-ready")), ([], []), play.printed)

    def test_a_host_waits_for_the_end_of_its_containers(self) -> None:
        play, _ = roll_out()
        self.assertEqual(life(play, "2-busy"), ["scheduler drain 2-busy", "rdmactl list --json", "rdmactl list --json", "reboot",
                                                "scheduler resume 2-busy"])
        self.assertIsNone(play.read("2-busy", RECORDS + "drained"))

    def test_a_host_whose_containers_do_not_end_stays_drained_and_ends_the_roll_out(self) -> None:
        play, _ = roll_out()
        self.assertEqual(life(play, "3-stuck"), ["scheduler drain 3-stuck", "rdmactl list --json", "rdmactl list --json"])
        self.assertEqual(play.read("3-stuck", RECORDS + "drained"), "RDMA namespace mode exclusive\n")
        self.assertEqual(len(play.failures("3-stuck")), 1, play.failures("3-stuck"))
        self.assertRegex(play.failures("3-stuck")[0], "a reboot is due for RDMA namespace mode exclusive, .* 'rdmactl list' names: end them, "
                                                      ".* The host stays drained$")
        self.assertEqual([entry for entry in play.log if entry["host"] == "4-last"], [])
        self.assertEqual(play.order(), sorted(play.order()), "a host began before the one before it had ended")

    def test_the_next_play_goes_on_where_one_stopped(self) -> None:
        _, play = roll_out()
        self.assertEqual((life(play, "2-busy"), play.failures("2-busy")), ([], []), play.printed)
        for name in ("3-stuck", "4-last"):
            self.assertEqual((life(play, name), play.failures(name)),
                             ([f"scheduler drain {name}", "rdmactl list --json", "reboot", f"scheduler resume {name}"], []), play.printed)
            self.assertEqual((play.read(name, RECORDS + "drained"), play.read(name, NETNS)), (None, "N\n"))
        batches = [name == "4-last" for name in play.order()]
        self.assertEqual(batches, sorted(batches), "the second batch began before the first had ended")

    def test_teardown_goes_host_by_host_too(self) -> None:
        play = roll_back()
        self.assertEqual((life(play, "1-first"), play.failures("1-first")), (
            ["scheduler drain 1-first", "rdmactl list --json", "reboot", "scheduler resume 1-first"], []), play.printed)
        self.assertEqual((play.read("1-first", NETNS), len(play.failures("2-stuck"))), ("Y\n", 1))
        self.assertNotIn("3-last", play.order())
        self.assertEqual(play.order(), sorted(play.order()), "a host began before the one before it had ended")

    def test_a_host_that_cannot_be_drained_does_not_reboot(self) -> None:
        play = drivers()
        self.assertEqual(life(play, "not-drained"), ["scheduler drain not-drained"])
        self.assertIsNotNone(play.read("not-drained", RECORDS + "drained"))
        self.assertEqual((life(play, "not-allowed"), play.failures("not-allowed")), ([], []), play.printed)
        self.assertIn("a reboot is due for: RDMA namespace mode exclusive. It is done with -e rdma_allow_reboot=true", play.said("not-allowed"))
        # Without rdma_serial a host that failed does not stop the others.
        self.assertEqual(life(play, "rebooted")[-1], "reboot")


# ---- NVIDIA's drivers --------------------------------------------------------------------------------------
MELLANOX = {"to": "grep -lsx 0x15b3 *", "out": "/sys/devices/pci0000:00/0000:41:00.0/vendor"}
BUILT = {"to": "modinfo --field=filename mlx5_core", "out": "/lib/modules/k/updates/dkms/mlx5_core.ko"}
IN_TREE = {"to": "modinfo --field=filename *", "out": "/lib/modules/k/kernel/drivers/net/ethernet/mellanox/mlx5/core/mlx5_core.ko.xz"}
TAINT = "/sys/module/mlx5_core/taint"
CORE = "/sys/module/ib_core/taint"
KERNELS = "kernel/drivers/infiniband"


@once
def drivers() -> Play:
    def nvidias(distribution: str, *answers: dict[str, Any], package: str = "", **more: Any) -> dict[str, Any]:
        of, wanted = DISTRIBUTIONS[distribution]
        chosen = {"rdma_host_doca_host": package} if package else {"rdma_host_driver": "doca_ofed"}
        return host(of, group="connectx5", packages=[*wanted["rdma_host"].split(), "kmod"], variables=chosen | more.pop("variables", {}),
                    answers=(*answers, HEALTHY, NONE), **more)

    def rxe(core: str, own: str, taint: str = "", needs: str = "ib_uverbs,ib_core,udp_tunnel") -> dict[str, Any]:
        """Where ib_core and rdma_rxe come from; the taint of an ib_core that is loaded; what rdma_rxe uses."""
        out = "".join(f"filename:       /lib/modules/k/{folder}/{name}.ko.xz\ndescription:    of ib_core\ndepends:        {depends}\nname:           {name}\n"
                      for folder, name, depends in ((core, "ib_core", ""), (own, "rdma_rxe", needs)))
        return host(DEBIAN, packages=HAS_ALL, files={CORE: taint} if taint else {}, answers=(
            {"to": "modinfo ib_core rdma_rxe", "out": out}, HEALTHY))

    folder = new_folder()
    for kind in ("deb", "rpm"):
        (folder / f"doca-host.{kind}").touch()
    fleet = Fleet({
        "debian": nvidias("debian13", MELLANOX, BUILT, package=str(folder / "doca-host.deb")),
        "rhel": nvidias("rhel10", MELLANOX, BUILT, package=str(folder / "doca-host.rpm"), files={TAINT: "OE\n"}),
        "repository": nvidias("rhel9", MELLANOX, BUILT, files={TAINT: "OE\n"}),
        "ubuntu": nvidias("ubuntu26", MELLANOX, BUILT, files={TAINT: "OE\n"}),
        "not-built": nvidias("rhel9", MELLANOX, IN_TREE),
        "no-adapter": nvidias("debian13", {"to": "grep -lsx 0x15b3 *", "rc": 1}),
        "secure-boot": nvidias("debian13", MELLANOX, BUILT, after_reboot={TAINT: "\n"}, variables={"rdma_allow_reboot": True}),
        "rebooted": nvidias("debian13", MELLANOX, BUILT, after_reboot={TAINT: "OE\n"}, variables={"rdma_allow_reboot": True}),
        "not-drained": shared({"to": "scheduler drain *", "rc": 1, "err": "no such node"}, NONE, variables=ROLL_OUT),
        "not-allowed": shared(NONE, group="connectx5", variables=ROLL_OUT | {"rdma_allow_reboot": False}),
        "rxe-running": rxe(KERNELS, KERNELS, "OE\n"),
        "rxe-installed": rxe("updates/dkms", KERNELS),
        "rxe-of-ubuntu": rxe("kernel/doca-ofed-26.01", KERNELS),
        "rxe-rare": rxe("updates/dkms", "extra/drivers/infiniband/sw"),
        "rxe-in-tree": rxe(KERNELS, KERNELS, "\n"),
        "rxe-to-load": rxe(KERNELS, KERNELS),
        "rxe-of-the-same": rxe("updates", "updates", "OE\n"),
        "rxe-dummy": rxe("extra/mlnx-ofa_kernel", "extra/mlnx-ofa_kernel", "OE\n", needs="mlx_compat"),
        "rxe-dummy-installed": rxe("extra/mlnx-ofa_kernel", "extra/mlnx-ofa_kernel", needs="mlx_compat"),
    })
    return fleet.play("--tags", "rdma_host,softroce")


class Drivers(unittest.TestCase):
    def test_doca_ofed_comes_with_what_builds_it(self) -> None:
        play = drivers()
        for name, wanted in (("debian", "doca-host linux-headers-6.12.57+deb13-amd64 doca-ofed"),
                             ("rhel", "doca-host kernel-devel-6.12.0-124.el10.x86_64 doca-ofed"),
                             ("repository", "kernel-devel-5.14.0-611.el9.x86_64 doca-ofed"),
                             ("ubuntu", "doca-ofed-generic")):
            with self.subTest(name):
                self.assertEqual(play.failures(name), [], play.printed)
                self.assertEqual(play.recorded(name, "packages")["rdma_host_doca"], set(wanted.split()))
                asked = [args.get("deb") or args["name"] for manager in ("apt", "dnf") for args in play.asked(name, manager)
                         if "deb" in args or "name" in args]
                if "doca-host" in wanted:
                    self.assertEqual(asked.pop(0), RECORDS + "doca/doca-host." + ("deb" if name == "debian" else "rpm"))
                self.assertEqual(list(map(set, asked)), [set(wanted.removeprefix("doca-host ").split())])

    def test_it_takes_a_reboot(self) -> None:
        play = drivers()
        due = "a reboot is due for: the drivers of DOCA-OFED. It is done with -e rdma_allow_reboot=true"
        said = {name: due in play.said(name) for name in ("debian", "rhel", "rebooted")}
        self.assertEqual(said, {"debian": True, "rhel": False, "rebooted": False})
        self.assertEqual([len(play.asked(name, "reboot")) for name in said], [0, 0, 1])
        self.assertEqual(play.failures("rebooted"), [], play.printed)

    def test_what_cannot_be_is_refused_in_one_line(self) -> None:
        play = drivers()
        for name, words in (
                ("not-built", "kernel 5.14.0-611.el9.x86_64 of not-built has no mlx5_core of DOCA-OFED: see dkms status, and /var/lib/dkms"),
                ("no-adapter", "this host has no adapter of Mellanox or NVIDIA, for which DOCA-OFED is: use rdma_host_driver=inbox"),
                ("secure-boot", "mlx5_core of DOCA-OFED is built and does not run: see journalctl -k -g mlx5_core."),
                # modprobe would fail, or has failed, with no word of why.
                ("rxe-running", "ib_core of rxe-running is not the kernel's own (DOCA-OFED, MLNX_OFED), and rdma_rxe does not load beside it: put"),
                ("rxe-installed", "ib_core of rxe-installed is not the kernel's own"),
                ("rxe-of-ubuntu", "ib_core of rxe-of-ubuntu is not the kernel's own"),
                ("rxe-rare", "ib_core of rxe-rare is not the kernel's own"),  # from kernel-modules-extra
                # It would load, and make no device.
                ("rxe-dummy", "rdma_rxe of rxe-dummy is a dummy of DOCA-OFED or MLNX_OFED, which loads and does nothing: put the host"),
                ("rxe-dummy-installed", "rdma_rxe of rxe-dummy-installed is a dummy")):
            with self.subTest(name):
                self.assertEqual(len(play.failures(name)), 1, play.failures(name))
                self.assertIn(words, play.failures(name)[0])
        refused = ("rxe-running", "rxe-installed", "rxe-of-ubuntu", "rxe-rare", "rxe-dummy", "rxe-dummy-installed")
        for name in (*refused, "rxe-in-tree", "rxe-to-load", "rxe-of-the-same"):
            loaded = "rdma_rxe" in [args["name"] for args in play.asked(name, "modprobe")]
            self.assertEqual(loaded, name not in refused, (name, play.failures(name)))


# ---- several PFs, and offload ------------------------------------------------------------------------------
RAIL0, RAIL1 = "0000:41:00.0 enp65s0f0np0 0x15b3 16", "0000:81:00.0 enp129s0f0np0 0x15b3 16"
INTEL = "0000:02:00.0 enp2s0f0 0x8086 4"
UNBUILT = {"why": "hw-tc-offload: off [fixed] on enp65s0f0npf0vf0", "fix": "the kernel's driver was built without it (mlx5: CONFIG_MLX5_CLS_ACT)",
           "software_path": True}


def vfs_of(pf: str, vfs: int) -> tuple[dict[str, Any], ...]:
    """As rdmactl lists a PF: without VFs, and then with so many."""
    address, netdev = pf.split()[:2]
    return tuple({"to": f"rdmactl --json vf list {address}", "out": json.dumps({"pfs": [{"enabled": count, "netdev": netdev, "vfs": [
        {"driver": "mlx5_core", "state": "free", "netdev": f"{netdev}v{number}"} for number in range(count)]}]})} | times
                 for count, times in ((0, {"times": 1}), (vfs, {})))


def eswitch_of(pf: str, vfs: int, bridge: str, missing: tuple[dict[str, Any], ...] = ()) -> tuple[dict[str, Any], ...]:
    """As rdmactl describes an e-switch: in mode legacy, and then enabled."""
    device = {"device": pf, "enabled": True, "mode": "switchdev", "vfs": vfs, "bridge": bridge, "missing": list(missing)}
    legacy = {"enabled": False, "mode": "legacy", "vfs": 0, "bridge": "", "missing": [{"why": "mode legacy", "fix": "rdmactl asap2 enable"}]}
    return tuple({"to": f"rdmactl --json asap2 status {pf}", "out": json.dumps({"ovs": {"hw_offload": not not more, "tc_policy": "none"}, "devices": [
        device | state]}), "rc": 1} | more for state, more in ((legacy, {"times": 1}), ({}, {"rc": 0})))


@once
def functions() -> Play:
    def with_pfs(pfs: list[dict[str, Any]], *answers: dict[str, Any], of: dict[str, Any] = DEBIAN, **variables: Any) -> dict[str, Any]:
        return host(of, group="connectx5", pfs=(RAIL0, RAIL1, INTEL), files={"/sys/kernel/iommu_groups/0/type": ""}, packages=[
            "openvswitch-switch"], programs=["rdmactl", "ip"], answers=(*answers, HEALTHY), variables={
                "rdma_pfs": pfs, "asap2_direct_delay": 0, "configure_sriov_ifs": False} | variables)

    one = [{"device": "enp65s0f0np0", "vfs": 8}]
    enable = "rdmactl asap2 enable enp65s0f0np0 *"
    fleet = Fleet({
        "two": with_pfs([{"device": "enp65s0f0np0", "vfs": 8, "mode": "vf"}, {"device": "enp129s0f0np0", "vfs": 4, "mode": "asap2", "bridge": "br1"}],
                        *vfs_of(RAIL0, 8), *eswitch_of("enp129s0f0np0", 4, "br1")),
        "one-mode": with_pfs([{"device": "enp65s0f0np0", "vfs": "2"}, {"device": "pci/0000:81:00.0"}], *vfs_of(RAIL0, 2), *vfs_of(RAIL1, 3),
                             configure_sriov_ifs=True, NUM_OF_VFS=3),
        "wrong": with_pfs([{"device": "enp65s0f0np0", "mode": "softroce"}, {"device": "enp65s0f0np0"}]),
        "former": with_pfs([], sriov_pf="enp65s0f0np0", rdma_hook_debs=[]),
        "twice": with_pfs([{"device": "enp65s0f0np0", "mode": "vf"}, {"device": "0000:41:00.0", "mode": "vf"}]),
        "unknown": with_pfs([{"device": "enp66s0f0np0", "mode": "vf"}]),
        "unknown-handle": with_pfs([{"device": "netdevsim/netdevsim9"}], {
            "to": "rdmactl --json asap2 status *", "rc": 69, "out": "{}",
            "err": "rdmactl: netdevsim/netdevsim9: no such device; name one of this host"}),
        "too-many": with_pfs([{"device": "enp2s0f0", "vfs": 8, "mode": "vf"}]),
        "dnf5": with_pfs(one, of=DISTRIBUTIONS["fedora43"][0]),
        "bridges": with_pfs([{"device": "enp65s0f0np0"}, {"device": "enp129s0f0np0"}]),
        "offload": with_pfs(one, *eswitch_of("enp65s0f0np0", 8, "ovs-sriov")),
        "processors": with_pfs(one, *eswitch_of("enp65s0f0np0", 8, "ovs-sriov", (UNBUILT,))),
        "processors-will-do": with_pfs(one, *eswitch_of("enp65s0f0np0", 8, "ovs-sriov", (UNBUILT,)), asap2_direct_require_offload=False),
        "refused": with_pfs(one, *eswitch_of("enp65s0f0np0", 8, "ovs-sriov"), {
            "to": enable, "rc": 77, "err": "rdmactl: enable enp65s0f0np0: pci/0000:41:00.0 has no e-switch that is this host's; use mode vf"}),
        "second-attempt": with_pfs(one, *eswitch_of("enp65s0f0np0", 8, "ovs-sriov"), {"to": enable, "rc": 71, "err": "rdmactl: busy", "times": 1}),
    })
    return fleet.play("--tags", "sriov,asap2_direct", "--skip-tags", "rdma_host,rdma_hook", ansible="2.14.18")


class Functions(unittest.TestCase):
    def enabled(self, name: str) -> list[str]:
        return [words.removeprefix("rdmactl ") for words in functions().asked(name) if " enable " in words]

    def test_each_has_its_own_number_and_mode(self) -> None:
        play = functions()
        self.assertEqual(play.failures("two"), [], play.printed)
        self.assertEqual(self.enabled("two"), ["vf enable 0000:41:00.0 8", "asap2 enable enp129s0f0np0 --vfs 4 --bridge br1"])
        self.assertEqual([play.read("two", f"/etc/rdma-hook/{file}.env") for file in ("vf/0000:41:00.0", "vf/0000:81:00.0", "asap2/enp65s0f0np0",
                                                                                      "asap2/enp129s0f0np0")],
                         ["COUNT=8\n", None, None, "OPTIONS=--vfs 4 --bridge br1\n"])
        self.assertEqual(play.recorded("two", "units"), {"sriov": {"rdma-hook-vf@0000:41:00.0.service"},
                                                          "asap2_direct": {"openvswitch-switch.service", "rdma-hook-asap2@enp129s0f0np0.service"}})

    def test_what_a_pf_does_not_say_is_said_for_all(self) -> None:
        self.assertEqual(self.enabled("one-mode"), ["vf enable 0000:41:00.0 2", "vf enable 0000:81:00.0 3"])

    def test_a_wrong_list_is_refused_before_anything_is_done(self) -> None:
        play = functions()
        for name, words in (("wrong", "rdma_pfs of wrong: enp65s0f0np0 has mode softroce: use vf or asap2; enp65s0f0np0 is there twice: remove one"),
                            ("former", "use rdma_hook_packages instead of rdma_hook_debs, sriov_parent_device instead of sriov_pf")):
            with self.subTest(name):
                self.assertEqual(play.failures(name), [words])
                self.assertEqual(play.modules(name), {"setup"})

    def test_what_a_host_has_not_is_refused_before_anything_is_changed(self) -> None:
        play = functions()
        for name, words in (("twice", "a PF is in rdma_pfs twice: enp65s0f0np0 0000:41:00.0"),
                            ("unknown", "this host has no PCI function, netdev or RDMA device enp66s0f0np0"),
                            ("unknown-handle", "unknown-handle has no e-switch netdevsim/netdevsim9: rdmactl: netdevsim/netdevsim9: no such device; "
                                               "name one of this host"),
                            ("too-many", "enp2s0f0 can have 4 VFs, not 8"),
                            # The play's Ansible is 2.14.
                            ("dnf5", "Fedora 43 has dnf5, for which the controller needs ansible-core 2.15 or later"),
                            ("bridges", "give each device of rdma_pfs its bridge: one for each, or the same for the two ports of a bond")):
            with self.subTest(name):
                self.assertEqual((play.failures(name), self.enabled(name)), ([words], []), play.printed)

    def test_offload_that_is_missing_fails_the_play(self) -> None:
        play = functions()
        self.assertEqual(play.failures("offload"), [], play.printed)
        self.assertEqual(play.failures("processors"), [
            "processors does not offload, its processors forward: enp65s0f0np0: hw-tc-offload: off [fixed] on enp65s0f0npf0vf0: the kernel's driver "
            "was built without it (mlx5: CONFIG_MLX5_CLS_ACT). Everything is set up; if that is enough, set asap2_direct_require_offload to false"])
        # It is set up, now and at each boot.
        self.assertEqual(play.read("processors", "/etc/rdma-hook/asap2/enp65s0f0np0.env"), "OPTIONS=--vfs 8 --bridge ovs-sriov\n")
        self.assertEqual(play.failures("processors-will-do"), [])

    def test_an_adapter_without_the_mode_is_named(self) -> None:
        play = functions()
        self.assertEqual(play.failures("refused"), [
            "refused cannot have mode asap2 on enp65s0f0np0: rdmactl: enable enp65s0f0np0: pci/0000:41:00.0 has no e-switch that is this host's; use "
            "mode vf"])
        self.assertEqual(len(self.enabled("refused")), 1, "what is refused is refused again")
        self.assertEqual((len(self.enabled("second-attempt")), play.failures("second-attempt")), (2, []))

    def test_faults_of_a_list(self) -> None:
        spec = importlib.util.spec_from_file_location("rdma_pfs", ROOT / "ansible/roles/common/filter_plugins/rdma_pfs.py")
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for pfs, wanted in (
                ([], []),
                ([{"device": "a"}, {"device": "b", "vfs": "4", "mode": "asap2", "bridge": "br1"}], []),
                ("a", ["a is no list: use one such as [{device: enp65s0f0np0, vfs: 8}]"]),
                ({"device": "a"}, ["{'device': 'a'} is no list: use one such as [{device: enp65s0f0np0, vfs: 8}]"]),
                (["a", {"vfs": 8}, {"device": ""}], [f"entry {number} has no device: name the PF" for number in (1, 2, 3)]),
                ([{"device": "a", "vf": 8}], ["a has an unknown key vf: use device, vfs, mode, bridge"]),
                ([{"device": "a", "mode": "shared"}], ["a has mode shared: use vf or asap2"]),
                *(([{"device": "a", "vfs": vfs}], [f"a has vfs {vfs}: use a number from 1 on"]) for vfs in (0, -1, "many", "", None, 1.5, True)),
                ([{"device": "a", "mode": "vf", "bridge": "br0"}], ["a has mode vf and bridge br0: remove one of them"]),
                ([{"device": "a"}] * 3, ["a is there twice: remove one"])):
            with self.subTest(pfs):
                self.assertEqual(module.faults(pfs), wanted)


# ---- SELinux -----------------------------------------------------------------------------------------------
ENFORCE, BOOLEAN = "/sys/fs/selinux/enforce", "/sys/fs/selinux/booleans/container_use_devices"
ALLOW, FORBID = "setsebool -P container_use_devices on", "setsebool -P container_use_devices off"


@once
def selinux() -> tuple[Play, Play, Play]:
    def labelled(distribution: str, enforce: str = "1", devices: str = "0 0\n", brings: str = "", deaf: str = "", **more: Any) -> dict[str, Any]:
        """As ctl_doctor_stock_test.cc has it: without container-selinux, which an engine may bring, there is no such boolean."""
        check = {"id": "selinux", "modes": ["softroce"], "status": "fail", "why": "SELinux keeps containers from opening devices", "fix": ALLOW}
        silent = {"to": "rdmactl doctor *", "rc": 1, "out": json.dumps({"healthy": False, "checks": [check | {"id": deaf}]})}
        fails = {"to": "rdmactl doctor *", "rc": 1, "out": json.dumps({"healthy": False, "checks": [check]}),
                 "while": {ENFORCE: "1", BOOLEAN: "0 0\n"}}
        sets = tuple({"to": line, "writes": {BOOLEAN: content}} for line, content in ((ALLOW, "1 1\n"), (FORBID, "0 0\n")))
        configure = {"to": "rdmactl --json runtime configure *", "out": json.dumps({"changed": False, "file": "/etc/x"})}
        brought = configure | {"to": f"rdmactl --json runtime configure --runtime={brings} *", "writes": {BOOLEAN: "0 0\n"}, "times": 1}
        return host(DISTRIBUTIONS[distribution][0], files={ENFORCE: enforce} | ({BOOLEAN: devices} if devices else {}), programs=["rdmactl", "dockerd"],
                    packages=RPM["podman"].split(), answers=(silent if deaf else fails, *sets, HEALTHY, NONE, *CANDIDATES, brought, configure), **more)

    fleet = Fleet({"rhel9": labelled("rhel9"), "fedora43": labelled("fedora43"), "podman": labelled("rhel10", devices="", brings="podman"),
                   "docker": labelled("rhel10", devices="", brings="docker"), "set": labelled("rhel9", devices="1 1\n"),
                   "deaf-podman": labelled("rhel9", devices="", deaf="podman"), "deaf-docker": labelled("rhel9", devices="", deaf="docker"),
                   "permissive": labelled("rhel9", enforce="0"), "no-policy": labelled("rhel9", devices=""),
                   "own-policy": labelled("rhel9", variables={"rdma_selinux_devices": False})})
    options = {"rdma_hook_install": "none", "rdma_host_modules": []}
    return (fleet.play("--tags", "rdma_host,rdma_hook", **options), fleet.play("--tags", "engines", **options),
            fleet.play(book="teardown.yml", **options))


class Selinux(unittest.TestCase):
    def set_in(self, play: Play, name: str) -> list[str]:
        return [words for words in play.asked(name) if words.startswith("setsebool")]

    def test_containers_may_use_devices_where_it_enforces(self) -> None:
        first, second, _ = selinux()
        for name in ("rhel9", "fedora43"):
            with self.subTest(name):
                self.assertEqual((first.failures(name), self.set_in(first, name)), ([], [ALLOW]), first.printed)
                self.assertEqual((second.failures(name), self.set_in(second, name)), ([], []), second.printed)

    def test_an_engine_may_bring_the_policy(self) -> None:
        first, second, _ = selinux()
        for name in ("podman", "docker"):
            with self.subTest(name):
                self.assertEqual((first.failures(name), self.set_in(first, name)), ([], []), first.printed)
                self.assertEqual((second.failures(name), self.set_in(second, name)), ([], [ALLOW]), second.printed)

    def test_nothing_is_set_where_nothing_is_needed_or_wanted(self) -> None:
        first, second, last = selinux()
        for name in ("set", "permissive", "no-policy", "own-policy"):
            with self.subTest(name):
                self.assertEqual([(play.failures(name), self.set_in(play, name)) for play in (first, second, last)], [([], [])] * 3)
        self.assertIn(f"fail selinux: SELinux keeps containers from opening devices; to fix it: {ALLOW}", first.said("own-policy"))

    def test_an_engine_that_does_not_call_rdma_hook_stops_its_own_role(self) -> None:
        first, second, _ = selinux()
        for name, engine in (("deaf-podman", "podman"), ("deaf-docker", "docker")):
            self.assertEqual(first.failures(name), [])
            self.assertEqual([words.partition(":")[0] for words in second.failures(name)], [engine])

    def test_teardown_gives_back_what_it_was(self) -> None:
        *_, play = selinux()
        for name in ("rhel9", "fedora43", "podman", "docker"):
            with self.subTest(name):
                self.assertEqual((play.failures(name), self.set_in(play, name)), ([], [FORBID]), play.printed)
                self.assertEqual((play.read(name, BOOLEAN), play.read(name, RECORDS + "selinux")), ("0 0\n", None))


# ----------------------------------------------------------------------------------------------------------------
def digest() -> str:
    files = [path for folder in (ROOT / "ansible", HERE) for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".pyc"]
    program = Path(shutil.which("ansible-playbook") or "").resolve()
    parts = [f"{program} {program.stat().st_size} {program.stat().st_mtime_ns}"]
    parts += [f"{path.relative_to(ROOT)} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in files]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


if __name__ == "__main__":
    if not shutil.which("ansible-playbook"):
        print("skipped: ansible-playbook is not installed")
        sys.exit(77)
    passed = Path(sys.argv.pop()) if sys.argv[-1].endswith(".passed") else None
    if passed and passed.exists() and passed.read_text(encoding="utf-8") == digest():
        print("roles: they have passed as they are")
        sys.exit(0)
    if len(sys.argv) == 1:
        for start in STARTS:
            start()
    result = unittest.main(exit=False).result
    if passed and result.wasSuccessful():
        passed.write_text(digest(), encoding="utf-8")
    sys.exit(not result.wasSuccessful())
