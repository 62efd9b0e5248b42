#!/usr/bin/env bash
# Runs yamllint and ansible-lint (which has ansible-playbook read the playbooks) over ansible/, and compares the variables of
# roles with their types and their uses. Skips (77) without one of the two.
# usage: ansible.sh ROOT
set -euo pipefail
cd "$1/ansible"
for tool in yamllint ansible-lint; do
    if ! command -v "$tool" >/dev/null; then
        echo "skipped: $tool is not installed"
        exit 77
    fi
done
# A home and a place for facts of its own: what the machine's user has configured is none of this.
HOME=$(mktemp -d)
trap 'rm -rf "$HOME"' EXIT
export HOME ANSIBLE_NOCOLOR=1 NO_COLOR=1 PYTHONDONTWRITEBYTECODE=1
yamllint --strict .
ansible-lint --strict --offline -q .
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
    readme = open("README.md").read()
    wrong += [f"{role}: {name} has a default and no type" for name in sorted(defaults.keys() - options.keys())]
    wrong += [f"{role}: {name} has a type and no default" for name in sorted(options.keys() - defaults.keys())
              if name.startswith(role + "_")]
    wrong += [f"README.md does not name role {role}"] if f"`{role}`" not in readme else []
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
