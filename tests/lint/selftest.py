#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that the checks beside it fail when they must: a small tree with one violation at a time."""
import importlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PUBLIC = ("netns/link.h", "netns/host.h", "netns/values/address.h")

# What the tree has when all is well.
GOOD = {name: '#include <string>\n#include "netns/base/result.h"\n' for name in PUBLIC} | {
    "netns/base/result.h": "#include <variant>\n",
    "netns/base/json.h": "#include <nlohmann/json.hpp>\n",
    "netns/base/log.cc": "#include <sys/socket.h>\n",
    "netns/kernel/namespace.cc": '#include <sched.h>\n#include "netns/kernel/sysfs.h"\nint f() { return ::setns(1, 2); }\n',
    "netns/kernel/sysfs.h": "#include <linux/netlink.h>\n",
    "hook/container/attach.cc": '#include <unistd.h>\n#include "netns/host.h"\n#include "runtime-config/oci/spec.h"\n'
                      "// setns(2) is not called here, nor in /* setns( */ comments\n",
    "runtime-config/oci/spec.h": '#include "netns/base/json.h"\n',
    "runtime-config/rdma-runtime/shim.cc": '#include "runtime-config/rdma-runtime/shim.h"\n#include "hook/stages.h"\n#include "netns/host.h"\n',
    "perf/main.cc": '#include <infiniband/verbs.h>\n#include "perf/verbs.h"\n#include "netns/base/log.h"\n',
}
HOOK_BANNED = ("linux/netlink.h", "netlink/msg.h", "sys/socket.h", "sched.h", "infiniband/verbs.h", "rdma/ib_user_verbs.h")

# Which file gets which line, and a piece of what must be said.
LAYERING = (
    [(name, f"#include <{header}>", "only netns/kernel/ talks to the kernel") for header in HOOK_BANNED
     for name in ("hook/steps/x.cc", "runtime-config/oci/x.h", "runtime-config/rdma-runtime/x.cc")]
    + [(name, f'#include "{header}"', f"{name.rpartition('/')[0]}/ may include") for name, headers in (
        ("netns/kernel/x.cc", ("hook/steps/step.h", "runtime-config/oci/spec.h", "perf/gid.h")),
        ("perf/x.cc", ("hook/steps/step.h", "runtime-config/oci/spec.h", "netns/link.h")),
        ("runtime-config/oci/x.cc", ("hook/steps/step.h", "netns/link.h")),
        ("runtime-config/rdma-runtime/x.cc", ("perf/gid.h",)),
        # So in perf/.
        ("perf/address/x.h", ("perf/system/tcp.h",)), ("perf/protocol/x.h", ("perf/verbs/verbs.h",)), ("perf/engine/x.cc", ("perf/measure/client.h",)),
        ("perf/measure/x.h", ("perf/suites/kv/table.h", "perf/report/report.h")), ("perf/suites/x.cc", ("perf/command/options.h", "hook/stages.h")),
        ("netns/values/x.h", ("netns/link.h",)),
        ("netns/base/x.h", ("netns/link.h", "hook/steps/step.h", "perf/gid.h")),
        # In hook/, each arrow goes down.
        ("hook/request/x.h", ("hook/modes/mode.h", "hook/state/store.h")), ("hook/state/x.h", ("hook/steps/step.h",)),
        ("hook/steps/x.h", ("hook/modes/mode.h",)), ("hook/modes/x.h", ("hook/container/attach.h",)),
        ("hook/container/x.h", ("hook/stages.h",)), ("hook/stages.cc", ("hook/rdmactl/command.h",)),
        ("hook/rdmactl/x.cc", ("runtime-config/rdma-runtime/shim.h",))) for header in headers]
    + [(name, f"#include <{header}>", "public headers") for name in PUBLIC for header in ("netlink/msg.h", "nlohmann/json.hpp", "sys/socket.h")]
    + [(name, '#include "netns/kernel/sysfs.h"', "is private")
       for name in ("netns/link.h", "hook/steps/x.cc", "perf/x.cc", "runtime-config/rdma-runtime/shim.cc")]
    + [("netns/link.h", f'#include "netns/base/{header}"', "no JSON") for header in ("json.h", "json_fwd.h")]
    + [("perf/suites/kv/x.cc", '#include "perf/suites/doctor/scene.h"', "may include no other one there"),
       ("perf/suites/x/x.cc", "extern const Suite kX = {};", "in 0 lines"),
       ("hook/steps/x.cc", '#include "step.h"', "from the top of the repository"),
       ("netns/kernel/x.cc", "void g() { setns (1, 2); }", "second file"),
       ("perf/x.cc", "void g() { ::setns(1, 2); }", "second file")])

