#!/bin/bash
# rdma-perf in trouble: more clients than a server takes, lost packets, links that go down, a control connection that
# falls silent, devices and namespaces that vanish. It gets through with right data, or it ends by itself, soon, with
# the exit code of its README and a line that says what it was doing and what failed.
#   tests/lab/run --no-install --kernel 7.3 --share BUILD/perf tests/lab/scenarios/perf-trouble.sh [--full|--brief]
# --brief: each trouble once. --full: every verb, mode and way to wait, for every trouble. Kernel 7.3 or later: before, the deletion of an rxe waits
# for those who use it.
source "${BASH_SOURCE[0]%/*}/perf-lib.sh"
full=0
[[ ${1:-} != --full ]] || full=1

# How soon: 2 s after whatever is the first to notice, in ms.
# - The kernel tells of a device that is gone at once; RC gives up after 7 tries, and an emulated processor on a busy machine
#   makes up to 4 s of them.
# - Where a side only waits for a message, TCP notices for it: TCP_USER_TIMEOUT is 5 s.
# The 30 s of --timeout are not for this.
by_rdma=$((4000 + 2000))
by_tcp=$((5000 + 2000))

# load VERB MODE [OPTION...]: a measurement that only trouble ends, in the background, once its packets flow.
load() {
    point="$1 $2"
    begin_watch
    in_b timeout -s KILL 50 "$perf" run "${address[a]}" --timeout 30s --verify off --time 60s --size 4K --verb "$1" \
        --mode "$2" "${@:3}" >"$work/out" 2>&1 &
    client=$!
    wait_for 30 busy
}

