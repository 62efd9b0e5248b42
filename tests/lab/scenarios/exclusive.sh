#!/bin/bash
# RDMA netns mode exclusive: on 7.3 a container's rxe is moved into its namespace, verbs pass and the
# missing rdma_cm is said; before, the request is refused.
#   tests/lab/run --kernel 7.3 --exclusive tests/lab/scenarios/exclusive.sh
source "${BASH_SOURCE[0]%/*}/bundles-lib.sh"

modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1
world >"$work/before"
equal "the mode is exclusive" "netns exclusive" "$(rdma system show | grep -o 'netns exclusive')"

refused "rdmactl doctor knows what is refused here" 'no kernel moves a siw' rdmactl doctor softiwarp

said_by_start() { start "$@" 2>&1 | grep 'no rdma_cm' && init_of "$1"; }
start() { attach "$1" mode=softroce "ip=$2/24"; }

if [[ $(printf '%s\n' 7.3 "$LAB_KERNEL" | sort -V | head -n 1) != 7.3 ]]; then
    refused "rdmactl doctor knows that rxe cannot be moved" 'before Linux 7[.]3' rdmactl doctor softroce
    refused "a kernel that cannot move rxe says so" 'boot with ib_core[.]netns_mode=1: .*rxe: needs 7[.]3' start a 10.9.0.1
    drop a
    same_world "the refused one leaves nothing" "$work/before"
    clean_kernel_log
    finish
    exit
fi
check "a starts, and says that rdma_cm is missing" said_by_start a 10.9.0.1
check "b starts" start b 10.9.0.2
equal "each sees one device" "1 1" "$(inside a ibv_devices | grep -c rxe) $(inside b ibv_devices | grep -c rxe)"
equal "the host sees none" "" "$(rdma link show)"
check "attach.json says that there is no rdma_cm" inside a grep -q '"rdma_cm":false' /run/rdma/attach.json
serve a 18600 rdma-perf serve --bind 0.0.0.0 --once
check "rdma-perf passes, verified" inside b timeout 100 rdma-perf run 10.9.0.1 --verb write,send --mode bw --time 0.2s --size 4096
end_server a
serve a 18515 ib_send_bw -n 200
check "ib_send_bw passes unchanged" inside b timeout 60 ib_send_bw -n 200 10.9.0.1
served_once a
refused "the host's device is no way out here" 'exclusive' attach c mode=softroce placement=host
end_by kill a
drop b
same_world "nothing is left" "$work/before"
clean_kernel_log
finish
