#!/usr/bin/env bash
# The host's sides of softroce.json: two network namespaces with two SoftRoCE devices each, as a host has them without containers.
# Root. Kernel 7.1 or later.
#   examples/evaluation/namespaces.sh [PARENT]   macvlans of this interface, in evaluation-a and evaluation-b. Without PARENT: that
#                                                of the default route, on which the plan's containers are
#   examples/evaluation/namespaces.sh --remove
set -euo pipefail

remove() {
    local side each
    for side in a b; do
        [[ -e /run/netns/evaluation-$side ]] || continue
        # First the devices: an rxe whose netdev goes away beneath it can hang the kernel.
        for each in 0 1; do
            ip netns exec "evaluation-$side" rdma link delete "rxe$side$each" 2>/dev/null || true
        done
        ip netns delete "evaluation-$side"
    done
}

case ${1:-} in
--remove)
    remove
    exit
    ;;
-*)
    echo "usage: $0 [PARENT | --remove]" >&2
    exit 2
    ;;
esac
parent=${1:-$(ip route show default | sed -n 's/.* dev \([^ ]*\).*/\1/p' | head -n 1)}
[[ -n $parent ]] || {
    echo "$0: there is no default route; name an interface, and set rdma.0.parent and rdma.1.parent to it in the plan" >&2
    exit 2
}
trap remove ERR
host=0
for side in a b; do
    host=$((host + 1))
    space=evaluation-$side
    ip netns add $space
    ip -n $space link set lo up
    # Both interfaces are on one network: each must answer for its own address only.
    ip netns exec $space sysctl -qw net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2
    for each in 0 1; do
        ip link add "ev-$side$each" link "$parent" type macvlan mode bridge
        ip link set "ev-$side$each" netns $space name "rdma$each"
        ip -n $space address add "10.9.1$each.$host/24" dev "rdma$each"
        ip -n $space link set "rdma$each" up
        ip netns exec $space rdma link add "rxe$side$each" type rxe netdev "rdma$each"
    done
done
