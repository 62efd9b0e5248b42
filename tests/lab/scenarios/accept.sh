#!/bin/bash
# The acceptance kit of examples/acceptance, as the owner of an adapter runs it: whole, on one of five hosts; its archive, made a fixture;
# two deliberate faults and the checks that name them; a run that is interrupted, and one that is killed.
#   tests/lab/run --kernel 7.3 --timeout 1600 tests/lab/scenarios/accept.sh softroce         no adapter, and a peer
#   tests/lab/run --kernel 7.3 --nics igb --timeout 1600 tests/lab/scenarios/accept.sh vf    two ports with VFs
#   tests/lab/run --kernel 7.3 --hca --timeout 1600 tests/lab/scenarios/accept.sh shared     the double of an HCA
#   tests/lab/run --kernel 7.3 --timeout 1600 tests/lab/scenarios/accept.sh asap2            the double of an e-switch, and Open vSwitch
#   tests/lab/run --kernel 7.3 --exclusive --timeout 1600 tests/lab/scenarios/accept.sh exclusive    no adapter, and RDMA mode exclusive
# With --share DIR the archives are left there.
host=${1:?softroce, exclusive, vf, shared or asap2}
source "${BASH_SOURCE[0]%/*}/asap2-lib.sh"
source "${BASH_SOURCE[0]%/*}/modes-lib.sh"
source=${BASH_SOURCE[0]%/tests/*}
examples=$source/examples
out=$work/archives
rootfs=/usr/lib/lab/rootfs
mkdir -p "$out"
modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables 8021q || exit 1

# accept NAME OPTION...: shows its output, sets `report` to its report.json, and returns its status.
accept() {
    local name=$1 status archive
    shift
    timeout 1500 "$examples/acceptance/accept" --rootfs $rootfs --out "$out" "$@" >"$work/said" 2>&1
    status=$?
    sed 's/^/# /' "$work/said"
    archive=$(tail -n 1 "$work/said")
    report=$work/$name.json
    mkdir -p "$work/$name"
    tar -C "$work/$name" --strip-components=1 -xf "$archive" && cp "$work/$name/report.json" "$report"
    ((!LAB_SHARE)) || cp "$archive" "/data/$name-${archive##*/}"
    mv "$archive" "$work/$name.archive"
    return $status
}
failed_of() { jq -r '[.checks[] | select(.status == "FAIL") | .id] | join(" ")' "$report"; }
reason_of() { jq -r --arg id "$1" '.checks[] | select(.id == $id) | .reason' "$report"; }
count_of() { jq --arg status "$1" '[.checks[] | select(.status == $status)] | length' "$report"; }
imported() { # NAME FIXTURE...: the archive becomes these fixtures, as sysfs/lab-NAME-vfs
    mkdir -p "$work/data"
    check "tests/data/import makes a fixture of it" "$source/tests/data/import" --to "$work/data" --name "lab-$1" "$work/$1.archive"
    local each
    for each in "${@:2}"; do check "$each" grep -q '^# imported: ' "$work/data/$each"; done
}
# whole NAME FAILS LEAST OPTION...: a whole run, of whose checks only those of the list FAILS fail, and at least so many are ok.
whole() {
    local name=$1 fails=$2 least=$3 begin=$SECONDS
    shift 3
    accept "$name" "$@"
    report 0 "$name: a whole run, $((SECONDS - begin)) s"
    equal "$name: the expected checks fail, and no others" "$fails" "$(failed_of)"
    (($(count_of ok) >= least))
    report $? "$name: $(count_of ok) checks are ok, at least $least"
    grep -q "^| ok | I1 |" "$work/$name/report.md"
    report $? "$name: its page has a table"
    ((SECONDS - begin < 900))
    report $? "$name: within 15 minutes"
}

