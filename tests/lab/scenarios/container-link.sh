#!/bin/bash
# rdma.parent=container: RDMA on the interface that Podman made, with Podman's address, so that the host routes and
# filters it like all else of the container's.
#   tests/lab/run --kernel 7.3 tests/lab/scenarios/container-link.sh [--full|--brief] [RUNTIME]
# --full: softiwarp, too. --brief: what a firewall does not drop passes, and what it drops does not. On 6.12, where rxe carries
# nothing in a namespace, softiwarp alone.
source "${BASH_SOURCE[0]%/*}/podman-lib.sh"
full=0 brief=0
case ${1:-} in
--full) full=1; shift ;;
--brief) brief=1; shift ;;
esac
runtime=${1:-crun}
with_softiwarp() { ((full)) || [[ $LAB_KERNEL == 6.12 ]]; }

modprobe -a rdma_rxe ib_uverbs rdma_ucm veth overlay bridge nf_tables || exit 1
! with_softiwarp || modprobe siw || exit 1 # Debian has none: a tree without the lab's own modules lacks it
for each in 1 2; do # Podman 6 isolates bridges from each other without this option
    podman network create --opt isolate=false --interface-name lab-net$each --subnet 10.90.$each.0/24 lab-net$each >/dev/null || exit 1
done
# In a new release of the engine this tells its own faults from those of rdma-hook.
check "without rdma-hook Podman runs a container on such a network" pod run --rm --network lab-net1 --rootfs $rootfs ip -4 addr show eth0

on() { # NAME MODE NETWORK
    attach "$1" "mode=$2" parent=container -- --network "$3"
}
address() { in_network "$1" ip -j -4 addr show eth0 | jq -r '.[0].addr_info[0].local'; }
run() { # CLIENT SERVER OPTION...
    inside "$1" timeout 100 rdma-perf run "$(address "$2")" --time 0.2s --size 4096 --mode bw --verb write "${@:3}"
}

# Podman's masquerading changes who a packet is from, and RoCE knows its peer by address. What is not tracked is not
# masqueraded.
no_masquerade() {
    ((brief)) || refused "softroce: masqueraded, nothing arrives from another network" 'transport retry' run c a
    nft 'add table ip lab; add chain ip lab raw { type filter hook prerouting priority raw; };
        add rule ip lab raw udp dport 4791 notrack'
    check "softroce: rdma-perf from another network, untracked" run c a
}

three() { # MODE OPTION...: a and b on one network, c on the other
    local mode=$1
    check "$mode: a on one network" on a "$mode" lab-net1
    check "$mode: b on the same" on b "$mode" lab-net1
    check "$mode: c on another" on c "$mode" lab-net2
    equal "$mode: the device is on the engine's interface" eth0 "$(environment a RDMA_NETDEV)"
    equal "$mode: with the engine's address" "$(address a)" "$(attach_json a | jq -r '.attachments[0].addresses[] | select(test("[.]")) | sub("/.*"; "")')"
    serve a 18600 rdma-perf serve --bind 0.0.0.0
    check "$mode: rdma-perf on one network" run b a "${@:2}"
}

# The host's firewall decides over RDMA: what it drops between its bridges does not arrive.
firewall() {
    nft 'add chain ip lab forward { type filter hook forward priority -10; };
        add rule ip lab forward iifname lab-net2 oifname lab-net1 udp dport 4791 counter drop'
    ((brief)) || check "with RoCE dropped between the networks ping passes" inside c ping -c 1 -W 20 "$(address a)"
    refused "RDMA that the firewall drops does not pass" 'retr|lost|peer|deadline' run c a
    sed 's/^/# /' "$work/out"
    check "the rule has seen its packets" grep -qE 'packets [1-9]' <(nft list chain ip lab forward)
    ((!brief)) || return
    check "on one network it does" run b a
    nft delete chain ip lab forward
    check "without the rule RDMA passes again" run c a
}

world >"$work/before"
if [[ $LAB_KERNEL != 6.12 ]]; then
    three softroce
    no_masquerade
    firewall
    end_server a
    drop a b c
    same_world "softroce: nothing is left" "$work/before"
fi
if with_softiwarp; then
    three softiwarp --cm
    check "softiwarp, which is TCP: masqueraded it passes from another network" run c a --cm
    end_server a
    drop a b c
    same_world "softiwarp: nothing is left" "$work/before"
fi
[[ $LAB_KERNEL == 6.12 ]] || nft delete table ip lab
podman network rm -f lab-net1 lab-net2 >/dev/null
clean_kernel_log
finish