# A line, and what is said of it; nothing if it is well.
CLOEXEC = [("int a = ::open(path, O_RDONLY | O_CLOEXEC), b = pool.open(x) + Sink::open(y);", ""),
           ("// ::open(path, O_RDONLY)", ""), ("::open(name(path).c_str(),\n O_RDONLY);", "open without O_CLOEXEC"),
           ("::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, f());", ""), ("::socket(AF_UNIX, SOCK_STREAM, 0);", "socket without SOCK_CLOEXEC"),
           ("::accept(fd, nullptr, nullptr);", "use accept4"), ("::dup2(1, 2);", "use fcntl"), ("::fcntl(fd, F_DUPFD, 3);", "F_DUPFD_CLOEXEC"),
           ("std::ifstream file(path);", "std::ifstream"), ("::epoll_create1(0);", "EPOLL_CLOEXEC")]

# Two libraries, a line of the script that sources one of them, and the finding.
LIBRARY = "#!/bin/bash\n# shellcheck disable=SC2034,SC2154\n:\n"
LIBRARIES = {"tests/lib.sh": LIBRARY + 'list=(a b)\none=1\nread -r first\necho "$above"\nf() { local inner; inner=1; echo "$((inner + counted))"; }\n',
             "tests/more-lib.sh": LIBRARY + 'source "${BASH_SOURCE[0]%/*}/lib.sh"\ndeclare -A table\nmapfile -t lines\n'}
SOURCED = '#!/bin/bash\nabove=1\ncounted=1\nsource "${BASH_SOURCE[0]%/*}/more-lib.sh"\n'
SHELL = [('echo "$one $first ${list[0]} ${table[a]} ${lines[0]}"', ""), ('echo "$two"', "two is referenced but not assigned"),
         ("two=1", "two appears unused"), ('echo "$list"', "SC2128"), ('echo "$table"', "SC2128"), ('echo "$lines"', "SC2128"), ("list=a", "SC2178"),
         ("# lost=1\necho $lost", "lost is referenced but not assigned"), ("cd x", "SC2164"), ("if true; then", "SC1"), ("f", "")]

LONG = "int i;\n" * 801
BUDGET = [("hook/x.cc", LONG, True), ("tests/unit/x.h", LONG, True), ("tests/lab/x.sh", LONG, True),
          ("tests/lab/x", "#!/usr/bin/env bash\n" + LONG, True), ("hook/x.cc", "// budget:\n" + LONG, True),
          ("hook/x.cc", "\n" * 15 + "// budget: too far down\n" + LONG, True),
          ("hook/x.cc", "// budget: one table\n" + LONG, False), ("hook/x.cc", "int i;\n" * 800, False),
          ("tests/data/x.json", LONG, False)]

SCHEMA = {"runtime-config/install/schema/annotations.schema.json": '{"patternProperties": {"^rdma\\\\.([0-9]\\\\.)?mode$": {}}}',
          "examples/run.sh": "", "docs/man/rdmactl.8": ".Sh OPTIONS\n.It Fl -json\n.Ss vf list\n.It Fl -dry-run\n",
          "hook/x.cc": 'f("it is "\n  "broken");', "other.md": "## `c.md`\n### c md\n"}
DOCS = [("[x](examples/run.sh) `examples/run.sh`, rdma.1.mode=a, /usr/share/hook/x, rdma-hook/x", ""), ("[x](gone.md)", "a link"), ("# A b\n[x](#a-b)", ""), ("# A\n[x](#b)", "the section b"),
        ("    rdmactl vf list --dry-run --json", ""), ("    rdmactl vf lost", "no command"), ("`rdmactl vg`", "no command"), ("`rdmactl vf`", ""),
        ("    rdmactl vf list --fast", "no option --fast"), ("rdmactl vf lost", ""),
        ("[x](other.md#c-md)", ""), ("[x](other.md#c)", "the section c of other.md"),
        ("    examples/gone --help", "names examples/gone"), ("    -a rdma.mood=x", "not in the schema")]
