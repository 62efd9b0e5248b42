#!/bin/bash
# Mode shared: several containers on one HCA, each with an interface and GIDs of its own, and the HCA's
# table as before when they have gone.
#   tests/lab/run --kernel 7.3 --hca tests/lab/scenarios/shared.sh [--full|--brief] [RUNTIME]
# --full: 50 random lives instead of 3; --brief: traffic and VLANs. The HCA is the lab's double, rxe that serves macvlan children in any namespace; with
# --double ib_core its GIDs are shown, and given, as MLNX_OFED's modules do.
# Without --hca it is Debian's rxe, which carries nothing for them, and with --exclusive nothing can be shared: what is
# shown then is the refusal, and that it leaves nothing.
source "${BASH_SOURCE[0]%/*}/modes-lib.sh"
source "${BASH_SOURCE[0]%/*}/bundles-lib.sh"
cycles=3 brief=0 verbs=write,read,send
case ${1:-} in
--full) cycles=50; shift ;;
--brief) brief=1 verbs="write"; shift ;;
esac
runtime=${1:-crun}

modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan ipvlan 8021q veth overlay nf_tables || exit 1

share() { attach "$1" mode=shared parent=lab0 "ip=$2" "${@:3}"; } # NAME ADDRESS [KEY=VALUE...]
refuse() { # REASON [KEY=VALUE...]: for a container that asks for these
    refused "refused: mode=shared ${*:2}" "$1" attach refused mode=shared "${@:2}"
}

same_gids() { [[ $(gids) == "$(<"$work/gids")" ]]; }
same() { # WHAT: links, files, namespaces, and the HCA's GID table, from which they go a moment later
    same_world "$1" "$work/before"
    wait_for 30 same_gids
    report $? "$1: the GID table is as before" <(gids | diff "$work/gids" -)
}

only_refusals() { # TEXT
    refuse "$1" parent=lab0 ip=10.9.0.1/24
    same "the refused one leaves nothing"
}

# ---- what works -----------------------------------------------------------------------------------------
three() {
    check "a starts" share a 10.9.0.1/24
    check "b starts" share b 10.9.0.2/24
    check "c starts, its parent named by the HCA" attach c mode=shared parent=hca0 ip=10.9.0.3/24,fd09::3/64
    local each
    for each in a b c; do
        equal "$each sees the HCA alone, though the host has another device" hca0 "$(devices $each)"
    done
    equal "the GID at c's index is its own" "0000:0000:0000:0000:0000:ffff:0a09:0003" \
        "$(inside c cat "/sys/class/infiniband/hca0/ports/1/gids/$(environment c RDMA_GID_INDEX)")"
    equal "and nobody else's index" 3 "$(for each in a b c; do environment $each RDMA_GID_INDEX; done | sort -u | wc -l)"
}

by_tcp() { # CLIENT SERVER ADDRESS
    check "$1 to $2: rdma-perf, addresses exchanged over TCP" inside "$1" timeout 100 rdma-perf run "$3" --verb $verbs --mode bw --time 0.2s --size 4096
}
by_cm() { check "$1 to $2: rdma-perf, by rdma_cm" inside "$1" timeout 100 rdma-perf run "$3" --cm --verb $verbs --mode bw --time 0.2s --size 4096; }

counted() { # NAME FILTER: of what a container's attachment has counted
    rdmactl stats "$(id_of "$1")" --json | jq ".containers[0].attachments[0] | $2"
}
counters() { # CLIENT SERVER ADDRESS: traffic that is counted
    local before packets
    before=$(counted "$1" .device_counters.sent_pkts) packets=$(counted "$1" .netdev_counters.tx_packets)
    by_tcp "$@"
    by_cm "$@"
    ((brief)) || check "$1 to $2: rping" rping_passes "$@"
    report $(($(counted "$1" .device_counters.sent_pkts) <= before)) "rdmactl stats: $1's device has sent more than $before packets"
    report $(($(counted "$1" .netdev_counters.tx_packets) <= packets)) "rdmactl stats: $1's interface has sent more than $packets packets"
    equal "rdmactl stats says whose the device and the interface are" '"hca0 rdma0 true"' "$(counted "$1" '"\(.device) \(.netdev) \(.shared)"')"
    check "rdmactl stats of all has three containers" test "$(rdmactl stats | awk 'NR > 1 { print $1 }' | sort -u | wc -l)" = 3
}
traffic() {
    serve a 18600 rdma-perf serve --bind 0.0.0.0
    serve b 18600 rdma-perf serve --bind 0.0.0.0 --allow-isolation-tests
    counters b a 10.9.0.1
    by_cm c b 10.9.0.2
    if ((!brief)); then
        by_tcp c a 10.9.0.1
        isolation
    fi
    end_server a
    end_server b
    ((!brief)) || return
    serve a 18515 ib_write_bw -n 200 -x "$(environment a RDMA_GID_INDEX)"
    check "b to a: ib_write_bw with -x \$RDMA_GID_INDEX" inside b timeout 100 ib_write_bw -n 200 -x "$(environment b RDMA_GID_INDEX)" 10.9.0.1
    served_once a
}

