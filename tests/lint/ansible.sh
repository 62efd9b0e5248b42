#!/usr/bin/env bash
# Runs yamllint and ansible-lint (which has ansible-playbook read the playbooks) over ansible/, and compares the variables of
# roles with their types. Skips (77) without one of the two.
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