# A page of the site, another one, and the finding.
SITE = [('<p id="a"><a href="x/y.html#b">', '<p id="b"><a href="../index.html#a"><link rel="stylesheet" href="../s.css">', ""),
        ('<a href="https://elsewhere/x#y"><a href="mailto:a@b"><a href="#c"><i id="c">', "", ""), ('<a href="gone.html">', "", "a link to gone.html, which"),
        ('<a href="x/">', "", "a link to x/"), ("", '<a href="../index.html#b">', "x/y.html: a link to ../index.html#b, which has no such"), ('<a href="s.css#b">', "", "no such section"),
        ('<img src="https://elsewhere/x.png">', "", "loads https"), ('<script src="//elsewhere/x.js">', "", "loads //")]
# A line of C++, and the finding.
ERRORS = [('return make_error(Code::Busy, "x (y").in("z").advise(fmt::format("end {}", p));', ""), ('return make_error(Code::Kernel, "x");', ""),
          ('return base::make_error(base::Code::Busy, "x");', "an error Busy without a fix"), ('// make_error(Code::Busy, "x");', ""),
          ('auto e = make_error(Code::Refused, "x");\nif (y)\n    return std::move(e).advise("see y");', ""),
          ('auto e = make_error(Code::Refused, "x");\nreturn e;', "x.cc:1: an error Refused"), ('e.as(Code::Busy, "it is " "taken");', "a verb: it is taken"),
          ('e.advise(a ? "run: b" : "b is needed");', "a verb: b is needed"), ('e.advise("set a" + (b ? " to c" : " to d"));', ""),
          ('e.advise(why);', ""), ('make_error(Code::Busy, "x").as(Code::Kernel);', "without a fix"), ('print("see docs/x.md");', "a file of the source"),
          ('#include "hook/x.h"', ""), ('print("see /usr/share/doc/docs/x.md");', ""), ('make_error(y ? Code::Kernel : Code::BadInput, "x");', "an error BadInput")]
# What SECURITY.md names, a test, and what is said.
CVES = [("CVE-2024-013", "check CVE-2024-013:", ""), ("CVE-2024-013", "TEST(Cve2024_013, X)", ""),
        ("CVE-2024-013", "TEST(Cve2024_0132, X)", "named after CVE-2024-013"), ("CVE-2024-013", "CVE-2024-0132", "named after CVE-2024-013")]
# The page's table of what is isolated, the scenario's, and what is said.
ISOLATION = "tests/lab/scenarios/isolation.sh"
TABLE = "# What each mode isolates\n\n| | a | b |\n|---|---|---|\n| x | no | **yes** |\n"
ISOLATED = [("| x | no | **yes** |\n= x | a | b |", ""), ("| x | no | yes |", "not in the table"), ("", "does not ask for: | x | no"),
            ("| x | no | **yes** |\n| z | no | no |", "isolation.md: | z")]
# A table of kernels, one row of it, and the lint's answer.
KERNELS = "# X\n\n### Distributions' own kernels\n\n| kernel | a | source |\n|---|---|---|\n"
ROWS = [("| A, 6.1 | yes | its file |", ""), ("| A, 6.1 (inferred) | yes | inferred from B |", ""), ("| A, 6.1 | yes | |", "A, 6.1 has no source"),
        ("| A, 6.1 | yes | inferred from B |", "mark an inferred row"), ("| A, 6.1 (inferred) | yes | its file |", "begin its source with")]

# A file, what it has, and what the lint says of it.
UNIT = "runtime-config/install/systemd/x.service.in"
UNITS = [(UNIT, "After=local-fs.target openvswitch.service openvswitch-switch.service\nBefore=x.service\n", ""),
         (UNIT, "After=openvswitch-switch.service", "lacks openvswitch.service"), (UNIT, "Before=docker.service", "lacks containerd.service"),
         (UNIT, "StartLimitIntervalSec=6h\nStartLimitBurst=10\nTimeoutStartSec=30min\n", ""),
         (UNIT, "StartLimitIntervalSec=300min\nStartLimitBurst=10\nTimeoutStartSec=30min\n", "10 starts of up to 1800 s"),
         ("netns/x.cc", '"systemctl start openvswitch-switch"', "names Debian's")]

# A comment behind a first line, and what is said of it.
WORDS = [("// Returns what is there. A file of the container's only.", ""), ("// What is there, goes.", '2: a sentence begins with "What"'),
         ("// Looks again.\n// Who asks, waits.", '3: a sentence begins with "Who"'), ("int a;  // what it counts", '2: a sentence begins with "what"'),
         ("// Asks the kernel. What does it answer? A number.", ""), ("// A lock for\n// ever.", '2: "for ever"'),
         ("// The driver is\n// told of it.", '2: "is told"'), ("// Root alone may.", '2: "alone"'), ("/* a row of ours */", '2: "ours"'),
         ("// `ours` and \"no more\" are quoted.", ""), ('auto url = "http://alone";', ""), ('R"(// alone)"; int b;  // mends', '2: "mends"')]
