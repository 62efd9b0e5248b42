#!/bin/bash
# RDMA netns mode exclusive: on 7.3 a container's rxe is moved into its namespace, verbs pass and the
# missing rdma_cm is said; before, the request is refused.
#   tests/lab/run --kernel 7.3 --exclusive tests/lab/scenarios/exclusive.sh
source "${BASH_SOURCE[0]%/*}/lib.sh"
rootfs=/usr/lib/lab/rootfs:O
perf=(-v /usr/bin/rdma-perf:/usr/bin/rdma-perf:ro)
softroce=(--annotation rdma.mode=softroce)

modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1
podman run --rm --rootfs $rootfs true
world >"$work/before"
equal "the mode is exclusive" "netns exclusive" "$(rdma system show | grep -o 'netns exclusive')"

start() { podman run -d --name "$1" "${softroce[@]}" --annotation "rdma.ip=$2/24" "${perf[@]}" --rootfs $rootfs sleep 100000; }
listening() { podman exec "$1" ss -Hltn "sport = :$2" | grep -q .; }

if [[ $LAB_KERNEL != 7.3 ]]; then
    refused "a kernel that cannot move rxe says so" 'rxe: needs 7[.]3.*ib_core[.]netns_mode=1' start a 10.9.0.1
    podman rm -f a >/dev/null 2>&1
    same_world "the refused one leaves nothing" "$work/before"
    clean_kernel_log
    finish
    exit
fi
check "a starts, and the missing rdma_cm is said" bash -c "$(declare -f start); $(declare -p softroce perf rootfs); start a 10.9.0.1 2>&1 | grep 'no rdma_cm'"
check "b starts" start b 10.9.0.2
equal "each sees one device" "1 1" "$(podman exec a ibv_devices | grep -c rxe) $(podman exec b ibv_devices | grep -c rxe)"
equal "the host sees none" "" "$(rdma link show)"
check "attach.json says that there is no rdma_cm" podman exec a grep -q '"rdma_cm":false' /run/rdma/attach.json
podman exec a timeout 100 rdma-perf serve --bind 0.0.0.0 --once >"$work/server" 2>&1 &
wait_for 30 listening a 18600
check "rdma-perf passes, verified" podman exec b timeout 100 rdma-perf run 10.9.0.1 --time 0.3s --size 4096
kill %% 2>/dev/null
wait
podman exec a timeout 60 ib_send_bw -n 200 >"$work/server" 2>&1 &
wait_for 30 listening a 18515
check "ib_send_bw passes unchanged" podman exec b timeout 60 ib_send_bw -n 200 10.9.0.1
wait
refused "the host's device is no way out here" 'exclusive' podman run --rm "${softroce[@]}" --annotation rdma.placement=host --rootfs $rootfs true
podman stop -t 0 a >/dev/null 2>&1
podman rm -f -t 0 b >/dev/null 2>&1
podman rm a >/dev/null 2>&1
same_world "nothing is left" "$work/before"
clean_kernel_log
finish
