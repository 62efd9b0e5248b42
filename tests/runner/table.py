# SPDX-License-Identifier: Apache-2.0
"""The table of jobs: what runs in the short form and in the full one, what it costs, and which files' change it can see.

Seconds are those of an emulated guest on two processors of its own; a machine's own earlier times go before them. A guest keeps two
processors busy for two thirds of its time. Another one beside it, with the same right to them, takes the rest and a fourth more: a
processor of a guest that waits for another that stands still turns in a loop. So the others run at the idle policy (spare time).
tests/lint/jobs.py holds the table against the tree: each file has an area, each area, scenario and unit test a job.
"""
from plan import Job

# Of the patterns that match a file, the longest counts (plan.areas_of).
AREAS = {
    "build": ["CMakeLists.txt", "CMakePresets.json", "cmake/", "*/CMakeLists.txt", ".ci/"],
    "core": ["hook/", "netns/", "runtime-config/oci/"],
    "children": ["netns/values/child_type.*"],
    "softroce": ["hook/modes/softroce.*", "hook/modes/software_device.*"],
    "softiwarp": ["hook/modes/softiwarp.*", "hook/modes/software_device.*"],
    "shared": ["hook/modes/shared.*", "netns/kernel/gid_*", "netns/neighbour*", "netns/kernel/neighbour*"],
    "vf": ["hook/modes/vf.*", "hook/modes/virtual_function.*", "hook/modes/vf_*", "hook/steps/*vf*", "hook/rdmactl/vf/",
           "netns/sriov*", "netns/kernel/sriov*"],
    "host": ["hook/modes/host.*"],
    "asap2": ["hook/modes/asap2.*", "hook/steps/eswitch.*", "hook/steps/ovs*", "hook/rdmactl/asap2/", "netns/ovs*", "netns/devlink*", "netns/tc_offload*", "netns/kernel/ovs*",
              "netns/kernel/devlink*", "netns/kernel/tc_offload*"],
    "running": ["hook/container/into_running.*", "hook/rdmactl/*.cc", "netns/placement.*", "netns/device_*", "netns/kernel/placement.*",
                "netns/kernel/device_*", "hook/steps/running.*"],
    "doctor": ["hook/rdmactl/doctor/"],
    "runtime": ["runtime-config/", "runtime-config/rdma-runtime/", "runtime-config/engines/", "hook/rdmactl/runtime/", "hook/rdmactl/cdi.cc"],
    "podman": ["runtime-config/install/podman/"],
    "confine": ["netns/base/confine*"],
    "perf": ["perf/"],
    "report": ["perf/schema/", "examples/evaluation/", "docs/results/"],
    "packaging": ["packaging/", "runtime-config/install/systemd/", "runtime-config/install/udev/", "cmake/Packages.cmake", "cmake/Rpm.cmake", "docs/man/", "docs/completion/",
                  "LICENSE"],
    "examples": ["examples/"],
    "ansible": ["ansible/"],
    "documents": ["*.md", "mkdocs.yml", "CITATION.cff", ".github/", "docs/", "runtime-config/install/schema/", ".clang-*", ".editorconfig", ".gitignore", "tests/lint/", "tests/run",
                  "tests/runner/"],
    "units": ["tests/unit/", "tests/fakes/", "tests/support/", "tests/data/", "tests/CMakeLists.txt"],
    "fuzz": ["tests/fuzz/"],
    "contract": ["tests/contract/"],
    "bench": ["tests/bench/"],
    "packages": ["tests/dynamic", "tests/packages", "tests/plain-container", "tests/reproducible", "tests/rpm", "tests/source-package"],
    "lab": ["tests/lab/", "tests/upstream/"],
    "pair": ["tests/lab/pair"],
    "power-loss": ["tests/lab/power-loss"],
    "newest-libc": ["tests/lab/newest-libc", "tests/lab/lib/chroot.sh"],
    "compilers": ["tests/lab/compilers", "tests/lab/lib/chroot.sh"],
    "arm64": ["tests/lab/arm64", "tests/lab/guest/arm64", "tests/lab/lib/arm64-guest.sh", "tests/lab/lib/chroot.sh", "tests/lab/scenarios/arm64.sh",
              "cmake/arm64.cmake"],
    "next": ["tests/lab/trees/next"],
    "next-engines": ["tests/lab/trees/next-engines"],
}
MODES = "children softroce softiwarp shared vf asap2 host"
# A guest sees these whatever its scenario is about.
GUESTS = "build core lab"