# A page, its text, and what is said of it.
PAGES = [("docs/a/b.md", "# X\n\nrdma-hook does it.\n", ""), ("docs/a/b.md", "# X\n\nThat we\ndo.\n", 'docs/a/b.md:3: "we"'),
         ("README.md", "# X\n```\nours\n```\n    ours, anew\n`ours` [x](ours.md)\nIt is\nsaid.\n", 'README.md:7: "is said"'),
         ("docs/dev/style.md", "Not: anew.\n", ""), ("elsewhere/a.md", "Anew.\n", ""),
         ("docs/a.md", f"- It is.\n- {'So ' * 26}it\n  is.\n", "docs/a.md: more than 25 words: So So"), ("docs/a.md", f"{'So ' * 25}.\n", ""),
         ("docs/a.md", f"{'So ' * 20}`{'so ' * 20}`.\n\n| {'so ' * 30} |\n\n    {'so ' * 30}\n", ""),
         ("docs/a.md", f"{'It is. ' * 60}{'So ' * 30}.\n", ""), ("elsewhere/a.md", f"{'So ' * 30}.\n", "")]

# A table of hardware with one adapter: a cell of it, and the lint's message.
ADAPTERS = {"tests/fakes/adapters.cc": '{.nic = Nic::A, .name = "A"}', "README.md": "[x](docs/supported-hardware.md)",
            "tests/unit/hook/adapter_cases.h": 'Case{Nic::A, "shared", Mode::Shared}, Case{Nic::A, "shared", Mode::Shared, "no"},\n'
                                                'Case{Nic::A,\n "vf", Mode::Shared, "has none"}',
            "docs/supported-hardware.md": "| adapter | h | a | b | c | d | double |\n| x | no: w | test; so | no: y | source | no: z | `A` |\n"}
HARDWARE = [("test; so", "source", "is not `test`"), ("no: y", "test", "is not `no`"), ("source", "test", "has no case"), ("no: z", "no", "no reason"),
            ("no: z", "maybe", "begins with none"), ("`A`", "`B`", "B is no adapter"), (" | source", "", "not one line")]

# What is for Kubernetes, and what its API says of it.
RUNTIME_CLASS = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "a"}, "handler": "rdma"}
KUBERNETES = [(RUNTIME_CLASS, ""), ({"services": {}}, ""), (RUNTIME_CLASS | {"handler": "Rdma"}, "RuntimeClass.handler is 'Rdma'"),
              (RUNTIME_CLASS | {"handlers": "a"}, "RuntimeClass.handlers is not in"), (RUNTIME_CLASS | {"kind": "Job"}, "has no node.k8s.io/v1 Job"),
              ({name: RUNTIME_CLASS[name] for name in ("apiVersion", "kind", "metadata")}, "RuntimeClass has no handler"),
              (RUNTIME_CLASS | {"metadata": {"name": "a", "annotations": {"rdma.mtu": 9000}}}, "annotations.rdma.mtu is 9000, and the API wants string"),
              (RUNTIME_CLASS | {"scheduling": {"tolerations": [{"effect": "Never"}]}}, "tolerations[0].effect is 'Never'")]

# A program with one command, its page and its completion.
PAGE, COMPLETION = "docs/man/rdmactl.8", "docs/completion/rdmactl.bash"
MANUAL = {
    "program": "#!/bin/sh\nif [ $1 = go ]; then printf 'Options:\\n  -h,--help   x\\n  --fast UINT=9  x\\n  --slow TEXT\\n      how (default: if it\\n      is due)\\n\\nExamples:\\n  x (default: y)\\n'\n"
               "else printf 'Options:\\n  -h,--help x\\n  --version x\\n\\nGo out:\\n  go  x\\n\\nExamples:\\n  went x\\n'; fi\n",
    PAGE: ".Sh OPTIONS\n.It Fl h , Fl -help\n.It Fl -version\n.Sh COMMANDS\n.Ss go\n.It Fl -fast\nDefault: 9.\n.It Fl -slow\nDefault: if it is\ndue.\n",
    COMPLETION: 'f() { local words="--help --fast --slow"; ((COMP_CWORD > 1)) || words="go --help --version"\n'
                'COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}")); }\ncomplete -F f rdmactl\n',
}
MANUALS = [(PAGE, ".It Fl -fast", "", "go: lacks --fast"), (PAGE, "Fl -fast", "Fl -fast\n.It Fl -late", "has --late"),
           (PAGE, ": 9", ": 90", "the default 9 of --fast"), (PAGE, "\ndue", "", "the default if it is due of --slow"), ("program", "=9", "=8", "the default 8 of --fast"),
           (PAGE, ".Ss go", ".Ss went", "lacks go"), (PAGE, ".It Fl -version", "", "lacks --version"),
           (COMPLETION, "--fast", "", "lacks --fast"), (COMPLETION, '"go ', '"', "lacks go"), (COMPLETION, '"go', '"go gone', "has gone"),
           ("program", "--fast", "--quick", "lacks --quick")]

