#!/bin/bash
# What it costs to attach one more container with 1, 16 and 64 attached: tests/bench/crowd in the lab, without an engine.
#   tests/lab/run --kernel 7.3 --hca --timeout 1800 tests/lab/scenarios/bench-crowd.sh [OPTION...]
# OPTIONs are those of tests/bench/crowd. For reading, and for its goal; not one of the timed tests.
source "${BASH_SOURCE[0]%/*}/lib.sh"
bench=$(realpath "${BASH_SOURCE[0]%/*}/../../bench/crowd")

modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan || exit 1
rdma link add hca0 type rxe netdev lab0
# The 200 ms in which neighbours may object to an address would hide all the rest.
mkdir -p /etc/rdma-hook
echo '{"pools": {"quick": {"mode": "shared", "default": true, "probe": false}}}' >/etc/rdma-hook/config.json
world >"$work/before"
"$bench" --parent lab0 "$@" | tee "$work/table"
goal=${PIPESTATUS[0]}
check "all runs went through" grep -q '^with 64 to with 1:' "$work/table"
report "$goal" "the goal is met" "$work/table"
same_world "nothing is left" "$work/before"
clean_kernel_log
finish
