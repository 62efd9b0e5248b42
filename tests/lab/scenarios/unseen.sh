#!/bin/bash
# What cannot be seen is not gone: a bundle that was moved, an engine whose mounts are its own, links that a container gave away, a
# device number that changed hands. Each time gc must neither hurt a container that lives nor give anything twice.
#   tests/lab/run --kernel 7.3 --hca --nics igb tests/lab/scenarios/unseen.sh
source "${BASH_SOURCE[0]%/*}/modes-lib.sh"
source "${BASH_SOURCE[0]%/*}/bundles-lib.sh"
engine=bundle
modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan igbvf veth overlay || exit 1

opens() { inside "$1" bash -c 'exec 3<>/dev/infiniband/uverbs*'; } # CONTAINER
keep() { # PID: a process, $kept, has its network namespace go on after the container's end
    nsenter --net="/proc/$1/ns/net" sleep 100000 &
    kept=$!
    wait_for 10 test "/proc/$kept/ns/net" -ef "/proc/$1/ns/net"
}
in_kept() { nsenter --net="/proc/$kept/ns/net" "$@"; }
let_go() { kill "$kept"; wait "$kept" 2>/dev/null; }
die() { # CONTAINER: and its engine with it, so that no hook runs
    local init
    init=$(init_of "$1") && kill -9 "$init" && wait_for 30 is_gone "$init"
}
runs() { [[ $("$runtime" state "$1" | jq -r .status) == running ]]; } # CONTAINER

moved_bundle() {
    local i
    check "a container starts" attach a mode=softroce ip=10.9.0.1/24
    mv "$bundles/a" "$bundles/moved"
    for i in 1 2 3; do rdmactl gc --regrant >/dev/null 2>&1; done # as the timer does
    check "gc leaves a container that lives, though its bundle was moved" runs a
    check "it opens its device" opens a
    check "and has its link" inside a ip link show rdma0
    refused "its address is not given to another" 10.9.0.1 attach b mode=softroce ip=10.9.0.1/24
    drop b
    mv "$bundles/moved" "$bundles/a"
    drop a
    rdmactl gc >/dev/null
    same_world "it ends, and nothing is left" "$work/before"
}

# An engine in a unit with PrivateTmp=, PrivateMounts= or Protect*= makes its mounts where no one else sees them.
private_mounts() {
    local init
    bundle a mode=softroce ip=10.9.0.1/24
    (cd "$bundles/a" && unshare -m --propagation slave "$runtime" run -d --pid-file pid a </dev/null >"$work/log-a" 2>&1)
    report $? "an engine with mounts of its own starts a container" "$work/log-a"
    init=$(init_of a)
    keep "$init"
    check "its link is there" in_kept ip link show rdma0
    die a
    rdmactl gc >"$work/gc" 2>&1
    sed 's/^/# gc: /' "$work/gc"
    # Either it was found and undone, or its address stays taken.
    if in_kept ip link show rdma0 >/dev/null 2>&1; then
        refused "the link lives on, so its address is not given again" 10.9.0.1 attach b mode=softroce ip=10.9.0.1/24
    else
        check "its link was found and removed, so its address is given again" attach b mode=softroce ip=10.9.0.1/24
    fi
    drop b
    let_go
    drop a
    rdmactl gc >/dev/null
    same_world "nothing is left" "$work/before"
}

# give_away WHAT KEY=VALUE...: a may administer its network, and hands its link to b, which has nothing of RDMA.
give_away() {
    local what=$1 into
    shift
    check "$what: a starts, with CAP_NET_ADMIN" attach a "$@" ip=10.9.0.1/24 -- "$net_admin"
    check "$what: b starts, without RDMA" attach b
    into=$(init_of b)
    # What the namespace's administrator may: a descriptor of b's namespace reaches a by any socket.
    in_network a ip link set rdma0 netns "$into" name taken
    report $? "$what: a gives its link to b"
    drop a
    rdmactl gc >"$work/gc" 2>&1
    sed 's/^/# gc: /' "$work/gc"
    refused "$what: b does not have it any more" 'does not exist' in_network b ip link show taken
    rdmactl list --json | jq -e '[.. | objects | .trouble? // empty | select(length > 0)] == []' >"$work/out"
    report $? "$what: no attachment is in trouble" "$work/out"
    check "$what: the next container is given the same" attach c "$@" ip=10.9.0.1/24
    check "$what: and has it" in_network c ip link show rdma0
    drop c b
    rdmactl gc >/dev/null
    same_world "$what: nothing is left" "$work/before"
}

# The kernel gives the number of a device that has gone to the next one.
number_changes_hands() {
    local device number
    check "a starts" attach a mode=softroce ip=10.9.0.1/24
    device=$(devices a)
    number=$(inside a bash -c 'stat -c %t:%T /dev/infiniband/uverbs*')
    check "its device goes without it" rdma link delete "$device"
    check "c starts" attach c mode=softroce ip=10.9.0.3/24
    equal "c has been given a's number" "$number" "$(inside c bash -c 'stat -c %t:%T /dev/infiniband/uverbs*')"
    check "c opens its device" opens c
    refused "a does not open c's device" 'not permitted|No such device' opens a
    rdmactl gc --regrant >"$work/gc" 2>&1
    sed 's/^/# gc: /' "$work/gc"
    refused "nor after gc --regrant" 'not permitted|No such device' opens a
    check "c still does" opens c
    drop a c
    rdmactl gc >/dev/null
    same_world "nothing is left" "$work/before"
}

check "an HCA" make_hca
check "VFs" enable_vfs
# What the first attach of all makes.
attach a mode=softroce ip=10.9.0.1/24 >/dev/null 2>&1
drop a
rdmactl gc >/dev/null
more_world() { vfs; }
world >"$work/before"

moved_bundle
private_mounts
give_away softroce mode=softroce
give_away shared mode=shared parent=lab0
give_away vf mode=vf device=enp1s0
number_changes_hands
clean_kernel_log
finish