# The project's addresses in one file and their places; then what is changed, and what is said.
PROJECT = {
    "CMakeLists.txt": "project(rdma-hook VERSION 1.2.3 LANGUAGES C)\n",
    "packaging/project.json": '{"repository": "https://a.example/b", "maintainer": "a <a@a.example>", "owner": "@a"}',
    "CHANGELOG.md": "## [Unreleased]\n",
    "README.md": "**Status**: no release is published yet, so [build the packages](docs/install.md#packages). And so on.\n    git clone https://a.example/b there\n",
    "docs/install.md": "**Status**: no release is published yet, so [build the packages](#packages).\n    repository=https://a.example/b\n    version=1.2.3\n    git clone https://a.example/b\n",
    "ansible/galaxy.yml": "repository: https://a.example/b\nversion: 1.2.3\n",
    "CITATION.cff": 'version: 1.2.3\nrepository-code: "https://a.example/b"\n', "MAINTAINERS.md": "| @a | all |\nMail: `a <a@a.example>`\n",
    ".github/CODEOWNERS": "* @a\n", ".github/ISSUE_TEMPLATE/config.yml": "    url: https://a.example/b/security/advisories/new\n",
}
PROJECTS = [("README.md", "a.example", "b.example", "repository is not https://a.example/b"), ("CITATION.cff", "version: 1", "version: 2", "version is not 1.2.3"),
            ("MAINTAINERS.md", "Mail:", "", "the place of maintainer is gone"), ("CMakeLists.txt", "VERSION", "", "no version"),
            ("packaging/project.json", '"@a"', '"a"', "owner is an account"), ("packaging/project.json", "https", "http", "repository is an https address"),
            ("README.md", "no release", "a release", "status is not no release is published yet"),
            ("CHANGELOG.md", "Unreleased]", "Unreleased]\n## [1.2.2] - 2026-01-02", "README.md: status is not the newest release is [1.2.2](https://a.example/b/releases/tag/v1.2.2)"),
            ("CHANGELOG.md", "Unreleased]", "Unreleased]\n## [1.2.2] - 2026-01-02", "docs/install.md: download is not 1.2.2"),
            ("ansible/galaxy.yml", "version", "homepage: https://x.invalid\nversion", "a placeholder"), (".github/CODEOWNERS", "@a", "@b", "owner is not @a")]