def host(name, *run, rung, seconds, sees, form="short", **more):
    kind = name.split()[0]
    # A tree of the lab takes a minute or two of one processor, as do the packages where none is installed.
    more = {"after": () if kind in ("lab", "install") else ("install",)} | more
    return Job(name=name, kind=kind, rung=rung, form=form, run=run, seconds=seconds, sees=frozenset(sees.split()), **more)


def guest(kernel, *run, seconds, sees="", form="short", **more):
    """One guest; `kernel` has the options of tests/lab/run behind it."""
    series, _, options = kernel.partition(" ")
    name = " ".join([series, *options.replace("--", "").split(), "/", *run]).replace("|", " ")
    more = {"after": ("lab", "programs"), "cpus": 2} | more
    return Job(name=name, kind="guest", rung="lab", form=form, run=run, seconds=seconds, options=f"--kernel {kernel}",
               sees=frozenset(f"{GUESTS} {sees}".split()), **more)


def full(kernel, *run, seconds, sees="", **more):
    return guest(kernel, *run, seconds=seconds, sees=sees, form="full", **more)


def following(options, *run, seconds, sees="", form="full", tree="next", builds="programs", **more):
    """One guest with the engines, the C library and the kernel of Debian's next release: of the lab's tree `next`, or of one made of it."""
    return guest(f"new --tree {tree} {options}".rstrip(), *run, seconds=seconds, sees=f"next {sees}", form=form, after=(f"lab {tree}", builds), **more)


PERF = "RDMA_PERF=/usr/bin/rdma-perf|"
EVERYTHING = " ".join(AREAS)
FUZZED = ("annotations container_record container_spec container_state control_frame eswitch_baseline hook_config journal",
          "json_document neighbour netlink_reply ovsdb_reply plan_file plan_words report_file")
