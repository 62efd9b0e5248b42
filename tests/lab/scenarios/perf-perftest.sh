#!/bin/bash
# The real perftest: each of its options is in the page for its users, and tests/bench/duel over rxe: one point, and what is left behind.
# Kernel 7.2 or later. --full: one point more, and with the defaults of each. bench-duel.sh is the long form.
#   tests/lab/run --no-install --kernel 7.3 --share BUILD/perf tests/lab/scenarios/perf-perftest.sh
source "${BASH_SOURCE[0]%/*}/perf-lib.sh"

one() { duel "${address[a]}" --json "$work/report.json" "$@"; }
holds() { # WHAT JQ-FILTER: about the document of the last comparison
    jq -e "$2" "$work/report.json" >"$work/ignored"
    report $? "$1" "$work/report.json"
}
none_left() { ! pgrep '^(ib_|rdma-perf)' >/dev/null; }

modprobe -a rdma_rxe ib_uverbs macvlan || exit 1
make_side a
make_side b

expect 0 "from-perftest.md has each of its options" "$(realpath "${BASH_SOURCE[0]%/*}/../../bench/flags")"

expect 0 "latency of write" one --verb write --mode lat --size 64 --iterations 200 --pairs 6
sed 's/^/# /' "$work/out"
holds "six pairs, an interval and equal settings" '(.results | length) == 1 and .results[0].data_ok
    and ([.results[0].pairs[] | .rdma_perf > 0 and .perftest > 0] | length == 6 and all)
    and (.results[0].ci95 | length) == 2 and (.results[0].settings | index("--write_with_imm"))'
if [[ ${1:-} == --full ]]; then
    expect 0 "bandwidth of send" one --verb send --mode bw --size 64K --pairs 6
    sed 's/^/# /' "$work/out"
    holds "bytes per second of both" 'all(.results[0].pairs[]; .rdma_perf > 1e5 and .perftest > 1e5)'
    expect 0 "each with its defaults" one --verb read --mode lat --size 4K --iterations 100 --pairs 6 --defaults
    holds "without settings" '.results[0].settings == null'
fi
none_left
report $? "no program is left"
clean_kernel_log
finish