# A workflow with all that it needs, a form, and the other files.
WORKFLOW, FORM, CHOOSER = ".github/workflows/ci.yml", ".github/ISSUE_TEMPLATE/bug.yml", ".github/ISSUE_TEMPLATE/config.yml"
DEPENDABOT, OWNERS = ".github/dependabot.yml", ".github/CODEOWNERS"
WORKFLOWS = {
    WORKFLOW: f"""name: ci
on: {{push: {{branches: [main]}}}}
permissions: {{contents: read}}
concurrency: {{group: "${{{{ github.ref }}}}"}}
jobs:
  test:
    runs-on: ${{{{ matrix.runner }}}}
    timeout-minutes: 90
    strategy:
      matrix:
        runner: [ubuntu-24.04]
    steps:
      - uses: actions/checkout@{"0" * 40}
        with: {{persist-credentials: false}}
      - run: tests/go "$K"
        env: {{K: "${{{{ matrix.runner }}}}"}}
""",
    FORM: "name: a\ndescription: b\nbody:\n  - {type: input, id: a, attributes: {label: rdmactl doctor --json}}\n",
    ".github/pull_request_template.md": "rdmactl doctor --json\n", "tests/go": "#!/bin/sh\n",
    CHOOSER: "blank_issues_enabled: false\ncontact_links:\n  - {name: a, url: https://a.example, about: b}\n",
    DEPENDABOT: "version: 2\nupdates:\n  - {package-ecosystem: github-actions, directory: /, schedule: {interval: monthly}}\n",
    OWNERS: "# all\n* @a\n/tests/ @a @b/c\ngo @a\ntests/g* @a\n",
}
WORKFLOW_MUTANTS = [
    (WORKFLOW, "timeout-minutes: 90", "timeout-minutes: 900", "from 1 to 360"), (WORKFLOW, "[ubuntu-24.04]", "[ubuntu-18.04]", "no runner ubuntu-18.04"),
    (WORKFLOW, "tests/go", "tests/gone", "is no executable file"), (WORKFLOW, '"$K"', '"$K" && true', "more than one command"),
    (WORKFLOW, 'go "$K"', "go ${{ github.ref }}", "an expression in a command"), (WORKFLOW, "github.ref }}", "github.head_ref }}", "not among those"),
    (WORKFLOW, '"${{ matrix.runner }}"', '"${{ github.event.issue.title }}"', "not among those"), (WORKFLOW, "{K: \"${{ matrix.runner", "{K: \"${{ matrix.image", "has no image"),
    (WORKFLOW, "0" * 40, "v4", "is not named by a commit"), (WORKFLOW, "persist-credentials: false", "fetch-depth: 0", "leaves its token"),
    (WORKFLOW, "permissions: {contents: read}", "permissions: write-all", "contents: read"), (WORKFLOW, "push:", "pull_request_target:", "is not among"),
    (WORKFLOW, "    steps:", "    needs: [build]\n    steps:", "which is no job"), (WORKFLOW, "    steps:", "    step:", "has step, which"),
    (WORKFLOW, '"$K"', "--full --shard $K/3", "shards are 1 to"), (WORKFLOW, "name: ci", "name: ci\nname: ci", "is there twice"),
    (WORKFLOW, "jobs:", "jobs: [", "ci.yml:"), (FORM, "--json", "", "does not ask"), (FORM, "id: a, ", "", "an id of its own"),
    (FORM, "type: input", "type: inputs", "of type inputs"), (FORM, "description: b\n", "", "has no description"),
    (".github/pull_request_template.md", "doctor", "show", "does not ask"), (CHOOSER, ", about: b", "", "contact_links 1 has no about"),
    (CHOOSER, "name: a", "title: a, name: a", "contact_links 1 has title"),
    (DEPENDABOT, "directory: /, ", "", "updates 1 has no directory"), (DEPENDABOT, "interval", "every", "schedule 1 has every"),
    (DEPENDABOT, "updates:", "update:", "has no updates"),
    (OWNERS, "* @a", "*", "CODEOWNERS:2: it is PATTERN"), (OWNERS, "* @a", "* a", "CODEOWNERS:2: it is PATTERN"),
    (OWNERS, "/tests/", "/go/", "CODEOWNERS:3: /go/ is the pattern of no file"), (OWNERS, "go @a", "gone @a", "CODEOWNERS:4: gone is"),
    (OWNERS, "tests/g*", "tests/go/", "CODEOWNERS:5: tests/go/ is"), (OWNERS, "tests/g*", "/go", "CODEOWNERS:5: /go is")]


