#!/bin/bash
# rdma-perf with several of everything: queue pairs, threads, directions, devices, clients; open loop, every way to
# wait, and the key-value table. Two network namespaces with two rxe devices each. Kernel 7.2 or later.
#   tests/lab/run --no-install --kernel 7.3 --share BUILD/perf tests/lab/scenarios/perf-many.sh [--brief]
# --brief: each of these with fewer verbs and sizes.
source "${BASH_SOURCE[0]%/*}/perf-lib.sh"

holds() { # WHAT JQ-FILTER: about the report of the last run
    jq -e "$2" "$work/report.json" >"$work/ignored"
    report $? "$1" "$work/report.json"
}
run_json() { run_b --json "$work/report.json" "$@"; }
all_right='(.errors | length) == 0 and all(.results[]; .verify.data_ok)'

modprobe -a rdma_rxe ib_uverbs macvlan || exit 1
make_side a
make_side b
for side in a b; do
    add_interface $side
    ip netns exec perf-$side rdma link add rxe${side}1 type rxe netdev rdma1
done
wait_for 10 grep -q 0a09:0102 /sys/class/infiniband/rxeb1/ports/1/gids/1 &&
    wait_for 10 grep -q 0a09:0101 /sys/class/infiniband/rxea1/ports/1/gids/1
report $? "two devices in each namespace"
ip netns exec perf-a "$perf" serve --bind 0.0.0.0 --timeout 30s >"$work/server" 2>&1 &
server=$!
wait_for 10 grep -q listening "$work/server"
report $? "server listens on both"

# ---- queue pairs, threads, directions -----------------------------------------------------------------
read -ra directions <<<"$(whole_or_brief "forward reverse both" both)"
for direction in "${directions[@]}"; do
    expect 0 "1 and 4 queue pairs, two threads, $direction" run_json --verb "$(whole_or_brief write,read,send write,send)" --mode bw --time 200ms \
        --size "$(whole_or_brief 64,64K 4K)" --qps 1,4 --threads 2 --direction "$direction"
    sed 's/^/# /' "$work/out"
    holds "all of it right ($direction)" "$all_right and (.results | length) == $(whole_or_brief 12 4)
        and all(.results[]; .bandwidth.messages > 0)
        and all(.results[]; [.bandwidth.parts[].messages > 0] == ($([[ $direction == both ]] && echo '[true, true]' || echo '[]')))"
done
expect 0 "64 queue pairs" run_json --mode bw --verb "$(whole_or_brief write,send send)" --size 4K --qps 64 --iterations 3000
holds "all of it right (64 queue pairs)" "$all_right and all(.results[]; .bandwidth.messages == 3000)"
expect 0 "by iterations, both directions" run_json --mode bw --verb "$(whole_or_brief write,read,send read)" --size 4K --qps 3 --iterations 999 --direction both
holds "both directions count theirs" "$all_right and all(.results[]; .bandwidth.messages == 1998)"
expect 0 "immediates and atomics backwards" run_json --mode bw --verb "$(whole_or_brief write_imm,send_imm,fetch_add,cmp_swap write_imm,fetch_add)" --size 64 \
    --qps 2 --direction reverse --iterations 200
expect 0 "UD and UC in both directions" run_json --mode bw --transport ud --verb send --size 1000 --qps 2 \
    --direction both --iterations 200
expect 0 "every byte for as long as the measurement" run_json --mode bw --verb "$(whole_or_brief write,read,send write)" --size 4K --verify full --depth 16 --time 300ms
holds "more than the rings at the edges were checked" "$all_right and all(.results[]; .verify.messages > 4 * .point.slots)"

# ---- ways to wait, open loop --------------------------------------------------------------------------
expect 0 "hybrid and event" run_json --verb "$(whole_or_brief write,read,send send)" --mode "$(whole_or_brief bw,lat lat)" --time 200ms --size 64 \
    --poll hybrid,hybrid:200us,event --qps 2
holds "three ways to wait" "$all_right and ([.results[].point.poll] | unique) == [\"event\", \"hybrid:200us\", \"hybrid:20us\"]"
expect 0 "open loop" run_json --verb "$(whole_or_brief write,read,send send)" --mode lat --size 64 --rate 200 --time 500ms
holds "its samples are what the rate says" "$all_right and all(.results[]; .latency.loop == \"open\" and .latency.samples == 100)"

# ---- a load beside latency ----------------------------------------------------------------------------
expect 0 "latency beside a load, in intervals" run_json --mode lat --verb "$(whole_or_brief send,read send)" --size 64 \
    --time 600ms --interval 0.2 --with write:64K
holds "both have numbers" "$all_right and all(.results[]; .latency.samples > 0 and .load.messages > 0 and (.intervals | length) > 0)"

# ---- devices and clients ------------------------------------------------------------------------------
expect 0 "two devices in one window" run_json 10.9.1.1 --verb "$(whole_or_brief write,read,send write)" --mode bw --size 4K --time 300ms
holds "each client has its device" "$all_right and .env.client.device.device == \"rxeb\"
    and .env.more_pairs[0].client_device.device == \"rxeb1\" and all(.results[]; (.bandwidth.parts | length) == 2)"
expect 0 "three clients of one device" run_json 10.9.0.1 10.9.0.1 --mode "$(whole_or_brief bw,lat bw)" --verb send --size 64 --time 200ms --qps 2
holds "three clients" "$all_right and all(.results[]; .point.clients == 3)"

# ---- key-value table ----------------------------------------------------------------------------------
expect 0 "kv" in_b "$perf" kv 10.9.0.1 --timeout 30s --json "$work/report.json" --time 100ms --reps 6 --value 256
sed 's/^/# /' "$work/out"
holds "both ways, with intervals and a ratio" '(.errors | length) == 0 and all(.results[]; .data_ok and .gets > 0)
    and [.results[].method] == [range(3) | "send", "read", "read", "send"]
    and all(.summary.send, .summary.read; .gets_per_s.n == 6 and (.gets_per_s.ci95 | length) == 2)
    and .summary.read.reads_per_get.median >= 1 and (.summary.read_over_send.ci95 | length) == 2'
expect 2 "kv refuses a table that is too large" in_b "$perf" kv 10.9.0.1 --keys 1000000 --value 4K

stop_server
report $? "the server ends cleanly" "$work/server"
clean_kernel_log
finish
