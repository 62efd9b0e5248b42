#!/usr/bin/env bash
# Runs yamllint and ansible-lint (which has ansible-playbook read the playbooks) over ansible/, and compares the variables of
# roles with their types and their uses. Skips (77) without one of the two. PASSED, a file in the build folder, remembers a digest of
# what passed: Ansible takes seconds for each question, and what has passed is not asked again.
# usage: ansible.sh ROOT [PASSED]
set -euo pipefail
passed=${2:-/dev/null}
cd "$1/ansible"
for tool in yamllint ansible-lint; do
    if ! command -v "$tool" >/dev/null; then
        echo "skipped: $tool is not installed"
        exit 77
    fi
done
# Of the programs it is when they were installed: to ask them takes a second each.
digest=$({
    stat -L -c '%n %s %Y' "$(command -v ansible-lint)" "$(command -v ansible-playbook)" "$(command -v yamllint)"
    find . ../docs/admin/ansible.md ../tests/lint/ansible.sh -type f -not -name '*.pyc' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
} | sha256sum)
if [[ -e $passed && $(<"$passed") == "$digest" ]]; then
    echo "ansible: it has passed as it is"
    exit 0
fi
# A home and a place for facts of its own: what the machine's user has configured is none of this.
HOME=$(mktemp -d)
trap 'rm -rf "$HOME"' EXIT
export HOME ANSIBLE_NOCOLOR=1 NO_COLOR=1 PYTHONDONTWRITEBYTECODE=1
yamllint --strict .
# Without a path it finds roles and playbooks by itself; of `.` it takes hidden files alone.
ansible-lint --strict --offline -q
python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' roles/common/files/rdma-tune
if grep -nE 'argv: \[grep, .*-r, /sys/(bus|class)/' roles/*/tasks/*.yml; then
    echo "ansible: these folders have links alone, which grep -r does not follow: name /sys/devices"
    exit 1
fi
# A name that the documents have and no role takes, or the other way round, is found here.
python3 - <<'EOF'
import glob, sys, yaml
wrong = []
for specs in sorted(glob.glob("roles/*/meta/argument_specs.yml")):
    role = specs.split("/")[1]
    if role == "common":
        continue
    options = yaml.safe_load(open(specs))["argument_specs"]["main"]["options"]
    defaults = yaml.safe_load(open(f"roles/{role}/defaults/main.yml"))
    page = open("../docs/admin/ansible.md").read()
    wrong += [f"{role}: {name} has a default and no type" for name in sorted(defaults.keys() - options.keys())]
    wrong += [f"{role}: {name} has a type and no default" for name in sorted(options.keys() - defaults.keys())
              if name.startswith(role + "_")]
    wrong += [f"docs/admin/ansible.md does not name role {role}"] if f"`{role}`" not in page else []
print("\n".join(wrong) or "ansible: every variable of a role has a type and a default")
sys.exit(bool(wrong))
EOF
# -e NAME=false is the word "false", which is true where it is not made a boolean: a type checks, and converts nothing.
python3 - <<'EOF'
import glob, re, sys, yaml
BARE = {"when", "that", "until", "failed_when", "changed_when"}  # expressions without braces
def expressions(node, bare=False):
    if isinstance(node, dict):
        for key, value in node.items():
            yield from expressions(value, key in BARE)
    elif isinstance(node, list):
        for each in node:
            yield from expressions(each, bare)
    elif isinstance(node, str):
        yield from [node] if bare else re.findall(r"\{[{%](.*?)[%}]\}", node, re.S)
def read(file):
    return yaml.safe_load(open(file)) if file.endswith(".yml") else open(file).read()
entries = [entry for specs in glob.glob("roles/*/meta/argument_specs.yml") for entry in read(specs)["argument_specs"].values()]
booleans = {name for entry in entries for name, option in entry["options"].items() if option["type"] == "bool"}
raw = re.compile(rf"\b({'|'.join(booleans)})\b(?!\s*(\|\s*default\([^()]*\)\s*)?\|\s*bool\b)")
wrong = [f"{file}: {found[1]} is taken without | bool"
         for file in sorted(glob.glob("*.yml") + glob.glob("roles/*/*/*.yml") + glob.glob("roles/*/templates/*"))
         for part in expressions(read(file)) for found in raw.finditer(part)]
