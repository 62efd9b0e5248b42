#!/bin/bash
# What a container may open and make on its device: rdma.max_hca_*, on a device of its own and
# on one that it shares; the one who hits its limit hurts nobody else.
#   tests/lab/run [--exclusive] --kernel 7.3 tests/lab/scenarios/limits.sh [--full|--brief] [RUNTIME...]
# RUNTIMEs: crun and runc unless given. --brief: two containers with a device each; unit and contract tests have the rest.
source "${BASH_SOURCE[0]%/*}/bundles-lib.sh"
brief=0
case ${1:-} in
--full) shift ;;
--brief) brief=1; shift ;;
esac
runtimes=("$@")
[[ $# -gt 0 ]] || runtimes=(crun runc)

modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1

start() { attach "$1" mode=softroce "${@:2}"; } # NAME [KEY=VALUE...]
# Figures of a container's cgroup on its device. In exclusive mode they show in the device's namespace only.
figures() { # CONTAINER max|current
    in_network "$1" sed -n "s/^$(environment "$1" RDMA_DEVICE) \(.*[^ ]\) *$/\1/p" "$(cgroup_of "$1")/rdma.$2"
}
max() { figures "$1" max; }
# Both ends of QPS queue pairs in one process.
loop() { inside "$1" timeout 100 rdma-perf loop --verb write --mode bw --size 64 --iterations 500 --qps "$2"; }

# b measures against c as long as a runs into its limit again and again.
neighbours() {
    serve c 18600 rdma-perf serve --bind 0.0.0.0 --once
    inside b timeout 100 rdma-perf run 10.9.0.3 --verb write --mode bw --size 4096 --time 3s >"$work/neighbour" 2>&1 &
    local neighbour=$! refusals=0
    while kill -0 "$neighbour" 2>/dev/null; do
        loop a 20 >/dev/null 2>&1 || refusals=$((refusals + 1))
    done
    wait "$neighbour"
    report $? "$runtime: b and c pass rdma-perf while a hits its limit $refusals times" "$work/neighbour"
    [[ $refusals -gt 0 ]]
    report $? "$runtime: a did hit it meanwhile"
    end_server c
}

own_devices() {
    check "$runtime: a starts with limits" start a ip=10.9.0.1/24 max_hca_handles=4 max_hca_objects=30
    check "$runtime: b starts without" start b ip=10.9.0.2/24
    ((brief)) || check "$runtime: c starts without" start c ip=10.9.0.3/24
    equal "$runtime: the cgroup of a has its figures" "hca_handle=4 hca_object=30" "$(max a)"
    equal "$runtime: the cgroup of b has none" "hca_handle=max hca_object=max" "$(max b)"
    check "$runtime: a works within them" loop a 1
    refused "$runtime: a fails beyond them, with the reason" 'Resource temporarily unavailable.*rdma cgroup limits' loop a 20
    sed 's/^/# /' "$work/out" | tail -n 4
    check "$runtime: a works again when it asks for less" loop a 1
    check "$runtime: b makes as many as it likes" loop b 20
    if ((!brief)); then
        neighbours
        drop c
    fi
    drop a b
    same_world "$runtime: nothing is left" "$work/before"
}

handles() {
    start a ip=10.9.0.1/24 max_hca_handles=1 >/dev/null 2>&1
    inside a ibv_asyncwatch -d "$(environment a RDMA_DEVICE)" >/dev/null 2>&1 &
    opened() { [[ $(figures a current) == "hca_handle=1 "* ]]; }
    check "$runtime: one program has the device open" wait_for 30 opened
    refused "$runtime: a second does not get it" . inside a ibv_devinfo -v -d "$(environment a RDMA_DEVICE)"
    drop a
    same_world "$runtime: nothing is left of a limit of handles" "$work/before"
}

# Two containers on one device of the host.
one_device() {
    check "$runtime: a shares the host's device, limited" start a placement=host max_hca_objects=30
    check "$runtime: b shares it without a limit" start b placement=host
    equal "$runtime: it is one device" "$(environment a RDMA_DEVICE)" "$(environment b RDMA_DEVICE)"
    equal "$runtime: a is limited on it" "hca_handle=max hca_object=30" "$(max a)"
    equal "$runtime: b is not" "hca_handle=max hca_object=max" "$(max b)"
    refused "$runtime: a hits its limit on the shared device" . loop a 20
    check "$runtime: b, on the same device, does not" loop b 20
    drop a b
    same_world "$runtime: nothing is left of the shared device" "$work/before"
}

policy() {
    mkdir -p /etc/rdma-hook
    echo '{"policy":{"modes":["softroce"],"parents":["lab0"],"addresses":["10.9.0.0/16"],"memlock":"unlimited","max_hca_objects":500}}' >/etc/rdma-hook/config.json
    check "$runtime: a container under a policy with a bound" start a parent=lab0 ip=10.9.0.1/24
    equal "$runtime: gets the bound without asking" "hca_handle=max hca_object=500" "$(max a)"
    refused "$runtime: more than the bound is refused" 'policy.max_hca_objects does not allow' start b parent=lab0 ip=10.9.0.2/24 max_hca_objects=501
    drop a b
    rm -f /etc/rdma-hook/config.json
    same_world "$runtime: nothing is left under a policy" "$work/before"
}

# A container in the engine's own cgroup: a limit there would hit the engine. crun only: runc has no such mode.
crun_without_cgroups() { crun --cgroup-manager=disabled "$@"; }
no_cgroup() {
    local runtime=crun_without_cgroups
    refused "$runtime: without a cgroup of its own it is refused" 'exit code: 76' start a ip=10.9.0.1/24 max_hca_objects=30
    check "$runtime: and the reason is kept" grep -F 'no cgroup of its own' <(rdmactl list --failed)
    drop a
    rdmactl gc >/dev/null
    same_world "$runtime: nothing is left of the refused one" "$work/before"
}

world >"$work/before"
for runtime in "${runtimes[@]}"; do
    own_devices
    ((!brief)) || continue
    handles
    ((LAB_EXCLUSIVE)) || one_device
    policy
    [[ $runtime != crun ]] || no_cgroup
done
clean_kernel_log
finish
