# shellcheck shell=bash
# shellcheck disable=SC2154 # from common.sh
# Which tree, and who uses it. Sourced, after common.sh.

# use_tree: makes sure that the tree of the present recipe, or of $variant, is there, and keeps it from being removed while this process
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
        "$lab/build" ${variant:+--tree "$variant"} || exit
        flock -s 8
    done
    touch "$tree.lock"
}

# remove_other_trees: those of other recipes, and what a killed build left behind, unless a guest runs in them.
remove_other_trees() {
    local each lock other keep
    keep=" $(recipe_key) $(for each in $(variants); do recipe_key "$each"; done | xargs) "
    for other in "$cache"/trees/*; do
        # Only names that recipe_key makes: a tree by another name is somebody's, for LAB_RECIPE.
        [[ ${other##*/} =~ ^[0-9a-f]{16}(\.part)?$ && -d $other && $keep != *" ${other##*/} "* ]] || continue
        lock=${other%.part}.lock
        if (exec 7>"$lock" && flock -n 7 && rm -rf --one-file-system "$other"); then
            rm -f "$lock"
        fi
    done
}

# tsc_khz: how fast this machine's TSC counts, by the tree's python3, which reads it twice, 0.2 s apart, each time together with
# the clock. Of many readings that one is taken for which it was interrupted the least.
tsc_khz() {
    chroot "$tree/root" python3 -c '
import ctypes, mmap, time
page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex("0f3148c1e2204809d0c3"))  # rdtsc; shl $32, %rdx; or %rdx, %rax; ret
tsc = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
def both():
    def once():
        before = time.monotonic_ns()
        ticks = tsc()
        after = time.monotonic_ns()
        return after - before, (before + after) // 2, ticks
    return min(once() for _ in range(1000))
first = both()
time.sleep(0.2)
second = both()
print((second[2] - first[2]) * 1000000 // (second[1] - first[1]))'
}
