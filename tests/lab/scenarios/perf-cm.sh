#!/bin/bash
# rdma-perf over rdma_cm: rxe, and Soft-iWARP, which has no other way. Two network namespaces with an rxe device and an
# siw device each. Kernel 7.2 or later.
#   tests/lab/run --no-install --kernel 7.3 --share BUILD/perf tests/lab/scenarios/perf-cm.sh [--full|--brief]
# --brief: each verb once over each kind of device.
# --full: 200 connections over siw on a busy machine (tests/upstream/siw-first-message says what could be lost there).
source "${BASH_SOURCE[0]%/*}/perf-lib.sh"

siw_b() { in_b "$perf" run 10.9.1.1 --timeout 30s "$@"; }
holds() { # WHAT JQ-FILTER: about the report of the last run
    jq -e "(.errors | length) == 0 and all(.results[]; .verify.data_ok) and ($2)" "$work/report.json" >"$work/ignored"
    report $? "$1" "$work/report.json"
}

modprobe -a rdma_rxe siw rdma_ucm ib_uverbs macvlan || exit 1
make_side a
make_side b
for side in a b; do
    add_interface $side
    ip netns exec perf-$side rdma link add siw$side type siw netdev rdma1
done
report $? "rxe and siw in each namespace"
ip netns exec perf-a "$perf" serve --bind 0.0.0.0 --timeout 30s >"$work/server" 2>&1 &
server=$!
wait_for 10 grep -q listening "$work/server"
report $? "server listens"

# ---- rxe ----------------------------------------------------------------------------------------------
expect 0 "every verb" run_b --cm --verb write,read,send,write_imm,send_imm,fetch_add,cmp_swap --time 40ms \
    --mode "$(whole_or_brief bw,lat bw)" --size "$(whole_or_brief 64,64K 5000)" --json "$work/report.json"
sed 's/^/# /' "$work/out"
holds "connected by rdma_cm" 'all(.results[]; .point.connect == "cm")'
expect 0 "several queue pairs, both directions" run_b --cm --mode bw --qps "$(whole_or_brief 1,8 8)" --threads 2 --direction both --time 40ms \
    --size 4K --json "$work/report.json"
holds "all of it right" "(.results | length) == $(whole_or_brief 6 3)"
expect 2 "UD by rdma_cm: exit 2" run_b --cm --transport ud --verb send

# ---- siw ----------------------------------------------------------------------------------------------
expect 0 "siw: bandwidth" siw_b --cm --mode bw --time 60ms --size "$(whole_or_brief 64,4K,64K 4K)" --json "$work/report.json"
sed 's/^/# /' "$work/out"
holds "over the iWARP device" '.env.client.device.device == "siwb" and .env.server.device.device == "siwa" and
    .env.client.device.iwarp'
expect 0 "siw: latency" siw_b --cm --mode lat --verb send,read --time 60ms --size "$(whole_or_brief 64,4K,64K 64)" --json "$work/report.json"
sed 's/^/# /' "$work/out"
holds "all of it right (latency)" "(.results | length) == $(whole_or_brief 6 2)"
expect 0 "siw: several queue pairs, both directions" siw_b --cm --verb "$(whole_or_brief write,read,send write,send)" --mode bw --qps 4 --threads 2 --direction both \
    --time 60ms --size 4K --json "$work/report.json"
holds "all of it right (both directions)" 'all(.results[]; (.bandwidth.parts | length) == 2)'
# iWARP has no RNR: what a receiver that is held up cannot take must not have been sent. The measurement by so many
# messages goes on after the stop.
messages=$(whole_or_brief 20000 12000)
siw_b --cm --verb send --mode bw --qps 4 --iterations "$messages" --size 4K --json "$work/report.json" \
    >"$work/out" 2>&1 &
client=$!
tx() { in_b cat /sys/class/net/rdma1/statistics/tx_bytes; }
last=$(tx)
grown() { (($(tx) > last + 1000 * messages)); }
still() {
    local now
    now=$(tx)
    [[ $now == "$last" ]] || { last=$now && false; }
}
wait_for 30 grown && kill -STOP "$server" && wait_for 30 still
report $? "siw: a sender stops when its receiver does" "$work/out"
kill -CONT "$server"
wait "$client"
report $? "and goes on with it" "$work/out"
holds "none was lost" '.results[0].bandwidth.messages == '"$messages"
expect 6 "siw: atomics: exit 6" siw_b --cm --verb fetch_add --mode bw
grep -q 'no immediate data' "$work/out"
report $? "and the line says why" "$work/out"


if [[ ${1:-} == --full ]]; then
    spinning=()
    for _ in 1 2 3; do
        while :; do :; done &
        spinning+=($!)
    done
    lost=0 start=$SECONDS
    for each in {1..200}; do
        siw_b --cm --verb send --mode lat --iterations 1 --size 64 >"$work/out" 2>&1 && continue
        lost=$((lost + 1))
        echo "# connection $each, at $(date +%T): $(<"$work/out")"
    done
    kill "${spinning[@]}" && wait "${spinning[@]}" 2>/dev/null
    echo "# siw: first messages lost on a busy machine: $lost of 200, in $((SECONDS - start)) s"
    equal "siw: no first message is lost on a busy machine" 0 "$lost"
fi

stop_server
report $? "the server ends cleanly" "$work/server"
clean_kernel_log
finish