# What each unit test can see: a pattern of names that ctest has in front of the dot, or of the whole name.
UNITS = {
    "base_test": "build core units confine",
    "netns_test": f"build core units runtime {MODES} running confine",
    "oci_test": "build core units",
    "hook_(request_|documents_)?test": f"build core units documents {MODES} running doctor runtime confine",
    "runtime_test": f"build core units runtime {MODES} running",
    "perf_test": "build core units perf report confine",
    "fuzz_(request_)?seeds_test": f"build core units fuzz {MODES} perf runtime",
    r"python\.report": "build report perf units",
    r"python\.(evaluation|quickstart|spool|acceptance|archive|runs|import)": "build examples units",
    r"python\.(duel|cycles)": "build bench report units",
    r"python\.flags": "build bench documents units",
    r"python\.roles": "build ansible units",
    "lint": EVERYTHING,
}
JOBS = [
    # ---- what all else comes after
    host("install", rung="build", form="both", seconds=110, sees="build"),
    host("lab", rung="build", form="both", seconds=130, sees="lab"),
    host("lab next", "--tree", "next", rung="build", form="both", seconds=300, sees="lab next"),
    host("lab next-engines", "--tree", "next-engines", rung="build", form="both", seconds=75, sees="lab next next-engines"),
    host("programs", rung="build", form="both", seconds=120, sees=EVERYTHING),  # takes two, but the tree may be made beside it
    host("tests", rung="build", form="both", seconds=300, sees=EVERYTHING, spare=True, after=("programs",)),
    # ---- without a guest
    host("unit", rung="unit", form="both", seconds=400, sees=EVERYTHING, spare=True, after=("tests",)),
    host("contract", rung="contract", form="both", seconds=6, sees=f"build core confine contract units {MODES} running",
         spare=True, after=("tests",)),
    host("packages", "tests/packages", rung="lab", form="both", seconds=10, sees="build packaging packages documents report podman runtime",
         after=("lab", "tests")),
    # A guest takes twenty times as long for it, and has nothing that it needs.
    host("bad-input", "unshare", "--net", "--mount", "env", "RDMA_HOOK=build/stage/usr/bin/rdma-hook", "tests/lab/scenarios/bad-input.sh",
         rung="lab", seconds=5, sees=f"{GUESTS} {MODES} running", after=("programs",)),
    host("quickstart", rung="lab", form="both", seconds=40, cpus=2, sees=f"{GUESTS} examples softroce podman", after=("lab", "tests")),
    host("power-loss", "tests/lab/power-loss", "1", rung="lab", form="full", seconds=60, cpus=2, sees=f"{GUESTS} {MODES} power-loss", after=("lab", "programs")),

    # ---- guests of the short form
    # Mode softroce under engines is for podman.sh and docker.sh.
    guest("7.3 --hca --nics igb", "matrix.sh|--brief|shared|vf|asap2|softiwarp", prompt=True, seconds=82, sees=f"{MODES} podman runtime perf"),
    # The unit tests have a death at each call in every mode. Here is the mode with most calls, and with a database that keeps its own.
    guest("7.3", "KILLS=2|kills.sh|asap2:crun", seconds=65, sees=f"{MODES} running"),
    guest("7.3", "confine.sh|--brief|softroce", seconds=32, sees=f"{MODES} confine perf running doctor runtime"),
    guest("7.3", "rootfs.sh|softroce", seconds=20, sees=MODES),
    guest("7.3", "bad-input.sh|--podman", seconds=10, sees=f"{MODES} podman running"),
    guest("7.3", "limits.sh|--brief|crun", seconds=13, sees="softroce running"),
    guest("7.3 --hca --nics igb", "shared.sh|--brief", seconds=50, sees="shared children perf"),
    guest("7.3", "asap2.sh|--brief", seconds=80, sees="asap2 perf running"),
    guest("7.3 --hca --nics igb", "vf.sh|--brief", seconds=35, sees="vf perf running"),
    guest("7.3 --hca --nics igb", "contract-igb.sh", seconds=20, sees="vf contract", form="both"),
    guest("7.2", "podman.sh|--brief|runc", seconds=55, sees="softroce children podman"),
    guest("6.12", "placement-host.sh|crun", seconds=25, sees="softroce"),
    guest("7.3", "host.sh|--brief", seconds=35, sees="host podman"),
    guest("7.3 --exclusive", "exclusive.sh", seconds=25, sees="softroce children"),
    guest("7.3 --exclusive", "contract.sh|--brief", seconds=22, sees=f"contract {MODES} running"),
    guest("7.3 --nics igb --packages", "package.sh", seconds=42, sees="packaging packages podman runtime", form="both", after=("lab", "tests")),
    guest("7.3", "docker.sh|--brief|runc", prompt=True, seconds=55, sees="softroce runtime running"),
    guest("7.3", "plain-hooks.sh|--brief", seconds=45, sees="softroce runtime running"),
    guest("7.3", "engines.sh|--brief", prompt=True, seconds=60, sees="runtime"),
    guest("7.3", "hostile.sh|--brief|plain", seconds=25, sees="softroce running"),
    guest("7.3", "examples.sh|--brief", seconds=40, sees="examples softroce podman"),
    guest("7.3", "softiwarp.sh|--brief", seconds=12, sees="softiwarp children"),
    # The one boot of Debian's next release: Podman, then Docker beside containerd. Its tree changes by itself, and the usual one's Podman
    # has its turn in the full form.
    following("", "container-link.sh|--brief", seconds=45, sees="next-engines softroce children podman", form="short", tree="next-engines", prompt=True),
    following("", "PAIR=docker containerd|matrix.sh|--brief|softroce", seconds=55, sees="next-engines softroce runtime", form="short",
              tree="next-engines", prompt=True),
    guest("7.3", "contract.sh|--brief", "contract-eswitch.sh", seconds=40, sees=f"contract {MODES} running"),
    guest("7.3", "cm.sh", prompt=True, seconds=35, sees="perf", form="both"),
    guest("7.3", f"{PERF}perf-netns.sh|--brief", prompt=True, seconds=40, sees="perf"),
    guest("7.3", f"{PERF}perf-many.sh|--brief", prompt=True, seconds=35, sees="perf"),
    guest("7.3", f"{PERF}perf-cm.sh|--brief", prompt=True, seconds=25, sees="perf"),
    guest("7.3", "thesis.sh|--brief", prompt=True, seconds=30, sees="perf report"),
    guest("7.3", f"{PERF}perf-trouble.sh|--brief", prompt=True, seconds=35, sees="perf"),

    # ---- the full form: longer, on each kernel, in each RDMA mode
    *(full(kernel, run, seconds=seconds, sees=f"{MODES} podman perf") for kernel in ("7.2", "7.3") for run, seconds in (
        ("podman.sh|--full|crun|runc", 900), ("bad-input.sh|--full", 300), ("limits.sh|--full", 400), ("hidden.sh|--full", 120),
        (f"{PERF}perf-netns.sh|--full", 300), ("thesis.sh|--full", 300), ("confine.sh|--full", 400))),
    *(full("7.2", run, seconds=seconds, sees=f"{MODES} perf") for run, seconds in (
        ("contract.sh", 60), ("contract-eswitch.sh", 30), ("cm.sh", 60), (f"{PERF}perf-many.sh", 60), (f"{PERF}perf-cm.sh", 60),
        (f"{PERF}perf-perftest.sh", 60), ("plain-hooks.sh", 150))),
    full("7.3", "plain-hooks.sh|--full", seconds=300),
    full("7.3", "docker.sh|--full", seconds=900),
    full("7.3", "engines.sh", prompt=True, seconds=130, sees="runtime"),
    full("7.3", "attach-running.sh", seconds=300, sees="softroce runtime running"),
    full("7.3", "attach-running.sh|--full", seconds=600),
    *(full(f"7.3{mode} --debs uidmap", "rootless.sh", seconds=300, sees="host podman") for mode in ("", " --exclusive")),
    full("7.3", "examples.sh", seconds=70, sees="examples"),
    full("7.3", "gpu.sh", seconds=300, sees="examples softroce runtime running"),
    full("7.3", "containerd.sh|--full", seconds=200),
    full("7.3 --nics igb", "matrix.sh|--full", seconds=1800),
    full("7.3 --hca", "matrix.sh|--full|shared", seconds=600),
    full("7.3", "hostile.sh|--full", seconds=600),
    full("7.3", f"{PERF}perf-cm.sh|--full", seconds=270, sees="perf"),
    full("7.3", f"{PERF}perf-many.sh", seconds=80, sees="perf"),
    full("7.3", f"{PERF}perf-trouble.sh|--full", seconds=200),
    full("7.3", f"{PERF}perf-perftest.sh|--full", seconds=100),
    full("6.12", "placement-host.sh|--full", seconds=200),
    *(full(kernel, "contract.sh", "contract-eswitch.sh", seconds=100, sees="contract") for kernel in ("6.12", "7.3")),
    full("6.12 --nics igb", "vf.sh", seconds=60),
    full("6.12 --nics igb", "contract-igb.sh", seconds=30),
    full("6.12 --nics igb", "softiwarp.sh|--full", seconds=600),
    full("7.3 --hca", "shared.sh|--full", seconds=900),
    *(full(f"7.3{mode}", "host.sh|--full", seconds=300) for mode in ("", " --exclusive")),
    full("7.3", "asap2.sh|--full", seconds=900, sees="asap2 examples"),
    full("7.3", "evaluation.sh", seconds=300, sees="report examples"),
    full("7.3", "evaluation.sh|--full", seconds=1000),
    *(full(f"7.3{options}", f"accept.sh|{host}", seconds=200, sees=f"examples perf {mode}") for options, host, mode in (
        ("", "softroce", "softroce"), (" --exclusive", "exclusive", "softroce"), (" --nics igb", "vf", "vf"), (" --hca", "shared", "shared"), ("", "asap2", "asap2"))),
    full("7.3 --debs openmpi-bin,libopenmpi-dev", "openmpi.sh", seconds=300),
    full("7.3", "doctor.sh", seconds=120),
    full("7.3 --tarball", "tarball.sh", seconds=120, sees="packaging softroce podman runtime", after=("lab", "tests")),
    full("7.3", "image.sh", seconds=120, sees="packaging softroce podman perf"),
    full("7.3 --hca --nics igb", "unseen.sh", seconds=35, sees=f"{MODES} running"),
    full("7.3", "shared.sh", seconds=60),
    full("7.3", "softiwarp.sh|--full", seconds=600),
    full("7.3", "container-link.sh|--full", seconds=100),
    full("7.3 --exclusive", "shared.sh", seconds=60),
    full("7.3 --exclusive", "softiwarp.sh", seconds=60),
    full("7.2 --nics igb", "vf.sh|--full|runc", seconds=1500),
    full("7.2 --nics igb", "contract-igb.sh", seconds=30),
    full("7.3 --nics igb", "vf.sh|--full", seconds=1200),
    full("7.3 --exclusive --nics igb", "vf.sh|--full", seconds=1200),
    # The engines that come.
    *(following(options, run, seconds=seconds, sees=f"{MODES} podman runtime running") for options, run, seconds in (
        ("", "podman.sh|--full|crun|runc", 900), ("", "docker.sh|--full", 900), ("", "containerd.sh|--full", 200), ("", "engines.sh", 130),
        ("", "plain-hooks.sh", 116), ("", "attach-running.sh", 300), ("", "gpu.sh", 300), ("", "container-link.sh", 48), ("", "host.sh|--full", 300),
        ("", "confine.sh|--full", 400), ("", "contract.sh", 60), ("--nics igb", "matrix.sh|--full", 1800), ("--hca", "matrix.sh|--full|shared", 600),
        ("--debs uidmap", "rootless.sh", 300), ("", "bad-input.sh|--podman", 10), ("", "image.sh", 120), ("--exclusive", "exclusive.sh", 25))),
    following("--nics igb --packages", "package.sh", seconds=42, sees="packaging packages podman runtime", builds="tests"),
    # On doubles of adapters and of their drivers.
    *(full(f"{kernel} --hca --nics igb", "adapter.sh", seconds=90, sees="vf shared perf") for kernel in ("7.2", "7.3", "7.3 --exclusive")),
    *(full(f"7.3{mode} --hca --nics igb", "matrix.sh|--brief|adapter|asap2_adapter", seconds=90, sees="vf asap2 podman runtime")
      for mode in ("", " --exclusive")),
    full("7.3 --hca --nics igb", "KILLS=12|kills.sh|adapter:prepared:docker28|asap2_adapter:prepared", seconds=400, sees="vf asap2 running"),
    *(full("7.3 --hca --nics igb --double ib_core", run, seconds=seconds, sees="shared vf doctor") for run, seconds in (
        ("shared.sh", 55), ("adapter.sh", 90), ("vf.sh|--brief", 35), ("isolation.sh", 35),
        ("matrix.sh|--brief|shared|vf|adapter", 100))),
    full("7.3 --nics igb --double igb,igbvf", "drivers.sh", seconds=65, sees="vf"),
    *(full("7.3", f"NETDEVSIM={one}|asap2.sh", seconds=125, sees="asap2") for one in ("lab_uplink=aux", "lab_mode_first=1")),
    *(full(f"{kernel} --exclusive", "exclusive.sh|--full", seconds=200) for kernel in ("7.2", "7.3")),
    *(full(f"{kernel} --exclusive", "contract.sh", seconds=60) for kernel in ("7.2", "7.3")),
    full("7.3 --exclusive", "limits.sh|--full", seconds=400),
    full("7.3 --exclusive", "hidden.sh|--full", seconds=120),
    full("7.3 --exclusive", "podman.sh|--full|crun|runc", seconds=900),
    full("7.3 --hca --nics igb", "confine.sh|--full", seconds=600),
    full("7.3 --hca --nics igb", "rootfs.sh|--full", seconds=200),
    *(full(f"7.3 --hca --nics igb{mode}", "isolation.sh", seconds=450) for mode in ("", " --exclusive")),
    *(full("7.3 --hca --nics igb", f"kills.sh|--full|{mode}", seconds=900) for mode in ("softroce", "shared", "vf", "asap2", "softiwarp")),
    full("7.3 --hca --nics igb", "soak.sh|64", seconds=500),
    *(full("7.3 --hca --nics igb", f"SEED={seed}|soak.sh|1000", seconds=4000) for seed in (1, 2)),
    *(host(f"power-loss {seed}", "env", f"SEED={seed}", "tests/lab/power-loss", "25", rung="lab", form="full", seconds=3600, sees=GUESTS,
           after=("lab", "programs"), timeout=14400) for seed in (1, 2)),
    host("rpm", "tests/rpm", rung="lab", form="full", seconds=60, sees="build packaging packages documents report", after=("lab", "tests")),
    host("source-package", "tests/source-package", rung="lab", form="full", seconds=400, sees="build packaging packages documents report", cpus=2,
         after=("lab", "tests")),
    host("dynamic", "tests/dynamic", rung="lab", form="full", seconds=300, sees=f"{GUESTS} packaging packages podman", cpus=2, after=("lab", "programs")),
    host("reproducible", "tests/reproducible", rung="lab", form="full", seconds=500, sees="build packaging packages", cpus=2),
    host("plain-container", "tests/plain-container", rung="unit", form="full", seconds=400, sees="build documents packages ansible examples", cpus=2),
    host("newest-libc", "tests/lab/newest-libc", rung="lab", form="full", seconds=1500, sees="build confine newest-libc", cpus=2),
    *(host(f"compilers {suite}", "tests/lab/compilers", suite, rung="lab", form="full", seconds=1500,
           sees=f"build core units contract fuzz bench perf running doctor runtime confine {MODES} compilers", cpus=2) for suite in ("trixie", "sid")),
    # The unit tests run some ten times slower there: QEMU translates each instruction.
    host("arm64", "tests/lab/arm64", rung="lab", form="full", seconds=2400, sees="build core units confine packaging running softroce perf arm64", cpus=2, timeout=14400),
    host("sanitizer asan", "asan", rung="unit", form="full", seconds=900, sees=EVERYTHING, cpus=2),
    # GCC 12's thread sanitizer does not start where addresses are drawn from more than it knows, as new kernels do.
    host("sanitizer tsan", "tsan", "setarch", "-R", rung="unit", form="full", seconds=900, sees=EVERYTHING, cpus=2),
    *(host(f"fuzz {targets.split()[0]} and so on", "600", *targets.split(), rung="unit", form="full", seconds=2700, sees="fuzz core perf", cpus=2)
      for targets in FUZZED),
    *(host(f"bench{mode}", *([mode.strip()] if mode else []), "-n", "40", rung="lab", form="full", seconds=900, sees=f"{GUESTS} bench", cpus=0,
           after=("lab", "programs")) for mode in ("", " --asap2")),
    *(host(f"pair ansible {role}", "tests/lab/pair", "--kernel", "7.3", "--timeout", "7200", *more, "tests/lab/scenarios/ansible.sh", role,
           rung="lab", form="full", seconds=1200, sees=f"{GUESTS} ansible pair", cpus=0, after=("lab", "programs"))
      for role, more in (("softroce", ()), ("sriov", ("--nics", "igb")), ("asap2", ()))),
    host("selinux", "env", "LAB_APPEND=security=selinux", "tests/lab/run", "--kernel", "7.3", "--timeout", "1200", "--debs", "secilc",
         "tests/lab/scenarios/selinux.sh", rung="lab", form="full", seconds=120, sees=f"{GUESTS} softroce running", after=("lab", "programs")),
    host("pair overlay", "tests/lab/pair", "--kernel", "7.3", "--timeout", "1200", "tests/lab/scenarios/overlay.sh", rung="lab", form="full",
         seconds=350, sees=f"{GUESTS} asap2 softroce examples perf pair", cpus=0, after=("lab", "programs")),
    host("pair slurm", "tests/lab/pair", "--kernel", "7.3", "--timeout", "7200", "--debs", "slurmd,slurmctld,slurm-client,munge",
         "tests/lab/scenarios/slurm.sh", rung="lab", form="full", seconds=600, sees=f"{GUESTS} examples pair", cpus=0, after=("lab", "programs")),
]
