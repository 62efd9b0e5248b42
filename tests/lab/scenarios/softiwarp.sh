#!/bin/bash
# Mode softiwarp: a siw device of the container's own, which rdma_cm connects; on every kernel that has siw.
#   tests/lab/run [--kernel 6.12] [--exclusive] [--nics igb] tests/lab/scenarios/softiwarp.sh [--full|--brief] [RUNTIME]
# --full: 50 random lives instead of 3; --brief: none. With --nics igb also siw over VFs. With --exclusive the refusal, and that it
# leaves nothing.
source "${BASH_SOURCE[0]%/*}/bundles-lib.sh"
cycles=3 brief=0
case ${1:-} in
--full) cycles=50; shift ;;
--brief) brief=1; shift ;;
esac
runtime=${1:-crun}

if ! modprobe siw; then
    echo "skipped: this kernel has no siw"
    finish
    exit
fi
modprobe -a ib_uverbs rdma_ucm igbvf macvlan veth overlay bridge nf_tables || exit 1

iwarp() { attach "$1" mode=softiwarp "ip=$2" "${@:3}"; } # NAME ADDRESS [KEY=VALUE...]

traffic() { # WHAT: between a and b, with 10.9.0.1 and .2
    ((brief)) || check "$1: rping" rping_passes b a 10.9.0.1
    # Over igb and a busy machine 1 MiB/s is what there may be.
    serve a 18600 rdma-perf serve --bind 0.0.0.0 --timeout 30s
    check "$1: rdma-perf by rdma_cm, bandwidth, verified" inside b timeout 100 rdma-perf run 10.9.0.1 --cm --mode bw --time 0.2s --size 4096 --timeout 30s
    check "$1: rdma-perf by rdma_cm, latency" inside b timeout 100 rdma-perf run 10.9.0.1 --cm --mode lat --verb send,read --time 0.2s --size 64 --timeout 30s
    end_server a
}

of_its_own() {
    local each device
    check "a starts" iwarp a 10.9.0.1/24
    check "b starts" iwarp b 10.9.0.2/24
    for each in a b; do
        device=$(environment $each RDMA_DEVICE)
        equal "$each sees its siw device alone" "$device" "$(devices $each)"
        [[ $device == siw* ]]
        report $? "$each knows its name, $device"
        equal "$each has no GID in its environment" "" "$(environment $each RDMA_GID)$(environment $each RDMA_GID_INDEX)"
        equal "and none in attach.json" false "$(attach_json $each | jq '.attachments[0] | has("gid") or has("gid_index")')"
    done
    equal "attach.json says that rdma_cm is there" true "$(attach_json a | jq '.attachments[0].rdma_cm')"
    traffic "of its own"
    refused "without rdma_cm nothing connects" 'pass --cm' inside b timeout 60 rdma-perf run 10.9.0.1 --time 0.1s --size 64
    drop a b
    same_world "two containers have gone" "$work/before"
}

lives() {
    local i way ways=(stop kill rm)
    for ((i = 0; i < cycles; i++)); do
        way=${ways[i % 3]}
        iwarp a "10.9.0.$((RANDOM % 200 + 1))/24,fd09::1/64" >"$work/out" 2>&1 || report 1 "life $i" "$work/out"
        end_by "$way" a
        same_world "ended by $way: nothing is left" "$work/before"
    done
}

bad_input() {
    refused "placement is not for softiwarp" 'rdma.placement' iwarp a 10.9.0.1/24 placement=host
    drop a
    refused "a parent that is not there" "rdma.parent='lab1': no such network interface" iwarp a 10.9.0.1/24 parent=lab1
    drop a
    same_world "a refusal leaves nothing" "$work/before"
}

# Whoever on the host may open the node: the kernel would wait for that without end, and so would the end of the container.
opened() {
    local device node opener start
    check "a container whose node somebody opens" iwarp a 10.9.0.1/24
    device=$(environment a RDMA_DEVICE)
    for node in /sys/class/infiniband_verbs/uverbs*; do [[ $(<"$node/ibdev") != "$device" ]] || break; done
    sleep 100000 3<"/dev/infiniband/${node##*/}" &
    opener=$!
    start=$SECONDS
    drop a
    ((SECONDS - start < 60))
    report $? "it goes all the same, within $((SECONDS - start)) s"
    check "list says who has the device open" bash -c "rdmactl list --json | grep -q 'is still open, by process $opener'"
    kill $opener
    wait $opener 2>/dev/null
    check "and gc takes it" rdmactl gc
    same_world "nothing is left" "$work/before"
}

over_vfs() {
    local each
    for each in enp1s0 enp2s0; do
        ip link set $each up
        check "VFs of $each" rdmactl vf enable $each 7
    done
    udevadm settle # which gives them their names
    world >"$work/vfs"
    check "siw over a VF" attach a mode=vf provider=siw device=enp1s0 ip=10.9.0.1/24
    check "siw over a VF of the other PF" attach b mode=vf provider=siw device=enp2s0 ip=10.9.0.2/24
    traffic "over VFs"
    drop a b
    same_world "the VFs are back" "$work/vfs"
    for each in enp1s0 enp2s0; do check "vf disable $each" rdmactl vf disable $each; done
}

world >"$work/before"
if ((LAB_EXCLUSIVE)); then
    refused "in exclusive mode siw is refused" 'RDMA namespace mode exclusive.*siw.*rdma.mode=softroce' iwarp a 10.9.0.1/24
    drop a
    same_world "the refused one leaves nothing" "$work/before"
else
    of_its_own
    opened
    if ((!brief)); then
        bad_input
        lives
    fi
    [[ $LAB_NICS != igb ]] || over_vfs
fi
clean_kernel_log
finish
