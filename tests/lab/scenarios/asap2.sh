#!/bin/bash
# Mode asap2 under Podman: VFs whose representors are ports of Open vSwitch with hardware offload, on two e-switches.
#   tests/lab/run --kernel 7.3 tests/lab/scenarios/asap2.sh [--full] [RUNTIME]
# --full: 50 random lives instead of 6.
source "${BASH_SOURCE[0]%/*}/asap2-lib.sh"
cycles=6
[[ ${1:-} != --full ]] || { cycles=50; shift; }
runtime=${1:-crun}

eswitches
check "Open vSwitch starts" start_ovs
podman run --rm --rootfs $rootfs true

# ---- the host's side ------------------------------------------------------------------------------------
host_side() {
    switches >"$work/bare"
    refused "without VFs and a number of them nothing is done" '--vfs' rdmactl asap2 enable netdevsim/netdevsim1
    refused "nor to what has no e-switch" 'no e-switch|no device' rdmactl asap2 enable lab0
    check "status of a bare e-switch" rdmactl asap2 status netdevsim/netdevsim1
    check "which is legacy" grep -q 'missing: mode legacy' "$work/out"
    equal "refusals and status change nothing" "$(<"$work/bare")" "$(switches)"
    check "rdmactl asap2 enable" enable 1 brA
    check "and of the other host" enable 2 brB
    switches >"$work/enabled"
    check "a second time" enable 1 brA
    equal "it changes nothing" "$(<"$work/enabled")" "$(switches)"
    check "nothing is missing" rdmactl asap2 status netdevsim/netdevsim1
    refused "says status" . grep missing "$work/out"
    join_vfs
    configure_asap2
    check "the configuration is valid" rdmactl config check
}

give() { attach "$1" mode=asap2 "pool=$1" "ip=$2" "${@:3}"; } # CONTAINER, of the pool of its name; ADDRESS [KEY=VALUE...]

host_side
world >"$work/before"
switches >"$work/switches"
same() { # WHAT
    same_world "$1" "$work/before"
    is_as_before() { [[ $(switches) == "$(<"$work/switches")" ]]; }
    wait_for 30 is_as_before
    report $? "$1: Open vSwitch, e-switches and VFs are as before" <(switches | diff "$work/switches" -)
}

# ---- what works -----------------------------------------------------------------------------------------
traffic() {
    check "a starts" give a 10.9.0.1/24
    check "b starts, on the other host" give b 10.9.0.2/24
    equal "a has one device" "$(environment a RDMA_DEVICE)" "$(devices a)"
    serve a 18600 rdma-perf serve --bind 0.0.0.0
    check "rdma-perf, addresses over TCP" podman exec b timeout 100 rdma-perf run 10.9.0.1 --mode bw --time 0.2s --size 4096
    check "rdma-perf, by rdma_cm" podman exec b timeout 100 rdma-perf run 10.9.0.1 --cm --verb write,send --mode bw --time 0.2s --size 4096
    check "rping" rping_passes b a 10.9.0.1
    serve a 18515 ib_write_bw -n 200
    check "ib_write_bw" podman exec b timeout 100 ib_write_bw -n 200 10.9.0.1
    wait "${served[a]}"
    served[a]=$(pgrep -f 'podman exec a timeout 1000 rdma-perf' | head -1)
    ovs-appctl dpctl/dump-flows -m type=offloaded >"$work/flows"
    check "the flows of RDMA are offloaded" grep -qE 'udp.*offloaded:yes.*dp:tc' "$work/flows"
    tc -s filter show dev "$(representor 1 0)" ingress >"$work/filters"
    check "the representor's rules are in hardware" grep -q 'in_hw in_hw_count 1' "$work/filters"
    equal "rdmactl show says so" hardware "$(path_of a)"
}

traffic
drop a b
same "both have gone"
clean_kernel_log
finish
