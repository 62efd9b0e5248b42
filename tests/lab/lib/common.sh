# shellcheck shell=bash
# shellcheck disable=SC2034 # used by the scripts that source this file
# What `build`, `run` and the recipe share: exit statuses, messages, places.
# Sourced; expects $lab to hold the path of tests/lab.

# Statuses of the lab itself. Everything else that `run` returns is the script's own.
readonly EXIT_USAGE=64        # wrong command line
readonly EXIT_UNAVAILABLE=69  # the machine lacks something, or a build failed
readonly EXIT_GUEST_DIED=70   # the guest panicked or ended without a status
readonly EXIT_SKIP=77         # what is asked for is left out, with a reason
readonly EXIT_TIMEOUT=124     # as timeout(1)

: "${lab:?}"
readonly repository=${lab%/tests/lab}
cache=$(realpath -m "${LAB_CACHE:-/var/cache/rdma-hook-lab}")
readonly cache

say() { printf 'lab: %s\n' "$*" >&2; }

# die STATUS TEXT...: one plain line, then the end.
die() {
    local status=$1
    shift
    say "$*"
    exit "$status"
}

# Progress of long work, with the seconds since the script began.
progress() { say "$(printf '[%3d s]' "$SECONDS") $*"; }

# The lab has one tree by the recipe as it is, and one for each file of trees/, which changes a copy of it. `variant` is such a
# file's name, or empty.
variant=''
variants() { (cd "$lab/trees" && echo *); }
choose_variant() { # NAME
    [[ -n $1 && " $(variants) " == *" $1 "* ]] || die $EXIT_USAGE "no such tree: '$1'; there is $(variants), and without --tree the usual one"
    [[ $1 != next* || -z ${LAB_WITHOUT_NEXT:-} ]] || die $EXIT_SKIP "skipped: $LAB_WITHOUT_NEXT"
    variant=$1
}

# changes [VARIANT]: the files of trees/ that make it, in their order: next-engines changes what next has made of the recipe.
changes() {
    local word name=''
    for word in ${1//-/ }; do
        name+=${name:+-}$word
        echo "trees/$name"
    done
}

# make_recipe VARIANT FOLDER: FOLDER/recipe, as that variant changes it. It finds lib/ beside it, as the recipe itself does.
make_recipe() {
    local each files=()
    for each in $(changes "$1"); do files+=("$lab/$each"); done
    mkdir -p "$2"
    cp -r "$lab"/{lib,recipe} "$2/"
    # A process of its own: bash ignores -e in what it tests.
    (cd "$2/recipe" && bash -euo pipefail -c 'for each; do . "$each"; done' changes "${files[@]}")
}

# A tree is known by what made it: any change of the recipe is another tree.
recipe_key() { # [VARIANT]
    local files
    mapfile -t files < <(changes "${1:-}")
    (
        cd "$lab" || exit
        uname -m
        find recipe "${files[@]}" -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
    ) | sha256sum | cut -c1-16
}

# LAB_RECIPE names a tree that is there already; for work on the recipe itself.
tree_key() { printf '%s' "${LAB_RECIPE:-$(recipe_key "$variant")}"; }

need_root() {
    ((EUID == 0)) || die $EXIT_UNAVAILABLE "needs root: it mounts and runs chroot; try: sudo $0"
    [[ $(uname -m) == x86_64 ]] ||
        die $EXIT_UNAVAILABLE "needs an x86_64 machine, this one is $(uname -m): the kernels and NICs of the lab are x86"
}