# No kernel keeps a container of a shared HCA from using a neighbour's GID. What this one does is only shown.
isolation() {
    local status
    inside a timeout 100 rdma-perf isolate 10.9.0.2 >"$work/out" 2>&1
    status=$?
    sed 's/^/# /' "$work/out"
    [[ $status == 0 || $status == 7 ]]
    report $? "rdma-perf isolate comes to an end, with status $status" "$work/out"
}

vlan() { # NAME PARENT ADDRESS VLAN: with a macvlan beside it, for which the double serves RoCE in the namespace
    attach "$1" mode=shared "parent=$2" "ip=10.9.6.${3##*.}/24" 1.mode=shared "1.parent=$2" "1.vlan=$4" "1.ip=$3/24"
}
# Two HCAs on one wire: a VLAN of an interface can be there once.
vlans() {
    check "a VLAN beside a macvlan of the same HCA" vlan a wire0 10.9.7.1 7
    check "the same VLAN at the wire's other end" vlan b wire1 10.9.7.2 7
    equal "it is a VLAN" "vlan 7" "$(inside a ip -d -j link show rdma1 | jq -r '.[0].linkinfo | "\(.info_kind) \(.info_data.id)"')"
    equal "its GID is in the HCA's table" "0000:0000:0000:0000:0000:ffff:0a09:0701" \
        "$(inside a cat "/sys/class/infiniband/hca1/ports/1/gids/$(environment a RDMA_GID_INDEX_1)")"
    equal "one device twice is one for NCCL" "=hca1" "$(environment a NCCL_IB_HCA)"
    serve a 18600 rdma-perf serve --bind 0.0.0.0
    check "rdma-perf over the VLAN" inside b timeout 100 rdma-perf run 10.9.7.1 --cm --time 0.2s --size 4096 --verb write --mode bw
    end_server a
    refuse 'VLAN 7' parent=wire0 vlan=7 ip=10.9.7.9/24
    drop a b
    same "VLANs have gone"
}

limits() {
    check "a container that may open the HCA twice" share a 10.9.0.1/24 max_hca_handles=2
    share b 10.9.0.2/24 >/dev/null 2>&1
    inside a ibv_asyncwatch -d hca0 >/dev/null 2>&1 &
    inside a ibv_asyncwatch -d hca0 >/dev/null 2>&1 &
    check "has it open twice" wait_for 30 grep -q '^hca0 hca_handle=2 ' "$(cgroup_of a)/rdma.current"
    refused "and not a third time" . inside a ibv_devinfo -d hca0
    check "while its neighbour goes on" inside b timeout 100 rdma-perf loop --verb write --mode bw --size 64 --iterations 500
    drop a b
    same "limits have gone"
}

# ---- what is refused ------------------------------------------------------------------------------------
bad_input() {
    refuse 'no RDMA device to share' parent=bare0 ip=10.9.0.1/24
    refuse 'needs an address' parent=lab0
    refuse 'needs an address' parent=lab0 ip=none
    refuse 'hca0 is a software device' parent=lab0 child=ipvlan ip=10.9.0.1/24
    refuse 'rdma.macvlan_mode.* does not go with rdma.child=vlan' parent=lab0 child=vlan vlan=7 macvlan_mode=vepa ip=10.9.0.1/24
    refuse 'above the 9000 of its parent lab0' parent=lab0 mtu=9001 ip=10.9.0.1/24
    refuse 'rdma.parent' parent=container ip=10.9.0.1/24
    refuse 'lab1' parent=lab1 ip=10.9.0.1/24
    same "a refusal leaves nothing"
}

# Somebody on the segment who is no container of ours: until its namespace is deleted.
stranger() { # ADDRESS...
    local each
    add_netns stranger
    ip link add stranger0 link lab0 type macvlan mode bridge
    ip link set stranger0 netns stranger
    for each; do ip -n stranger addr add "$each" dev stranger0 nodad; done
    ip -n stranger link set stranger0 up
}

taken() {
    stranger 10.9.0.77/24 fd09::77/64
    refuse 'address 10.9.0.77 is in use on the network' parent=lab0 ip=10.9.0.77/24
    refuse 'address fd09::77 is in use on the network' parent=lab0 ip=10.9.0.1/24,fd09::77/64
    ip netns del stranger
    ip link add link lab0 name lab0.7 type vlan id 7
    refuse 'another interface has VLAN 7 of the parent' parent=lab0 vlan=7 ip=10.9.0.1/24
    ip link del lab0.7
    share a 10.9.0.1/24 >/dev/null 2>&1
    refuse 'address 10.9.0.1 is in use by another container' parent=lab0 ip=10.9.0.1/24
    drop a
    same "addresses and VLANs that others have: nothing is left"
}