def manual(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        program = Path(folder, "program")
        program.chmod(0o755)
        return list(importlib.import_module("manual").check(Path(folder), {"rdmactl": str(program)}))


def remembered():
    """What shell.py says of a script by what it remembers: it is bad and stays so, is good, stays so, its library changes."""
    passed, said = set(), []
    bad, good = (LIBRARIES | {"tests/a": SOURCED + f"echo ${name}\n"} for name in ("two", "one"))
    other = good | {"tests/lib.sh": LIBRARIES["tests/lib.sh"].replace("one=1", "one=()")}
    with tempfile.TemporaryDirectory() as folder:
        for files in (bad, bad, good, good, other):
            for name, text in files.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            said.append(len(list(importlib.import_module("shell").check(Path(folder), passed))))
            said.append(len(passed))
    return said


def run(script, files, as_program):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            path.chmod(0o755 if text.startswith("#!") else 0o644)
        if as_program:
            done = subprocess.run([sys.executable, "-B", HERE / script, folder], capture_output=True, text=True, check=False)
            return done.returncode, done.stdout + done.stderr
        problems = list(importlib.import_module(script.removesuffix(".py")).check(Path(folder)))
        return int(bool(problems)), "\n".join(problems)


def main():
    checked, failed = 0, 0

    def expect(what, script, files, status, text="", as_program=False):
        nonlocal checked, failed
        checked += 1
        got, output = run(script, files, as_program)
        if got != status or text not in output:
            failed += 1
            print(f"not ok: {script}: {what}: status {got} instead of {status}, said:\n{output}")

    expect("a good tree", "layering.py", GOOD, 0)
    for name, line, text in LAYERING:
        expect(f"{name}: {line}", "layering.py", GOOD | {name: GOOD.get(name, "") + line + "\n"}, 1, text)
    picture = {"ARCHITECTURE.md": "\n## Layers\n\n" + "".join(f"    {layer}  x\n" for layer in reversed(importlib.import_module("layering").ORDER))}
    expect("a true picture", "layering.py", GOOD | picture, 0)
    for old, new in (("hook/state ", "hook/steps "), ("    netns/base  x\n", "")):
        wrong = {name: text.replace(old, new) for name, text in picture.items()}
        expect(f"a picture with {new!r} for {old!r}", "layering.py", GOOD | wrong, 1, "the picture of the layers")
    expect("a good tree", "budget.py", GOOD, 0)
    # Once each as ctest calls them: most trees are looked at in this process, a slow machine is grateful.
    for script, good, bad in (("layering.py", GOOD, {"hook/x.cc": "#include <sched.h>\n"}), ("budget.py", GOOD, {"hook/x.cc": LONG}),
                              ("docs.py", SCHEMA, {"README.md": "[x](gone.md)\n"})):
        expect("a good tree", script, good, 0, as_program=True)
        expect("a bad tree", script, good | bad, 1, as_program=True)
    expect("a file to think about", "budget.py", GOOD | {"hook/x.cc": "int i;\n" * 501}, 0, "warning: hook/x.cc: 501", as_program=True)
    for line, text in CLOEXEC:
        expect(line, "cloexec.py", GOOD | {"perf/x.cc": line + "\n"}, int(bool(text)), text)
    expect("standard descriptors of a child", "cloexec.py", GOOD | {"netns/base/child.cc": "::dup2(1, 2);\n"}, 0)
    for line, said in SHELL if shutil.which("shellcheck") else ():
        expect(line, "shell.py", LIBRARIES | {"tests/a": SOURCED + line + "\n"}, int(bool(said)), said)
    if shutil.which("shellcheck") and (said := remembered()) != [1, 2, 1, 2, 0, 3, 0, 3, 1, 2]:
        failed += 1
        print(f"not ok: shell.py with what it remembers: findings and good ones {said}")
    for name, text, bad in BUDGET:
        expect(f"{name}, {text[:20]!r}", "budget.py", GOOD | {name: text}, int(bad), name if bad else "")
    for line, text in ERRORS:
        expect(line, "errors.py", {"hook/x.cc": line + "\n"}, int(bool(text)), text)
    expect("an error whose fix others give", "errors.py", {"perf/measure/x.cc": 'make_error(Code::Busy, "x");\n'}, 0)
    expect("a place that needs no others", "errors.py", {"netns/base/error.cc": ""}, 1, "netns/base/json.cc has no error")
    for line, text in DOCS:
        expect(line, "docs.py", SCHEMA | {"README.md": line + "\n"}, int(bool(text)), text)
    for quoted, status in (("it is broken", 0), ("it was broken", 1)):
        page = {"docs/troubleshooting.md": f"# X\n## Messages\n| m | c |\n| `{quoted}` | x |\n## More\n| `never said` | x |\n"}
        expect(quoted, "docs.py", SCHEMA | page, status, "no program says" if status else "")
    expect("a page in a folder", "docs.py", SCHEMA | {"tests/data/x/README.md": "[x](gone.md)\n"}, 1, "tests/data/x/README.md:1: a link")
    for index, page, text in SITE:
        expect(index + page, "website.py", {"index.html": index, "x/y.html": page, "s.css": ""}, int(bool(text)), text)
    expect("a folder without a site", "website.py", {"x.html": ""}, 1, "index.html is not there")
    for name, test, text in CVES:
        expect(f"{name}, {test}", "docs.py", SCHEMA | {"SECURITY.md": name, "tests/unit/x/x_test.cc": test}, int(bool(text)), text)
    for asked, text in ISOLATED:
        expect(asked, "docs.py", SCHEMA | {"docs/admin/isolation.md": TABLE, ISOLATION: asked}, int(bool(text)), text)
    for row, text in ROWS:
        expect(row, "docs.py", SCHEMA | {"docs/support-matrix.md": KERNELS + row + "\n"}, int(bool(text)), text)
    for name, text, said in UNITS:
        expect(text, "units.py", {UNIT: ""} | {name: text}, int(bool(said)), said)
    for line, said in WORDS:
        files = {"netns/x.cc": "// SPDX-License-Identifier: Apache-2.0\n" + line + "\n", "elsewhere/x.cc": "// alone\n"}
        expect(line, "words.py", files, int(bool(said)), f"netns/x.cc:{said}" if said else "")
    for name, text, said in PAGES:
        expect(text, "words.py", {name: text}, int(bool(said)), said)
    expect("a table of hardware", "hardware.py", ADAPTERS, 0)
    quirk = ADAPTERS | {"tests/fakes/adapters.cc": ADAPTERS["tests/fakes/adapters.cc"] + '\n    {"late", "comes late"}'}
    expect("a quirk that no fake has", "hardware.py", quirk, 1, "no fake has the quirk late")
    expect("a quirk that a fake has", "hardware.py", quirk | {"tests/fakes/world.cc": 'has_quirk("late")'}, 0)
    expect("a README that does not name it", "hardware.py", ADAPTERS | {"README.md": ""}, 1, "no link")
    for old, new, said in HARDWARE:
        page = {name: text.replace(old, new) if name.startswith("docs/") else text for name, text in ADAPTERS.items()}
        expect(f"{old} for {new}", "hardware.py", page, 1, said)
    expect("addresses", "project.py", PROJECT, 0)
    for name, old, new, said in PROJECTS:
        expect(f"{name}: {new!r} for {old!r}", "project.py", PROJECT | {name: PROJECT[name].replace(old, new)}, int(bool(said)), said)
    unnamed = {name: text.replace("@a", "@OWNER") for name, text in PROJECT.items() if name != "MAINTAINERS.md"}
    unnamed |= {"MAINTAINERS.md": "| @OWNER | all |\nMail: `a <a@a.example>`\n", "CHANGELOG.md": "## [1.2.2] - 2026-01-02\n",
                "packaging/project.json": '{"repository": "https://a.example/b", "maintainer": "a <a@a.example>", "owner": "@OWNER"}'}
    expect("a version that nobody can publish", "project.py", unnamed, 0)
    expect("a placeholder elsewhere", "project.py", PROJECT | {"docs/x.md": "git clone REPOSITORY\n"}, 1, "docs/x.md:1: a placeholder")
    if importlib.import_module("workflows").yaml:
        expect("a workflow", "workflows.py", WORKFLOWS, 0)
        for name, old, new, said in WORKFLOW_MUTANTS:
            expect(f"{name}: {new!r} for {old!r}", "workflows.py", WORKFLOWS | {name: WORKFLOWS[name].replace(old, new)}, 1, said)
    for row, status in (("| `rdma.mtu` | bytes", 0), ("| `rdma.mtu` | octets", 1)):
        checked += 1
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(HERE.parents[1] / "docs", Path(folder, "docs"))
            page = Path(folder, "docs/reference/annotations.md")
            page.write_text(page.read_text(encoding="utf-8").replace("| `rdma.mtu` | bytes", row), encoding="utf-8")
            done = subprocess.run([sys.executable, "-B", Path(folder, "docs/generate"), "--check"], capture_output=True, text=True, check=False)
            if done.returncode != status or (status and done.stdout != "docs/man/rdma-annotations.7 is not what its rows say: docs/generate\n"):
                failed += 1
                print(f"not ok: docs/generate with {row}: status {done.returncode}, said {done.stdout}{done.stderr}")
    kinds = json.loads((HERE.parent / "data/kubernetes/schema.json").read_text(encoding="utf-8"))
    for value, text in KUBERNETES:
        problems = list(importlib.import_module("examples").of_kubernetes(value, kinds))
        if len(problems) != bool(text) or not all(text in line for line in problems):
            failed += 1
            print(f"not ok: examples.py: {value}: said {problems}")
    if problems := manual(MANUAL):
        failed += 1
        print("not ok: manual.py: a good page:", *problems)
    for name, old, new, text in MANUALS:
        problems = manual(MANUAL | {name: MANUAL[name].replace(old, new)})
        if not any(text in line for line in problems):
            failed += 1
            print(f"not ok: manual.py: {old!r} for {new!r}: said {problems}")
    rows = "| `--a` | `--known 1`, `x --lost` | by `--gone` |\n| `--a` | `--not-of-this-table` |\n"
    if (found := list(importlib.import_module("manual").foreign_options(rows, {"--known"}))) != ["--lost", "--gone"]:
        failed += 1
        print(f"not ok: manual.py: options of a page: {found}")
    print(f"{checked + 1 + len(MANUALS) + len(KUBERNETES)} trees checked, {failed} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
