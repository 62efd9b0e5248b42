#!/usr/bin/env bash
# Fails on a file of tests/lab/trees that does not fit the recipe which it changes; a build finds that after minutes.
#
# usage: trees.sh ROOT
set -euo pipefail
lab=$(readlink -f "$1")/tests/lab
# shellcheck source=../lab/lib/common.sh
. "$lab/lib/common.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0 bad=0

for each in $(variants); do
    count=$((count + 1))
    if ! make_recipe "$each" "$work/$each"; then
        echo "tests/lab/trees/$each: it does not fit tests/lab/recipe"
        bad=1
        continue
    fi
    for script in "$work/$each/recipe"/*; do
        [[ ! -f $script || $(head -n 1 "$script") != '#!/usr/bin/env bash' ]] || bash -n "$script" || bad=1
    done
    [[ $(recipe_key "$each") != "$(recipe_key)" ]] || { echo "tests/lab/trees/$each: it has the key of the usual tree" && bad=1; }
done
((bad)) || echo "trees: $count fit the recipe"
exit $bad
