#!/bin/bash
# Old kernels, whose rxe carries nothing in a container's namespace: the plain request is refused with the
# reason and the way out; rdma.placement=host shares one rxe of the host, which goes with its last user.
#   tests/lab/run --kernel 6.12 tests/lab/scenarios/placement-host.sh [RUNTIME...]
source "${BASH_SOURCE[0]%/*}/bundles-lib.sh"
[[ ${1:-} != --full ]] || shift
runtimes=("$@")
[[ $# -gt 0 ]] || runtimes=(crun runc)
modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay nf_tables || exit 1

start() { attach "$1" mode=softroce placement=host -- "$(in_netns "/run/netns/$1")"; } # NAME: in the network of its name
networks() { # two, with a wire
    add_netns a && add_netns b && ip -n a link add eth0 type veth peer name eth0 netns b &&
        ip -n a address add 10.88.0.1/24 dev eth0 && ip -n b address add 10.88.0.2/24 dev eth0 &&
        ip -n a link set eth0 up && ip -n b link set eth0 up
}

refused "rdmactl doctor softroce does not call such a kernel healthy" 'fail +kernel .*before 7[.]1' rdmactl doctor softroce
check "two networks" networks
world >"$work/before"
for runtime in "${runtimes[@]}"; do
    refused "$runtime: the plain request names the reason and the way out" 'carries no traffic.*rdma.placement=host' \
        attach a mode=softroce ip=10.9.0.1/24
    same_world "$runtime: the refused one leaves nothing" "$work/before"
    refused "$runtime: rdma.ip does not go with placement=host" 'rdma.ip' \
        attach a mode=softroce placement=host ip=10.9.0.1/24
    check "$runtime: a shares the host's device" start a
    check "$runtime: b shares it too" start b
    equal "$runtime: it is one device" "$(environment a RDMA_DEVICE)" "$(environment b RDMA_DEVICE)"
    index=$(environment a RDMA_GID_INDEX)
    serve a 18515 ib_send_bw -n 200 -x "$index"
    check "$runtime: ib_send_bw -x \$RDMA_GID_INDEX passes" inside b timeout 60 ib_send_bw -n 200 -x "$index" 10.88.0.1
    served_once a
    serve a 18600 rdma-perf serve --bind 0.0.0.0 --once
    check "$runtime: rdma-perf passes over the shared device" inside b timeout 60 rdma-perf run 10.88.0.1 --time 0.2s --size 4096 --verb send --mode bw
    end_server a
    drop a
    check "$runtime: the first to end takes nothing" inside b ibv_devinfo -d "$(environment b RDMA_DEVICE)"
    drop b
    same_world "$runtime: the device is gone with its last user" "$work/before"
done
ip netns del a
ip netns del b
clean_kernel_log
finish
