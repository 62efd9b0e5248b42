#!/usr/bin/env bash
# Runs shellcheck over every shell script. Skips (77) without shellcheck.
# usage: shell.sh ROOT
set -euo pipefail
cd "$1"
if ! command -v shellcheck >/dev/null; then
    echo "skipped: shellcheck is not installed"
    exit 77
fi
mapfile -t scripts < <(find .ci doc examples packaging tests -type f ! -path 'tests/data/*' \
    \( -name '*.sh' -o -name '*.bash' -o ! -name '*.*' -exec sh -c 'head -n 1 "$1" | grep -qE "^#!.*\b(ba)?sh\b"' _ {} \; \) -print | sort)
echo "${#scripts[@]} scripts"
# SC2187: busybox sh is checked as dash, which is what is wanted.
shellcheck -x -S warning -e SC2187 "${scripts[@]}"