pool() {
    mkdir -p /etc/rdma-hook
    cat >/etc/rdma-hook/config.json <<'JSON'
{"pools": {"hca": {"mode": "shared", "default": true, "parents": ["lab0"], "range": "10.9.0.50-10.9.0.51/24"}}}
JSON
    check "a takes an address of the pool" attach a mode=shared
    check "b takes the other" attach b mode=shared
    equal "they are these" "10.9.0.50 10.9.0.51" "$(for each in a b; do inside $each ip -j -4 addr show rdma0 | jq -r '.[0].addr_info[0].local'; done | xargs)"
    refuse 'no free address from 10.9.0.50 to 10.9.0.51'
    drop a b
    stranger 10.9.0.50/24
    check "a takes one that nobody on the network has" attach a mode=shared
    equal "it is the second" 10.9.0.51 "$(inside a ip -j -4 addr show rdma0 | jq -r '.[0].addr_info[0].local')"
    drop a
    ip netns del stranger
    rm -f /etc/rdma-hook/config.json
    same "the pool is whole again"
}

# Addresses of lab0 itself take the slots.
full_table() {
    local slots used i
    slots=256 # that can be used, of 1024
    used=$(gids | wc -l)
    for ((i = 0; i < slots - used - 1; i++)); do
        echo "addr add 10.77.$((i / 250)).$((i % 250 + 1))/32 dev lab0"
    done >"$work/fill"
    ip -batch "$work/fill"
    is_full() { [[ $(gids | wc -l) == $((slots - 1)) ]]; }
    check "the table is filled up to one slot" wait_for 120 is_full
    world >"$work/full"
    refuse "hca0 has 1 of $slots GIDs free, and this container needs 2" parent=lab0 ip=10.9.0.1/24
    refuse "hca0 has 1 of $slots GIDs free, and this container needs 3" parent=lab0 ip=10.9.0.1/24,fd09::1/64
    equal "refused before anything changed" "$(<"$work/full")" "$(world)"
    check "the table too" is_full
    sed 's/addr add/addr del/' "$work/fill" | ip -batch -
    wait_for 120 same_gids
    check "with room again it starts" share a 10.9.0.1/24
    drop a
    same "after a full table"
}

# ---- lives ----------------------------------------------------------------------------------------------
random_lives() {
    local i way ip kinds=(bridge private vepa vlan) ways=(stop kill rm)
    for ((i = 0; i < cycles; i++)); do
        ip=10.9.0.$((RANDOM % 200 + 1))/24
        ((RANDOM % 2)) || ip+=,fd09::$((RANDOM % 9000 + 1))/64
        case ${kinds[RANDOM % 4]} in
        vlan) set -- "ip=$ip" 1.mode=shared 1.parent=lab0 1.child=vlan "1.vlan=$((RANDOM % 4094 + 1))" 1.ip=10.9.7.1/24 ;;
        *) set -- "ip=$ip" "macvlan_mode=${kinds[RANDOM % 3]}" ;;
        esac
        way=${ways[RANDOM % 3]}
        attach a mode=shared parent=lab0 "$@" >"$work/out" 2>&1 || report 1 "life $i: $*" "$work/out"
        [[ $(inside a cat "/sys/class/infiniband/hca0/ports/1/gids/$(environment a RDMA_GID_INDEX)") == "$(environment a RDMA_GID)" ]] ||
            report 1 "life $i: the GID index is right"
        end_by "$way" a
        wait_for 30 same_gids || report 1 "life $i: $*, ended by $way" <(gids | diff "$work/gids" -)
    done
    check "gc has nothing to complain of" rdmactl gc
    same "$cycles random lives leave nothing"
}

((LAB_EXCLUSIVE)) || ip link add wire0 type veth peer name wire1
ip link add other0 type dummy
ip link add bare0 type dummy
ip link set other0 up
ip link set bare0 up
rdma link add other1 type rxe netdev other0
make_hca
gids >"$work/gids"
if ((LAB_EXCLUSIVE)); then
    world >"$work/before"
    only_refusals 'exclusive an adapter belongs to only one network namespace.*set rdma.mode=vf'
elif ((!LAB_HCA)); then
    world >"$work/before"
    only_refusals 'hca0 is a software device.*carries no traffic.*rdma.mode=softroce'
else
    for each in wire0 wire1; do
        ip link set $each up
        rdma link add "hca$((${each#wire} + 1))" type rxe netdev $each
    done
    world >"$work/before"
    three
    traffic
    drop a b c
    same "three containers have gone"
    vlans
    if ((!brief)); then
        limits
        bad_input
        taken
        pool
        full_table
        random_lives
    fi
fi
# The next scenario of this boot may want lab0 for itself. A device goes with its interface.
rdma link delete hca0
for each in other0 bare0 wire0; do [[ ! -e /sys/class/net/$each ]] || ip link del $each; done
clean_kernel_log
finish
