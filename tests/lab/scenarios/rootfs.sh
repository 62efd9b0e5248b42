#!/bin/bash
# No program of ours opens a file of a container's root file system, in any mode or way in: a guard kills the one that does
# (rootfs-guard.c), and the container with it.
#   tests/lab/run --kernel 7.3 [--hca] [--nics igb] tests/lab/scenarios/rootfs.sh [--full] [MODE...]
# MODEs: all unless given; a guest that lacks what one needs says so and leaves it out. --full: under all of these engines.
source "${BASH_SOURCE[0]%/*}/every-mode-lib.sh"
source "${BASH_SOURCE[0]%/*}/engines-lib.sh"
engines=(prepared crun docker28)
[[ ${1:-} != --full ]] || { engines+=(podman podman_hooks runc); shift; }
modes=("$@")
[[ $# -gt 0 ]] || modes=(softroce softiwarp shared vf asap2)

# The root file system of all containers: one that is mounted for this, so that nobody else has files there.
one_rootfs() {
    rootfs=/run/lab-rootfs
    mkdir -p $rootfs /run/lab-rootfs-{upper,work}
    mount -t overlay overlay -o "lowerdir=/usr/lib/lab/rootfs,upperdir=/run/lab-rootfs-upper,workdir=/run/lab-rootfs-work" $rootfs
}
start_guard() {
    compiled rootfs-guard.c || return
    /run/lab/rootfs-guard "$rootfs" >"$work/guarded" 2>&1 &
    guard=$!
    wait_for 30 grep -q ready "$work/guarded"
}
end_guard() {
    kill "$guard"
    wait "$guard"
}
nobody_killed() { # since the last time
    sed -n 's/^killed //p' "$work/guarded" | tail -n +$((killed + 1)) >"$work/out"
    killed=$(grep -c '^killed ' "$work/guarded")
    [[ ! -s $work/out ]]
    report $? "$1: nothing of rdma-hook opens a file in a root file system" "$work/out"
}
start() {
    local keys
    read -ra keys <<<"$("${mode}_keys" 1)"
    "${engine}_start" c1 "${keys[@]}" ip=10.9.0.1/24
}
init_dies() {
    local init
    init=$("${engine}_init" c1) && ((init > 1)) && kill -9 "$init"
}
lives() { # a life and a death: what looks at containers, too
    local id dir
    folder c1
    [[ $engine != prepared ]] || folder "$(prepared_id c1)"
    [[ $engine == podman* ]] || { mkdir -p "$dir/rootfs" && mount --bind $rootfs "$dir/rootfs"; }
    check "$mode, $engine: it starts" start
    id=$(rdmactl list --json | jq -r '.containers[0].id // empty')
    check "$mode, $engine: rdmactl shows it" rdmactl show "$id"
    check "$mode, $engine: rdmactl counts for it" rdmactl stats "$id"
    check "$mode, $engine: its init dies" init_dies
    "${engine}_remove" c1 >/dev/null 2>&1
    check "$mode, $engine: gc" rdmactl gc
    drop_bundles
    rm -rf $rootfs/run/rdma $rootfs/etc/{nccl.conf,ucx} # what this engine made for mounts, the next would take for the image's
}

modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1
check "a root file system of its own" one_rootfs
check "a guard at it" start_guard
killed=0

# What is planted: a program of ours that is told to read a file there.
echo '{}' >$rootfs/planted.json
rdmactl --config $rootfs/planted.json config check >"$work/out" 2>&1
(($? == 137))
report $? "a planted open is killed" "$work/out"
grep -q "^killed /usr/bin/rdmactl .*/planted.json" "$work/guarded"
report $? "and the guard says which" "$work/guarded"
killed=$(grep -c '^killed ' "$work/guarded")

for mode in "${modes[@]}"; do
    if ! mode_up; then
        echo "# $mode: not here ($reason)"
        continue
    fi
    for engine in "${engines[@]}"; do
        lives
        nobody_killed "$mode, $engine"
    done
    mode_down
done
check "the guard was there to the end" end_guard
echo "# opens by others: $(sed -n 's/^others //p' "$work/guarded")"
check "and saw what others opened" grep -qE '^others [1-9][0-9]' "$work/guarded"
umount -l $rootfs
clean_kernel_log
finish
