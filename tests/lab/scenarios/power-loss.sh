#!/bin/bash
# One boot of tests/lab/power-loss: what a host does that had no time to end. Open vSwitch's database is on /disk and as the last boot
# left it; /run is new.
#   tests/lab/power-loss [--full|N]
# Without "1" as its argument it ends in a loop of starts and stops that has no end.
source "${BASH_SOURCE[0]%/*}/asap2-lib.sh"
source "${BASH_SOURCE[0]%/*}/bundles-lib.sh"
last=${1:-0}
range=10.9.0.10-10.9.0.13/24

keep() { # FOLDER...: on the disk
    local each
    for each; do
        [[ -d /disk$each ]] || { mkdir -p "/disk$each" "$each" && cp -a "$each/." "/disk$each/"; } || return
        mkdir -p "$each"
        mount --bind "/disk$each" "$each" || return
    done
}
configure() {
    configure_asap2
    jq --arg range $range '.pools.r = {mode: "softroce", parents: ["lab0"], range: $range, default: true}' /etc/rdma-hook/config.json >"$work/config" &&
        cp "$work/config" /etc/rdma-hook/config.json
}
marked_ports() { ovs-vsctl --format=csv --no-headings --columns=name,external_ids list Port | grep -c 'rdma-hook-attachment'; }
# What asap2's first set-up made of the database, without what containers do.
database() {
    ovs-vsctl --format=csv --no-headings --columns=name list Bridge | sort
    ovs-vsctl --format=csv --no-headings --columns=name,external_ids list Port | grep -v 'rdma-hook-attachment' | sort
    ovs-vsctl --columns=other_config list Open_vSwitch
}
half_written() { find /disk /run/rdma-hook -name '*.tmp.*' -path '*rdma-hook*' 2>/dev/null; }
is_equal() { [[ $1 == "$2" ]]; }

auto() { attach "$1" mode=softroce; }
offloaded() { attach "$1" mode=asap2 "pool=$2" "ip=10.8.0.$3/24"; }
address_of() { in_network "$1" ip -4 -o address show rdma0 | awk '{ print $4 }'; }

# All that the pools have can be given, each once, and then no more.
gives_each_once() {
    local each addresses=()
    for each in 1 2 3 4; do check "container $each has an address of the range" auto "a$each" && addresses+=("$(address_of "a$each")"); done
    equal "each has one of its own" 4 "$(printf '%s\n' "${addresses[@]}" | grep . | sort -u | wc -l)"
    refused "a fifth finds none" 'rdma-hook|exit status' auto a5
    for each in 1 2; do check "container $each has a VF" offloaded "v$each" a "$each"; done
    equal "each has one of its own" 2 "$(for each in 1 2; do in_network v$each ip -d link show rdma0 | grep -o 'parentdev [^ ]*'; done | sort -u | wc -l)"
    refused "a third finds none" 'rdma-hook|exit status' offloaded v3 a 3
    equal "the database has a port for each" 2 "$(marked_ports)"
    drop a1 a2 a3 a4 a5 v1 v2 v3
    equal "and none when they have gone" 0 "$(marked_ports)"
}
# Containers that come and go as fast as they can, two kinds at once.
forever() { # START...
    local i
    for ((i = 1; ; i++)); do
        "$@" >/dev/null 2>&1
        drop "$2"
        echo "# cycle $i of $2"
        ((i > 1)) || echo "# the loop begins" # each has been there once: from here on any moment may be the last
    done
}

modprobe -a veth macvlan
check "the disk" keep /etc/openvswitch /var/lib/openvswitch
eswitches
check "Open vSwitch starts on the database that was left" start_ovs
before=$(marked_ports)
check "recover ends clean" rdmactl recover
cat "$work/out"
rdmactl recover --json >"$work/again"
check "there is nothing left to recover" jq -e '[.containers, .journals, .leftovers, .trouble] | all(length == 0)' "$work/again"
equal "the database has no port of a container's (it had $before)" 0 "$(marked_ports)"
equal "nothing is half written" "" "$(half_written)"
check "host 1 is set up again" enable 1 brA
check "host 2 is set up again" enable 2 brB
join_vfs
configure
[[ -e /disk/database ]] || database >/disk/database
equal "the database is as after the first boot" "$(</disk/database)" "$(database)"
equal "no address is leased, no VF taken" "" "$(ls /run/rdma-hook/leases)"
gives_each_once
((!last)) || { clean_kernel_log; finish; exit; }
sync
forever auto a1 &
forever offloaded v1 a 1 &
forever offloaded v2 b 2 &
wait