wrong += [f"{file}: the default of {name} does not end in | bool" for file in sorted(glob.glob("roles/*/defaults/main.yml"))
          for name, value in read(file).items() if name in booleans and isinstance(value, str) and not value.endswith("| bool }}")]
print("\n".join(sorted(set(wrong))) or f"ansible: each of {len(booleans)} booleans is taken as one")
sys.exit(bool(wrong))
EOF
# Of what the controller has for hosts, another user of it may have a say in nothing: a file that he put where the archive of the
# source was once made is not taken, and nobody but its user can look into the folder.
play() { ansible-playbook -i localhost, -c local "$@" >"$HOME/played" 2>&1 || { cat "$HOME/played"; return 1; }; }
git init -q "$HOME/source"
echo ours >"$HOME/source/whose"
git -C "$HOME/source" add whose
git -C "$HOME/source" -c user.name=lint -c user.email=lint@localhost commit -q -m source
commit=$(git -C "$HOME/source" rev-parse HEAD)
mkdir "$HOME/theirs" "$HOME/built" "$HOME/tmp"
echo theirs >"$HOME/theirs/whose"
tar -cf "$HOME/tmp/rdma-hook-$commit-localhost.tar" -C "$HOME/theirs" whose
cat >"$HOME/bring.yml" <<'EOF2'
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.include_role: {name: rdma_hook, tasks_from: bring_source}
    - ansible.builtin.debug: {msg: "mode {{ rdma_hook_packed.mode }}"}
EOF2
TMPDIR=$HOME/tmp play "$HOME/bring.yml" -e "rdma_hook_source_folder=$HOME/source" -e "rdma_hook_commit_wanted=$commit" -e "rdma_hook_build_folder=$HOME/built"
if [[ $(<"$HOME/built/whose") != ours ]] || ! grep -q 'mode 0700' "$HOME/played" || compgen -G "$HOME/tmp/rdma-hook-*/" >/dev/null; then
    cat "$HOME/played"
    echo "ansible: another user of the controller can change what hosts build"
    exit 1
fi
if grep -nE '(path|dest|src|creates|output)[:=] *"?/tmp/|: /tmp/' roles/*/*/*.yml; then
    echo "ansible: a name in /tmp that others can foresee: use ansible.builtin.tempfile"
    exit 1
fi
# Who may lock memory: nobody by default; else a group, and not everybody.
cat >"$HOME/memlock.yml" <<'EOF2'
- hosts: all
  gather_facts: false
  vars: {rdma_host_state: present, common_booted: false}
  tasks:
    - ansible.builtin.include_role: {name: rdma_host, tasks_from: memlock}
EOF2
play "$HOME/memlock.yml" --check --diff
if ! grep -q 'changed=0 ' "$HOME/played"; then
    cat "$HOME/played"
    echo "ansible: rdma_host lets users or containers lock memory without being asked to"
    exit 1
fi
play "$HOME/memlock.yml" --check --diff -e rdma_host_memlock=unlimited
if [[ $(sed -n 's/^+\(.* - memlock .*\)/\1/p' "$HOME/played") != '@rdma - memlock unlimited' ]] || grep -q 'LimitMEMLOCK' "$HOME/played"; then
    cat "$HOME/played"
    echo "ansible: rdma_host_memlock is for more than the group rdma"
    exit 1
fi
# Each role can be run or skipped by its name. What changes a host or an adapter beyond what RDMA for containers needs comes by its
# tag alone.
python3 - <<'EOF2'
import sys, yaml
roles = [(role["role"], set(role["tags"])) for play in yaml.safe_load(open("site.yml")) for role in play["roles"]]
def plays(wanted, tags=(), skipped=()):
    # As Ansible chooses: without tags all but what has never; with tags what has one of them. Nothing that is to be skipped.
    got = {name for name, has in roles if (has & set(tags) if tags else "never" not in has) and not has & set(skipped)}
    return [] if got == set(wanted.split()) else [f"ansible: site.yml --tags {tags} --skip-tags {skipped} plays {sorted(got)} and not {wanted}"]
