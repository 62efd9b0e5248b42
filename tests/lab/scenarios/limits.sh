#!/bin/bash
# What a container may open and make on its device: rdma.max_hca_* under Podman, on a device of its own and
# on one that it shares; the one who hits its limit hurts nobody else.
#   tests/lab/run [--exclusive] --kernel 7.3 tests/lab/scenarios/limits.sh [RUNTIME...]
# RUNTIMEs: crun and runc unless given.
source "${BASH_SOURCE[0]%/*}/lib.sh"
[[ ${1:-} != --full ]] || shift
runtimes=("$@")
[[ $# -gt 0 ]] || runtimes=(crun runc)
softroce=(--annotation rdma.mode=softroce)

modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1
podman run --rm --rootfs $rootfs true

start() { # NAME [OPTION...]: a container that waits
    local name=$1
    shift
    pod run -d --name "$name" "${softroce[@]}" "${with_perf[@]}" "$@" --rootfs $rootfs sleep 100000
}
at() { echo "--annotation rdma.ip=$1/24"; }
limit() { echo "--annotation rdma.max_hca_$1=$2"; }
cgroup() { echo "/sys/fs/cgroup$(sed -n 's/^0:://p' "/proc/$(podman inspect -f '{{.State.Pid}}' "$1")/cgroup")"; }
# Figures of a container's cgroup on its device. In exclusive mode they show in the device's namespace only.
figures() { # CONTAINER max|current
    nsenter --net="/proc/$(podman inspect -f '{{.State.Pid}}' "$1")/ns/net" \
        sed -n "s/^$(environment "$1" RDMA_DEVICE) \(.*[^ ]\) *$/\1/p" "$(cgroup "$1")/rdma.$2"
}
max() { figures "$1" max; }
# Both ends of QPS queue pairs in one process.
loop() { podman exec "$1" timeout 100 rdma-perf loop --verb write --mode bw --size 64 --iterations 500 --qps "$2"; }

# b measures against c as long as a runs into its limit again and again.
neighbours() {
    podman exec c timeout 100 rdma-perf serve --bind 0.0.0.0 --once >"$work/server" 2>&1 &
    wait_for 30 listening c 18600
    podman exec b timeout 100 rdma-perf run 10.9.0.3 --verb write --mode bw --size 4096 --time 3s >"$work/neighbour" 2>&1 &
    local neighbour=$! refusals=0
    while kill -0 "$neighbour" 2>/dev/null; do
        loop a 64 >/dev/null 2>&1 || refusals=$((refusals + 1))
    done
    wait "$neighbour"
    report $? "$runtime: b and c pass rdma-perf while a hits its limit $refusals times" "$work/neighbour"
    [[ $refusals -gt 0 ]]
    report $? "$runtime: a did hit it meanwhile"
    kill %% 2>/dev/null
    wait
}

own_devices() {
    # shellcheck disable=SC2046 # options in words
    check "$runtime: a starts with limits" start a $(at 10.9.0.1) $(limit handles 4) $(limit objects 60)
    # shellcheck disable=SC2046
    check "$runtime: b starts without" start b $(at 10.9.0.2)
    # shellcheck disable=SC2046
    check "$runtime: c starts without" start c $(at 10.9.0.3)
    equal "$runtime: the cgroup of a has its figures" "hca_handle=4 hca_object=60" "$(max a)"
    equal "$runtime: the cgroup of b has none" "hca_handle=max hca_object=max" "$(max b)"
    check "$runtime: a works within them" loop a 1
    refused "$runtime: a fails beyond them, and is told how" 'Resource temporarily unavailable.*rdma cgroup limits' loop a 64
    sed 's/^/# /' "$work/out" | tail -n 4
    check "$runtime: a works again when it asks for less" loop a 1
    check "$runtime: b makes as many as it likes" loop b 64
    neighbours
    podman rm -f -t 0 a b c >/dev/null 2>&1
    same_world "$runtime: nothing is left" "$work/before"
}

handles() {
    # shellcheck disable=SC2046
    start a $(at 10.9.0.1) $(limit handles 1) >/dev/null 2>&1
    podman exec -d a ibv_asyncwatch -d "$(environment a RDMA_DEVICE)" >/dev/null 2>&1
    opened() { [[ $(figures a current) == "hca_handle=1 "* ]]; }
    check "$runtime: one program has the device open" wait_for 30 opened
    refused "$runtime: a second does not get it" . podman exec a ibv_devinfo -v -d "$(environment a RDMA_DEVICE)"
    podman rm -f -t 0 a >/dev/null 2>&1
    same_world "$runtime: nothing is left of a limit of handles" "$work/before"
}

# Two containers on one device of the host.
one_device() {
    # shellcheck disable=SC2046
    check "$runtime: a shares the host's device, limited" start a --annotation rdma.placement=host $(limit objects 60)
    check "$runtime: b shares it without a limit" start b --annotation rdma.placement=host
    equal "$runtime: it is one device" "$(environment a RDMA_DEVICE)" "$(environment b RDMA_DEVICE)"
    equal "$runtime: a is limited on it" "hca_handle=max hca_object=60" "$(max a)"
    equal "$runtime: b is not" "hca_handle=max hca_object=max" "$(max b)"
    refused "$runtime: a hits its limit on the shared device" . loop a 64
    check "$runtime: b, on the same device, does not" loop b 64
    podman rm -f -t 0 a b >/dev/null 2>&1
    same_world "$runtime: nothing is left of the shared device" "$work/before"
}

policy() {
    mkdir -p /etc/rdma-hook
    echo '{"policy":{"modes":["softroce"],"parents":["lab0"],"addresses":["10.9.0.0/16"],"memlock":"unlimited","max_hca_objects":500}}' >/etc/rdma-hook/config.json
    # shellcheck disable=SC2046
    check "$runtime: a container under a policy with a bound" start a --annotation rdma.parent=lab0 $(at 10.9.0.1)
    equal "$runtime: gets the bound without asking" "hca_handle=max hca_object=500" "$(max a)"
    # shellcheck disable=SC2046
    refused "$runtime: more than the bound is refused" 'policy.max_hca_objects does not allow' start b --annotation rdma.parent=lab0 $(at 10.9.0.2) $(limit objects 501)
    podman rm -f -t 0 a b >/dev/null 2>&1
    rm -f /etc/rdma-hook/config.json
    same_world "$runtime: nothing is left under a policy" "$work/before"
}

# A container in the engine's own cgroup: a limit there would hit the engine. crun only: runc has no such mode.
no_cgroup() {
    # shellcheck disable=SC2046
    refused "$runtime: without a cgroup of its own it is refused" 'exit code: 76' start a --cgroups=disabled $(at 10.9.0.1) $(limit objects 60)
    check "$runtime: and the reason is kept" grep -F 'no cgroup of its own' <(rdmactl list --failed)
    podman rm -f -t 0 a >/dev/null 2>&1
    rdmactl gc >/dev/null
    same_world "$runtime: nothing is left of the refused one" "$work/before"
}

world >"$work/before"
for runtime in "${runtimes[@]}"; do
    own_devices
    handles
    ((LAB_EXCLUSIVE)) || one_device
    policy
    [[ $runtime != crun ]] || no_cgroup
done
clean_kernel_log
finish