# ---- softroce: a wire to a peer, which is a namespace ---------------------------------------------------------------
wire() {
    ip netns add peer && ip link add wire0 type veth peer name wire1 netns peer && ip link set wire0 up &&
        ip -n peer link set wire1 up && ip -n peer address add 10.77.0.200/24 dev wire1 && ip -n peer link set lo up &&
        ip netns exec peer rdma link add peer0 type rxe netdev wire1 || return
    ip netns exec peer rdma-perf serve --bind 10.77.0.200 >"$work/peer" 2>&1 &
    server=$!
    wait_for 30 grep -q listening "$work/peer"
}
softroce() {
    check "a peer" wire
    world >"$work/before"
    whole softroce "" 18 --pf wire0 --peer 10.77.0.200 --anonymous
    equal "no MAC of the host is in the anonymous archive" "" "$(grep -rl "$(</sys/class/net/wire0/address)" "$work/softroce")"
    same_world "nothing is left" "$work/before"
    # The first fault: a smaller MTU at the peer.
    ip -n peer link set wire1 mtu 1000
    accept small --pf wire0 --peer 10.77.0.200 --checks 'I4,P*'
    equal "a smaller MTU at the peer is found by the checks for it" "P2 P3" "$(failed_of)"
    check "with both figures" grep -q '1500 bytes does not reach.*100[04] does' <(reason_of P2)
    ip -n peer link set wire1 mtu 1500
    # The second: no carrier.
    ip -n peer link set wire1 down
    accept carrier --pf wire0 --checks 'I*'
    equal "no carrier is found by the check for it" I4 "$(failed_of)"
    check "by name" grep -q 'wire0 is up and has no carrier' <(reason_of I4)
    ip -n peer link set wire1 up
    interrupted INT
    interrupted TERM
    died
    kill $server
    wait $server 2>/dev/null
    ip netns del peer
}
exclusive() {
    world >"$work/before"
    whole exclusive "" 17 --pf lab0 --modes softroce
    equal "exclusive: all checks of this mode are ok" "X1 X2 X5 X4" \
        "$(jq -r '[.checks[] | select(.status == "ok") | .id | select(startswith("X"))] | join(" ")' "$report")"
    same_world "nothing is left" "$work/before"
}
has_container() { [[ -n $(podman ps -q --filter name=rdma-accept) ]]; }
begun() { # in the background, until it has a container; its pid is $pid
    "$examples/acceptance/accept" --rootfs $rootfs --out "$out" --pf wire0 --checks 'R*' >"$work/said" 2>&1 &
    pid=$!
    wait_for 120 has_container
}
interrupted() { # SIGNAL
    begun
    kill "-$1" $pid
    wait $pid
    equal "interrupted by SIG$1: its status" 130 $?
    same_world "and nothing is left" "$work/before"
    check "its archive says so" grep -q '"state": "interrupted"' <(tar -xOf "$(tail -n 1 "$work/said")" --wildcards '*/report.json')
}
died() {
    begun
    kill -9 $pid
    wait $pid 2>/dev/null
    check "accept --restore after a kill" "$examples/acceptance/accept" --restore
    same_world "brings all back" "$work/before"
}

# ---- vf: igb of QEMU forwards frames with a spoofed source, whatever spoofchk says (docs/dev/lab.md), and its rings are short ----
vf() {
    modprobe -a igbvf || exit 1
    ip link set enp1s0 up
    ip link set enp2s0 up
    settled
    vfs >"$work/vfs"
    world >"$work/before"
    whole igb V5 18 --pf enp1s0 --pf2 enp2s0 --modes vf --size 64,4K
    check "V5 says why" grep -q 'does not drop them' <(reason_of V5)
    vfs | diff "$work/vfs" - >"$work/out"
    report $? "PFs are as before" "$work/out"
    imported igb {sysfs,netlink}/lab-igb{,-vfs}
    rdmactl vf enable enp1s0 2 >/dev/null 2>&1
    settled
    ip link set "$(ls "$(readlink -f /sys/class/net/enp1s0/device/virtfn0)/net")" up
    refused "a PF with a VF in use is not touched" 'VF 0 of enp1s0 is in use' accept used --pf enp1s0 --modes vf
    rdmactl vf disable enp1s0 >/dev/null 2>&1 || echo 0 >/sys/class/net/enp1s0/device/sriov_numvfs
    same_world "nothing is left" "$work/before"
}

# ---- shared -----------------------------------------------------------------------------------------------------------
shared() {
    check "the double of an HCA" make_hca
    world >"$work/before"
    whole hca "" 16 --pf lab0 --modes shared
    same_world "nothing is left" "$work/before"
}

# ---- asap2: the double's VFs are other netdevsims, which a wire joins to representors as they appear --------------------
joiner() {
    while :; do
        if [[ -n $(representor 1 1) ]]; then
            udevadm settle
            join "$(representor 1 0)" "$(nsim 11)"
            join "$(representor 1 1)" "$(nsim 12)"
            while [[ -n $(representor 1 1) ]]; do read -rt 0.2 <> <(:); done
        fi
        read -rt 0.1 <> <(:)
    done 2>/dev/null
}
asap2() {
    eswitches
    check "Open vSwitch starts" start_ovs
    ip link set "$(nsim 1)" up
    configure_asap2
    joiner &
    joiner=$!
    switches >"$work/switches"
    world >"$work/before"
    # The double's ring has room for 256 packets: small messages.
    whole netdevsim "" 18 --pf netdevsim/netdevsim1 --bridge brA --modes asap2 --pool a --size 64,2K
    switches | diff "$work/switches" - >"$work/out"
    report $? "Open vSwitch and e-switches are as before" "$work/out"
    same_world "nothing is left" "$work/before"
    imported netdevsim {sysfs,netlink}/lab-netdevsim{,-switchdev}
    # Once more on an e-switch that the administrator enabled, which stays.
    check "the administrator enables it" enable 1 brA
    whole netdevsim-enabled "" 8 --pf netdevsim/netdevsim1 --bridge brA --modes asap2 --pool a --checks 'I*,A1,A2,A3,A10'
    equal "and it stays enabled" switchdev "$(rdmactl asap2 status netdevsim/netdevsim1 --json | jq -r '.devices[0].mode')"
    kill $joiner
    check "the e-switches are unplugged" no_eswitches
}

podman run --rm --rootfs $rootfs:O true
$host
clean_kernel_log
finish