wrong = (plays("rdma_hook rdma_host shared_hca softroce")
         + plays("rdma_hook rdma_host softroce sriov", ["sriov"])
         + plays("asap2_direct rdma_hook rdma_host softroce sriov", ["sriov", "asap2_direct"])
         + plays("docker podman", ["engines"])
         + plays("cpufreq docker evaluation rdma_hook rdma_host shared_hca softroce", ["base", "docker", "cpufreq", "evaluation"])
         + plays("rdma_hook rdma_host", skipped=["softroce", "shared_hca"])
         + [f"ansible: site.yml has not the tag {name} for the role" for name, has in roles if name not in has]
         + [f"ansible: {book} does not begin with renamed variables" for book in ("site.yml", "teardown.yml")
            if yaml.safe_load(open(book))[0]["pre_tasks"][0]["ansible.builtin.include_role"]["tasks_from"] != "renamed"])
print("\n".join(wrong) or "ansible: each tag of site.yml brings its roles")
sys.exit(bool(wrong))
EOF2
# No two hosts may give out one address: the sample inventory's do not, and those that would are refused.
cat >"$HOME/ranges.yml" <<'EOF2'
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.include_role: {name: rdma_hook, tasks_from: ranges}
EOF2
ranges() { ansible-playbook -c local "$HOME/ranges.yml" "$@" >"$HOME/played" 2>&1; }
if ! ranges -i inventory/hosts.yaml || grep -q 'ok=0 ' "$HOME/played"; then
    cat "$HOME/played"
    echo "ansible: the hosts of inventory/hosts.yaml would give out the same addresses"
    exit 1
fi
# So do those of the page's example.
# shellcheck disable=SC2016  # no expansion: the fence of a block
sed -n '/^```yaml$/,/^```$/{//!p}' ../docs/admin/ansible.md >"$HOME/page.yaml"
if ! ranges -i "$HOME/page.yaml" || grep -q 'ok=0 ' "$HOME/played"; then
    cat "$HOME/played"
    echo "ansible: the inventory of docs/admin/ansible.md is not taken"
    exit 1
fi
if ranges -i inventory/hosts.yaml -e rdma_addresses=10.9.0.10-10.9.0.200/24 --limit no_mlnx_ofed_node1 || ! grep -q 'node1: pool soft, .* and no_mlnx_ofed_node2: pool soft' "$HOME/played"; then
    cat "$HOME/played"
    echo "ansible: hosts that would give out the same addresses are not refused"
    exit 1
fi
python3 - <<'EOF2'
import sys
sys.path.insert(0, "roles/rdma_hook/filter_plugins")
from rdma_hook_ranges import clashes
A, B = "10.9.0.10-10.9.0.99/24", "10.9.0.99-10.9.0.189/24"
def two(a, b, **more):
    return len(clashes({"a": {"p": {"mode": "vf", "range": a} | more}, "b": {"p": {"mode": "vf", "range": b} | more}}))
wrong = [case for case, got, want in (
    ("one address in common", two(A, B), 1), ("the same", two([A], A), 1), ("none in common", two(A, "10.9.0.100-10.9.0.189/24"), 0),
    ("both probe", two(A, A, probe=True), 0), ("shared probes by itself", two(A, A, mode="shared"), 0),
    ("families", two([A, "fd00::1-fd00::9/64"], ["fd00::9-fd00::f/64"]), 1), ("within one within another", two(["10.9.0.2-10.9.0.3/24", A], [
        "10.9.0.1-10.9.0.200/24"]), 2), ("no range", two([], A), 0), ("not a range", two("nonsense", A), 0),
    ("one host", len(clashes({"a": {"p": {"range": A}, "q": {"range": A}}})), 0)) if got != want]
print("\n".join(f"rdma_hook_clashes: {case}" for case in wrong) or "ansible: overlapping ranges are found")
sys.exit(bool(wrong))
EOF2
echo "$digest" >"$passed"
