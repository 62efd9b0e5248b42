# shellcheck shell=bash
# What scenarios of rdma-perf share: two network namespaces, perf-a with 10.9.0.1 and perf-b with 10.9.0.2, an rxe
# device in each (rxea, rxeb); a server in the one and clients in the other. Needs a kernel whose rxe works in a
# namespace (7.2 and later). Sourced.
source "${BASH_SOURCE[0]%/*}/lib.sh"
perf=${RDMA_PERF:-/data/rdma-perf}
# A point of a measurement takes an emulated guest a second or two.
brief=0
[[ ${1:-} != --brief ]] || brief=1
whole_or_brief() { if ((brief)); then echo "$2"; else echo "$1"; fi; } # WHOLE BRIEF: a list of verbs, sizes and so on
server=
gid_index=1 # behind the link-local one
declare -A address=([a]=10.9.0.1 [b]=10.9.0.2) gid=([a]=0a09:0001 [b]=0a09:0002)

# shellcheck disable=SC2317 # called by the trap
cleanup() {
    [[ -z $server ]] || kill "$server" 2>/dev/null
    # Not by the end of its netdev: the next scenario of this guest wants namespaces at once.
    rdma link delete rxea 2>/dev/null
    rdma link delete rxeb 2>/dev/null
    ip netns del perf-a 2>/dev/null
    ip netns del perf-b 2>/dev/null
    rm -rf "$work"
}
trap cleanup EXIT

expect() { # STATUS WHAT COMMAND...: the command must exit with the status
    local status=$1 what=$2 got
    shift 2
    "$@" >"$work/out" 2>"$work/err"
    got=$?
    cat "$work/err" >>"$work/out"
    [[ $got == "$status" ]] || echo "# exit $got instead of $status"
    report "$((got != status))" "$what" "$work/out"
}

in_a() { ip netns exec perf-a "$@"; }
in_b() { ip netns exec perf-b "$@"; }

# The GID comes a moment after the device.
add_device() { # SIDE
    ip netns exec "perf-$1" rdma link add "rxe$1" type rxe netdev rdma0 &&
        wait_for 10 grep -q "${gid[$1]}" "/sys/class/infiniband/rxe$1/ports/1/gids/$gid_index"
}
make_side() { # SIDE
    add_netns "perf-$1"
    ip link add "mv-$1" link lab0 type macvlan mode bridge
    ip link set "mv-$1" netns "perf-$1" name rdma0
    ip -n "perf-$1" link set lo up
    ip -n "perf-$1" addr add "${address[$1]}/24" dev rdma0
    ip -n "perf-$1" link set rdma0 up
    add_device "$1"
}

# add_interface SIDE: rdma1 with 10.9.1.1 or 10.9.1.2, without a device.
add_interface() {
    ip link add "mw-$1" link lab0 type macvlan mode bridge
    ip link set "mw-$1" netns "perf-$1" name rdma1
    ip -n "perf-$1" addr add "${address[$1]/10.9.0./10.9.1.}/24" dev rdma1
    ip -n "perf-$1" link set rdma1 up
    # Both interfaces are on one network: each must answer for its own address only, or packets for one device come to
    # the other.
    ip netns exec "perf-$1" sysctl -qw net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2
}

# A guest in emulation on a busy machine is slow: a step may take long without anything being wrong.
start_server() { # [OPTION...]; sets $server
    ip netns exec perf-a "$perf" serve --bind "${address[a]}" --timeout 30s "$@" >"$work/server" 2>&1 &
    server=$!
    wait_for 10 grep -q listening "$work/server"
}
stop_server() { # its status is that of the server
    kill "$server" 2>/dev/null
    wait "$server" 2>/dev/null
    local status=$?
    server=
    return $status
}
# $! is the client itself, after `peer_run ... &`.
peer_run() { exec ip netns exec perf-b "$perf" run "${address[a]}" --timeout 30s "$@"; }
run_b() (peer_run "$@")

# rdma-perf and perftest in turn, between the two sides.
duel() { # ADDRESS OPTION...
    "$(realpath "${BASH_SOURCE[0]%/*}/../../bench/duel")" "$@" --rdma-perf "$perf" --there 'ip netns exec perf-a' --here 'ip netns exec perf-b'
}

# Without a verify pass the first packets on the wire are the measurement's: call begin_watch, start, wait for busy.
sent() { cat /sys/class/infiniband/rxeb/ports/1/hw_counters/sent_pkts; }
begin_watch() { before=$(sent); }
busy() { (($(sent) > before + ${1:-50})); } # [PACKETS]
