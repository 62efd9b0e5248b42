#!/bin/bash
# rdma-perf against perftest on the same two rxe devices: `rdma-perf compare perftest`, held to its goals. For reading;
# not one of the timed tests.
#   tests/lab/run --kernel 7.3 --timeout 3600 tests/lab/scenarios/bench-duel.sh [--full] [OPTION of compare perftest...]
# Without --full: two cells, up to 12 pairs. With it: all, up to 60 pairs, and defaults against defaults.
# The goals: bandwidth's interval not below 0.95 and not wholly below 1.00, latency's not above 1.05 and not wholly above
# 1.00; of defaults the ratio itself, 1.3 at 64 bytes and 1.0 at 64 KiB.
source "${BASH_SOURCE[0]%/*}/perf-lib.sh"
full=0
if [[ ${1:-} == --full ]]; then full=1; shift; fi
options=("$@")
goals='def is_met:
    if .settings == null then .ratio >= (if .size_bytes <= 64 then 1.3 else 1 end)
    elif .mode == "bw" then .ci95[0] >= 0.95 and .ci95[1] >= 1
    else .ci95[1] <= 1.05 and .ci95[0] <= 1 end;
    (.errors | length) == 0 and (.results | length) > 0 and ([.results[] | select(is_met | not) | "\(.verb) \(.mode) \(.size_bytes)"] == [])'

duel() { # WHAT OPTION...
    local what=$1
    shift
    in_b "$perf" compare perftest "${address[a]}" --timeout 30s --json "$work/report.json" "$@" "${options[@]}"
    report $? "$what"
    jq -e "$goals" "$work/report.json" >"$work/ignored"
    report $? "every goal is met ($what)" "$work/report.json"
}

modprobe -a rdma_rxe ib_uverbs macvlan || exit 1
make_side a && make_side b || exit 1
start_server --allow-perftest || exit 1
if ((full)); then
    duel "equal settings" --pairs 6..60
    duel "defaults" --defaults --pairs 6..60 --verb write --mode bw --size 64,64K
else
    duel "bandwidth" --verb write --mode bw --size 4K
    duel "latency" --verb send --mode lat --size 64
fi
stop_server
report $? "the server ends cleanly" "$work/server"
finish
