#!/bin/bash
# rdma-perf between two network namespaces with an rxe device each: traffic, GID choice, failure of
# either side, and the smoke test without a peer. Needs a kernel whose rxe works in a namespace (7.2 and
# later).
#   tests/lab/run --no-install --kernel 7.3 --share BUILD/perf tests/lab/scenarios/perf-netns.sh [--full|--brief]
# --brief: each verb and transport, each end and each status once; unit tests have their combinations. --full: the server dies in every verb and mode, not in three; and the poll modes are compared: numbers for reading, not for judging.
source "${BASH_SOURCE[0]%/*}/perf-lib.sh"
modes=$(whole_or_brief bw,lat bw)

modprobe -a rdma_rxe ib_uverbs macvlan || exit 1
make_side a && make_side b
report $? "both devices have their GIDs"

# ---- without a peer -----------------------------------------------------------------------------------
expect 0 "loop verifies and measures every verb" in_b "$perf" loop --timeout 30s --time 60ms --size "$(whole_or_brief 64,4K 5000)" --mode "$modes"
if ((!brief)); then
    expect 0 "loop in event mode" in_b "$perf" loop --timeout 30s --time 60ms --size 64,4K --poll event
    expect 0 "loop in spin mode" in_b "$perf" loop --timeout 30s --iterations 200 --size 1,5000 --poll spin
    expect 2 "a word that is not known: exit 2" in_b "$perf" loop --timeout 30s --verb wirte
fi
expect 6 "a device that is not there: exit 6" in_b "$perf" loop --timeout 30s --device nosuch0
expect 5 "nobody listens: exit 5" run_b --time 40ms

# ---- between two namespaces ---------------------------------------------------------------------------
start_server
report $? "server listens" "$work/server"
if ((!brief)); then
    expect 0 "run, as a person types it" run_b
    sed 's/^/# /' "$work/out"
fi
expect 0 "run with JSON" run_b --time 40ms --size "$(whole_or_brief 1,777,64K 777)" --json "$work/report.json"
jq -e '.schema == "rdma-perf/1" and (.results | length) == '"$(whole_or_brief 18 6)"' and all(.results[]; .verify.data_ok)
       and .env.client.device.device == "rxeb" and .env.server.device.gid_index == 1' \
    "$work/report.json" >/dev/null
report $? "the report says that all data was right" "$work/report.json"
expect 0 "sizes up to 8 MiB, every byte" run_b --verb "$(whole_or_brief write,read,send write)" --mode bw --size "$(whole_or_brief 1M,8M 8M)" --iterations 4
expect 0 "event mode between namespaces" run_b --time 60ms --poll event --size "$(whole_or_brief 64,64K 64)" --verb "$(whole_or_brief write,read,send send)"
expect 0 "explicit device, GID and MTU" run_b --device rxeb --gid 1 --mtu 1024 --mode "$modes" \
    --verb "$(whole_or_brief write,read,send write)" --iterations 100 --size 3000
sizes=$(whole_or_brief 64,5000 5000)
expect 0 "immediates and atomics" run_b --verb write_imm,send_imm,fetch_add,cmp_swap --mode "$modes" --size "$sizes" --iterations 200
expect 0 "UC" run_b --transport uc --verb write,send,write_imm,send_imm --mode "$modes" --size "$sizes" --iterations 200
expect 0 "UD" run_b --transport ud --verb send,send_imm --mode "$modes" --size "$(whole_or_brief 64,1000 1000)" --iterations 200
sed 's/^/# /' "$work/out"
if ((!brief)); then
    expect 2 "READ over UD: exit 2" run_b --transport ud --verb read
    expect 0 "three repetitions, CSV and JSON lines" run_b --reps 3 --verb write --size 64 --iterations 100 \
        --csv "$work/report.csv" --jsonl "$work/report.jsonl" --json "$work/a.json"
    report "$(($(grep -c , "$work/report.csv") != 7))" "CSV has a head and six lines" "$work/report.csv"
    expect 0 "a report is equal to itself" "$perf" compare "$work/a.json" "$work/a.json"
    expect 0 "iterations, depth 1" run_b --mode bw --depth 1 --iterations 50 --size 5000
fi

# ---- the choice of the GID ----------------------------------------------------------------------------
run_b --explain-gid --iterations 10 --size 64 --verb write --mode bw \
    >"$work/out" 2>&1
grep -q '^\* rxeb .*source address' "$work/out"
report $? "explain-gid marks the source address" "$work/out"
grep -q 'rxea .*foreign' "$work/out"
report $? "explain-gid names the other namespace's GID as foreign" "$work/out"
attach_files() {
    cat >"$work/attach.json" <<'JSON'
{"format":1,"attached":true,"id":"x","attachments":[{"index":0,"mode":"softroce","device":"rxeb",
"netdev":"rdma0","gid":"0000:0000:0000:0000:0000:ffff:0a09:0002","gid_index":7,"rdma_cm":true}]}
JSON
    run_b --explain-gid --attach-file "$work/attach.json" --iterations 10 --size 64 \
        --verb write --mode bw >"$work/out" 2>&1
    grep -q '^\* rxeb .*named by rdma-hook' "$work/out"
    report $? "attach.json is believed by value, not by index" "$work/out"
    sed -i 's/0a09:0002/0a09:0063/' "$work/attach.json"
    run_b --explain-gid --attach-file "$work/attach.json" --iterations 10 --size 64 \
        --verb write --mode bw >"$work/out" 2>&1
    report $? "a stale attach.json does no harm" "$work/out"
    grep -q 'stale' "$work/out"
    report $? "and is named" "$work/out"
}
((brief)) || attach_files
expect 6 "memory lock limit: exit 6" in_b bash -c "ulimit -l 64; exec setpriv --bounding-set=-ipc_lock \
    --inh-caps=-ipc_lock '$perf' run 10.9.0.1 --timeout 30s --size 1M --time 40ms"