# ends MS WHAT STATUS TEXT [STATUS TEXT...]: the load ends within MS, with one of these pairs; TEXT is a regular
# expression for the error behind the step that the client was in.
ends() {
    local limit=$1 what=$2 begin status line took right=1
    shift 2
    begin=$(now_ms)
    wait "$client"
    status=$?
    took=$(($(now_ms) - begin))
    line=$(grep '^rdma-perf: ' "$work/out" | tail -n 1)
    while (($#)); do
        [[ $status != "$1" || ! $line =~ ^"rdma-perf: measuring $point ".*": ".*($2) ]] || right=0
        shift 2
    done
    ((took <= limit)) || right=1
    report $right "$point, $what: exit $status after $took ms" "$work/out"
}

# still_right WHAT [OPTION...]: a new run gets through, and every byte is right.
still_right() {
    expect 0 "$1" run_b --verb write,send --mode bw --size 4K --iterations 200 --json "$work/report.json" "${@:2}"
    judge "and all its data" 'all(.results[]; .verify.data_ok)'
}
judge() { # WHAT FILTER: of the last report
    jq -e "(.results | length > 0) and ($2)" "$work/report.json" >"$work/out" 2>&1
    report $? "$1" "$work/report.json"
}

# The server says of each client when it came and why it went.
let_go() { (($(grep -c ': connected' "$work/server") == $(grep -cE '^rdma-perf: client [^ ]+: (done|serving)' "$work/server"))); }
server_lets_go() {
    wait_for 10 let_go
    report $? "the server has let go of all of them" "$work/server"
}

# points LIST...: "VERB MODE" of a short run; with --full every verb and mode, in each way to wait.
points() {
    if ((!full)); then
        printf '%s\n' "$@"
        return
    fi
    local verb mode poll
    for verb in write read send; do
        for mode in bw lat; do
            for poll in yield event spin; do echo "$verb $mode --poll $poll"; done
        done
    done
}

many_clients() {
    local i pids=() bad=0 verbs
    verbs=$(whole_or_brief write,read,send send)
    for i in {1..8}; do
        peer_run --verb "$verbs" --mode bw --size 1K --iterations 50 --json "$work/client$i.json" >"$work/client$i" 2>&1 &
        pids+=($!)
    done
    for i in {1..8}; do
        wait "${pids[i - 1]}" && jq -e "(.results | length == $(whole_or_brief 3 1)) and all(.results[]; .verify.data_ok)" "$work/client$i.json" >/dev/null || {
            bad=1
            cat "$work/client$i" >>"$work/bad"
        }
    done
    report $bad "eight clients at once, each with a report of right data" "$work/bad"
}

too_many_clients() {
    local here
    here=$(grep -c ': connected' "$work/server")
    are_connected() { (($(grep -c ': connected' "$work/server") == here + 32)); }
    mkfifo "$work/hold"
    # shellcheck disable=SC2016 # for the inner shell
    in_b bash -c 'for i in {1..32}; do exec {fd}<>"/dev/tcp/$1/18600" || exit; done; read -r <"$2"' - "${address[a]}" "$work/hold" &
    wait_for 20 are_connected
    report $? "32 connections" "$work/server"
    expect 5 "one more is refused" run_b --size 64
    grep -q 'the server has 32 clients already' "$work/out"
    report $? "and reports why" "$work/out"
    : >"$work/hold"
    wait $!
    server_lets_go
}

loss() {
    in_b tc qdisc add dev rdma0 root netem loss 1%
    expect 0 "1 % loss, RC" run_b --verb write,send --mode bw --size 4K --iterations 500 --json "$work/report.json"
    judge "data and count are right" 'all(.results[]; .verify.data_ok and .verify.lost == 0 and .bandwidth.lost_messages == 0 and .bandwidth.messages == 500)'
    judge "and the report says that packets went twice" 'any(.results[]; .flags | index("retransmit"))'
    local transport transports
    read -ra transports <<<"$(whole_or_brief "uc ud" ud)"
    for transport in "${transports[@]}"; do
        expect 0 "1 % loss, ${transport^^}" run_b --transport "$transport" --verb send,send_imm --mode bw --size 4K --iterations 500 --json "$work/report.json"
        judge "no data is wrong" 'all(.results[]; .verify.data_ok)'
        judge "and what got lost is counted" '[.results[] | .verify.lost + .bandwidth.lost_messages] | add > 0'
    done
    in_b tc qdisc del dev rdma0 root
}

set_link() { ip -n "perf-$1" link set rdma0 "$2"; } # SIDE up|down
blink() {                                            # SIDE: down for 0.1 s
    { echo "link set rdma0 down"; read -rt 0.1 <> <(:); echo "link set rdma0 up"; } | ip -n "perf-$1" -batch -
}

links_down() {
    local each
    while read -ru 9 -a each; do
        load "${each[@]}"
        set_link b down
        # In a ping-pong the message may be on its way back.
        ends $by_tcp "own link down" 5 'rxeb|rdma0' 5 'Connection timed out'
        set_link b up
        load "${each[@]}"
        set_link a down
        ends $by_tcp "the server's link down" 5 'retry counter exceeded' 5 'Connection timed out'
        set_link a up
    done 9< <(points "write bw")
    server_lets_go
    # The server only acknowledges here. The side that sends loses its route with its link, which rxe takes for an error of
    # the queue pair, at once.
    begin_watch
    run_b --verb write,send --mode bw --size 4K --time 2s --json "$work/report.json" >"$work/out" 2>&1 &
    client=$!
    wait_for 30 busy 2000 # verification sends a few hundred
    blink a
    wait $client
    report $? "the server's link is down for 0.1 s: the run gets through" "$work/out"
    judge "and all its data is right" 'all(.results[]; .verify.data_ok)'
    judge "and it says that packets went twice" 'any(.results[]; .flags | index("retransmit"))'
    ((!brief)) || return
    load write bw
    # On a busy machine nothing may be sent within a tenth of a second.
    notices() { blink b; is_gone "$client"; }
    wait_for 10 notices
    ends $by_rdma "own link down for 0.1 s" 5 'rxeb|rdma0|completion failed'
    still_right "a run when all links are up"
}

control_silent() {
    local each
    while read -ru 9 -a each; do
        load "${each[@]}"
        in_b nft 'add table inet silent; add chain inet silent out { type filter hook output priority 0; };
            add chain inet silent in { type filter hook input priority 0; };
            add rule inet silent out tcp dport 18600 drop; add rule inet silent in tcp sport 18600 drop'
        ends $by_tcp "control connection silent" 5 'control connection.*timed out'
        server_lets_go
        in_b nft delete table inet silent
    done 9< <(points "write bw")
}

devices_gone() {
    local each places=("write bw" "send bw" "send lat")
    ((!brief)) || places=("send bw")
    while read -ru 9 -a each; do
        load "${each[@]}"
        rdma link del rxeb
        ends $by_rdma "own device deleted" 6 'rxeb'
        add_device b
        load "${each[@]}"
        rdma link del rxea
        # One-sided, the server has nothing to wait for, and the transport is the first to notice.
        ends $by_rdma "the server's device deleted" 6 'the peer says: .*rxea' 5 'retry counter exceeded'
        add_device a
    done 9< <(points "${places[@]}")
    server_lets_go
    still_right "a run with new devices"
}

namespaces_gone() {
    local each
    while read -ru 9 -a each; do
        load "${each[@]}"
        ip netns del perf-a
        kill -KILL "$server" # the last one in it
        wait "$server" 2>/dev/null
        ends $by_rdma "the server's namespace deleted with all in it" 5 'closed the control connection|retry counter exceeded'
        new_side_a
    done 9< <(points "send bw")
    if ((brief)); then
        ip netns del perf-a
    else
        nameless_namespace
    fi
    stop_server
    report $? "the server ends cleanly" "$work/server"
    wait_for 10 no_device_a
    report $? "and with it the namespace and its device"
}
nameless_namespace() {
    begin_watch
    run_b --verb write,send --mode bw --size 4K --time 80ms --json "$work/report.json" >"$work/out" 2>&1 &
    client=$!
    wait_for 30 busy
    ip netns del perf-a
    wait $client
    report $? "the server's namespace loses its name, but not the server: the run gets through" "$work/out"
    judge "and all its data is right" 'all(.results[]; .verify.data_ok)'
}
no_device_a() { [[ ! -e /sys/class/infiniband/rxea ]]; }
new_side_a() { # the new interface has another MAC than the one that perf-b knows
    wait_for 10 no_device_a
    make_side a
    ip -n perf-b neigh flush dev rdma0
    start_server
}

modprobe -a rdma_rxe ib_uverbs macvlan sch_netem nf_tables || exit 1
make_side a && make_side b && start_server
report $? "two devices, and a server"
many_clients
too_many_clients
loss
links_down
control_silent
devices_gone
namespaces_gone
clean_kernel_log
finish
