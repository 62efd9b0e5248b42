#!/bin/bash
# Old kernels, whose rxe carries nothing in a container's namespace: the plain request is refused with the
# reason and the way out; rdma.placement=host shares one rxe of the host, which goes with its last user.
#   tests/lab/run --kernel 6.12 tests/lab/scenarios/placement-host.sh [RUNTIME...]
source "${BASH_SOURCE[0]%/*}/lib.sh"
[[ ${1:-} != --full ]] || shift
runtimes=("$@")
[[ $# -gt 0 ]] || runtimes=(crun runc)
rootfs=/usr/lib/lab/rootfs:O
perf=(-v /usr/bin/rdma-perf:/usr/bin/rdma-perf:ro)
host=(--annotation rdma.mode=softroce --annotation rdma.placement=host)

modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1
podman run --rm --rootfs $rootfs true
world >"$work/before"

start() { podman --runtime "$runtime" run -d --name "$1" "${host[@]}" "${perf[@]}" --rootfs $rootfs sleep 100000; }
environment() { podman exec "$1" cat /proc/1/environ | tr '\0' '\n' | sed -n "s/^$2=//p"; }
listening() { podman exec "$1" ss -Hltn "sport = :$2" | grep -q .; }
address_of() { podman inspect -f '{{.NetworkSettings.IPAddress}}' "$1"; }

for runtime in "${runtimes[@]}"; do
    refused "$runtime: the plain request names the reason and the way out" 'carries no traffic.*rdma.placement=host' \
        podman --runtime "$runtime" run --rm --annotation rdma.mode=softroce --annotation rdma.ip=10.9.0.1/24 --rootfs $rootfs true
    same_world "$runtime: the refused one leaves nothing" "$work/before"
    refused "$runtime: rdma.ip does not go with placement=host" 'rdma.ip' \
        podman --runtime "$runtime" run --rm "${host[@]}" --annotation rdma.ip=10.9.0.1/24 --rootfs $rootfs true
    check "$runtime: a shares the host's device" start a
    check "$runtime: b shares it too" start b
    equal "$runtime: it is one device" "$(environment a RDMA_DEVICE)" "$(environment b RDMA_DEVICE)"
    index=$(environment a RDMA_GID_INDEX)
    podman exec a timeout 60 ib_send_bw -n 200 -x "$index" >"$work/server" 2>&1 &
    wait_for 30 listening a 18515
    check "$runtime: ib_send_bw -x \$RDMA_GID_INDEX passes" podman exec b timeout 60 ib_send_bw -n 200 -x "$index" "$(address_of a)"
    wait
    podman exec a timeout 60 rdma-perf serve --bind 0.0.0.0 --once >"$work/server" 2>&1 &
    wait_for 30 listening a 18600
    check "$runtime: rdma-perf passes over the shared device" podman exec b timeout 60 rdma-perf run "$(address_of a)" --time 0.3s --size 4096 --verb send --mode bw
    kill %% 2>/dev/null
    wait
    podman rm -f -t 0 a >/dev/null 2>&1
    check "$runtime: the first to end takes nothing" podman exec b ibv_devinfo -d "$(environment b RDMA_DEVICE)"
    podman rm -f -t 0 b >/dev/null 2>&1
    same_world "$runtime: the device is gone with its last user" "$work/before"
done
clean_kernel_log
finish