grep -q 'RLIMIT_MEMLOCK, which is 65536 bytes' "$work/out"
report $? "and the line names the limit" "$work/out"

# ---- what must not work -------------------------------------------------------------------------------
if ((!brief)); then
    expect 8 "isolate against a server that did not agree: exit 8" in_b "$perf" isolate 10.9.0.1 --timeout 30s
    grep -q 'serve --allow-isolation-tests' "$work/out"
    report $? "and the line says how it agrees" "$work/out"
fi
ip netns exec perf-a "$perf" serve --bind 10.9.0.1 --port 18601 --timeout 30s --allow-isolation-tests \
    >"$work/agreed" 2>&1 &
agreed=$!
wait_for 10 grep -q listening "$work/agreed"
isolate=("$perf" isolate 10.9.0.1 --port 18601 --timeout 30s --json "$work/isolate.json")
verdicts() { jq -r '[.checks[] | select(.verdict == "'"$1"'").id] | join(" ")' "$work/isolate.json"; }
# Both devices' nodes are in this /dev and nothing keeps a shared device's users apart: rxe as it is.
expect 7 "isolate with every node in reach: exit 7" in_b "${isolate[@]}"
sed 's/^/# /' "$work/out"
[[ $(verdicts fail) == "foreign_devices foreign_source" ]]
report $? "only the other side's device and GID worked: $(verdicts fail)" "$work/out"
as_container() { # COMMAND...: with the node of rxeb only, and no capability
    local node major minor
    node=$(grep -lx rxeb /sys/class/infiniband_verbs/uverbs*/ibdev)
    IFS=: read -r major minor <"${node%/ibdev}/dev"
    node=${node%/ibdev}
    # shellcheck disable=SC2016 # for the inner shell
    in_b unshare --mount bash -c 'mount -t tmpfs none /dev/infiniband &&
        mknod -m 666 "/dev/infiniband/$0" c "$1" "$2" && shift 2 &&
        exec setpriv --bounding-set=-all --inh-caps=-all "$@"' "${node##*/}" "$major" "$minor" "$@"
}
expect 0 "isolate as in a container: exit 0" as_container "${isolate[@]}"
sed 's/^/# /' "$work/out"
[[ $(verdicts finding) == key_guessing && $(verdicts not-applicable) == foreign_source ]]
report $? "everything else is tested: not applicable $(verdicts not-applicable)" "$work/out"
kill "$agreed"
wait "$agreed" 2>/dev/null

# ---- many clients, and the death of either side -------------------------------------------------------
four_clients() {
    local pids=() bad=0 i pid
    for i in 1 2 3 4; do
        peer_run --time 60ms --size 4K >"$work/client$i" 2>&1 &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || bad=1; done
    report $bad "four clients at once" "$work/client1"
}
((brief)) || four_clients # perf-trouble.sh has eight

points=("send lat")
((brief)) || points+=("write bw" "read bw")
[[ ${1:-} != --full ]] || points+=("write lat" "read lat" "send bw")
for point in "${points[@]}"; do
    begin_watch
    peer_run --verify off --verb "${point% *}" --mode "${point#* }" --size 4K --time 60s >"$work/out" 2>&1 &
    client=$!
    wait_for 30 busy
    begin=$(now_ms)
    kill -KILL "$server"
    wait $client
    status=$?
    took=$(($(now_ms) - begin))
    wait "$server" 2>"$work/ignored"
    [[ $status == 5 && $took -lt 2000 ]] && grep -q "measuring $point" "$work/out"
    report $? "server killed in $point: exit $status after $took ms" "$work/out"
    start_server
done
begin_watch
peer_run --verify off --verb send --mode bw --size 4K --time 60s >"$work/out" 2>&1 &
client=$!
wait_for 30 busy
kill -KILL $client
wait $client 2>/dev/null
wait_for 5 grep -q "serving send bw" "$work/server"
report $? "client killed: the server notices and says where" "$work/server"
expect 0 "and serves the next one" run_b --time 40ms --size 64
peer_run --time 60s --verb read --size 64 >"$work/out" 2>&1 &
client=$!
wait_for 10 grep -q "size" "$work/out"
kill -INT $client
wait $client
report "$(($? != 130))" "interrupted: exit 130" "$work/out"
peer_run --verb write --mode bw --size 4K --time forever --interval 0.5 --json "$work/report.json" >"$work/out" 2>&1 &
client=$!
wait_for 30 grep -q "write bw 4096 B  .*Mpps" "$work/out"
kill -INT $client
wait $client
[[ $? == 130 ]] && jq -e '(.errors | length) == 1 and (.results | length) == 1 and (.results[0] |
    (.complete | not) and .verify.data_ok and .bandwidth.messages > 0 and (.intervals | length) > 0)' "$work/report.json" >"$work/ignored"
report $? "a point without an end is interrupted, and has a result" "$work/out"
stop_server
report $? "the server ends cleanly on SIGTERM" "$work/server"

if [[ ${1:-} == --full ]]; then
    start_server
    for poll in spin yield event; do
        echo "# poll mode $poll"
        run_b --time 1s --size 64,4K,64K --poll $poll | sed 's/^/# /'
    done
    stop_server
fi

clean_kernel_log
finish
