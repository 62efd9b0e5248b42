# shellcheck shell=bash
# shellcheck disable=SC2154 # from common.sh
# Which tree, and who uses it. Sourced, after common.sh.

# use_tree: makes sure that the tree of the present recipe is there, and keeps it from being removed while this process
# (or a child of it) lives. Sets tree.
use_tree() {
    local key
    key=$(tree_key)
    tree=$cache/trees/$key
    mkdir -p "$cache/trees"
    exec 8>"$tree.lock"
    flock -s 8
    until [[ -e $tree/complete ]]; do
        flock -u 8
        "$lab/build" || exit
        flock -s 8
    done
    touch "$tree.lock"
}

# remove_other_trees KEY: those of other recipes, and what a killed build left behind, unless a guest runs in them.
remove_other_trees() {
    local lock other
    for other in "$cache"/trees/*; do
        # Only names that recipe_key makes: a tree by another name is somebody's, for LAB_RECIPE.
        [[ ${other##*/} =~ ^[0-9a-f]{16}(\.part)?$ && -d $other && ${other##*/} != "$1" ]] || continue
        lock=${other%.part}.lock
        if (exec 7>"$lock" && flock -n 7 && rm -rf --one-file-system "$other"); then
            rm -f "$lock"
        fi
    done
}
