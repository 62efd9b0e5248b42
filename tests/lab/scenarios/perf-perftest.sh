#!/bin/bash
# `rdma-perf compare perftest` with the real one, over rxe: one cell, the refusals, and what is left behind. Kernel 7.2 or
# later. --full: one cell more, and with the defaults of each. bench-duel.sh is the long form.
#   tests/lab/run --no-install --kernel 7.3 --share BUILD/perf tests/lab/scenarios/perf-perftest.sh
source "${BASH_SOURCE[0]%/*}/perf-lib.sh"

# $! is the client itself, after `peer_duel ... &`.
peer_duel() { exec ip netns exec perf-b "$perf" compare perftest "${address[a]}" --timeout 30s "$@"; }
duel() (peer_duel --json "$work/report.json" "$@")
holds() { # WHAT JQ-FILTER: about the document of the last comparison
    jq -e "$2" "$work/report.json" >"$work/ignored"
    report $? "$1" "$work/report.json"
}
runs() { pgrep -x "$1" >/dev/null; }
none_left() { ! pgrep '^ib_' >/dev/null; }

modprobe -a rdma_rxe ib_uverbs macvlan || exit 1
make_side a
make_side b

# ---- a server that was not told to --------------------------------------------------------------------
start_server
report $? "server listens"
expect 8 "refused" duel --verb write --mode lat --size 64
grep -q -- '--allow-perftest' "$work/out"
report $? "says how to allow it" "$work/out"
stop_server

# ---- one that was -------------------------------------------------------------------------------------
start_server --allow-perftest
expect 0 "latency of write" duel --verb write --mode lat --size 64 --iterations 200 --pairs 6
sed 's/^/# /' "$work/out"
holds "six pairs, an interval and both versions" '(.errors | length) == 0 and (.results | length) == 1 and .results[0].data_ok
    and ([.results[0].pairs[] | .rdma_perf > 0 and .perftest > 0] | length == 6 and all)
    and (.results[0].ci95 | length) == 2 and (.results[0].settings.immediate)
    and ([.env.client, .env.server] | all(.perftest | test("^[0-9.]+$")))'
if [[ ${1:-} == --full ]]; then
    expect 0 "bandwidth of send" duel --verb send --mode bw --size 64K --pairs 6
    sed 's/^/# /' "$work/out"
    holds "bytes per second of both" 'all(.results[0].pairs[]; .rdma_perf > 1e5 and .perftest > 1e5)'
    expect 0 "each with its defaults" duel --verb read --mode lat --size 4K --iterations 100 --pairs 6 --defaults
    holds "without settings" '.results[0].settings == null'
fi
none_left
report $? "no program of perftest is left"

# ---- ends in the middle -------------------------------------------------------------------------------
peer_duel --verb read --mode bw --size 4K --time 10s >"$work/out" 2>&1 &
client=$!
wait_for 120 runs ib_read_bw
report $? "a client that will be killed" "$work/out"
kill -KILL $client
wait_for 30 none_left
report $? "both programs end with it"
wait $client 2>/dev/null

peer_duel --verb read --mode bw --size 4K --time 10s >"$work/out" 2>&1 &
client=$!
wait_for 120 runs ib_read_bw
stop_server
report $? "a server that is stopped ends cleanly" "$work/server"
wait $client
report "$(($? != 5))" "its client notices" "$work/out"
none_left
report $? "no program is left"

# ---- without perftest ---------------------------------------------------------------------------------
start_server --allow-perftest
mv /usr/bin/ib_write_lat /usr/bin/ib_write_lat.away
expect 6 "perftest is missing" duel --verb write --mode lat --size 64
mv /usr/bin/ib_write_lat.away /usr/bin/ib_write_lat
grep -q 'install the package perftest' "$work/out"
report $? "names the package" "$work/out"
stop_server
clean_kernel_log
finish
