#!/bin/bash
# rdma-perf against perftest on the same two rxe devices: tests/bench/duel in the lab. For reading, and for
# its goals; not one of the timed tests.
#   tests/lab/run --kernel 7.3 --timeout 3600 tests/lab/scenarios/bench-duel.sh [OPTION of tests/bench/duel...]
source "${BASH_SOURCE[0]%/*}/lib.sh"
duel=$(realpath "${BASH_SOURCE[0]%/*}/../../bench/duel")
modprobe -a rdma_rxe ib_uverbs macvlan || exit 1
gid() { # DEVICE ADDRESS-IN-HEX: the index of the RoCE v2 entry
    local i
    for i in {0..15}; do
        if grep -q "ffff:$2" "/sys/class/infiniband/$1/ports/1/gids/$i" &&
            grep -qx 'RoCE v2' "/sys/class/infiniband/$1/ports/1/gid_attrs/types/$i" 2>/dev/null; then
            echo "$i"
            return
        fi
    done
}
side() { # NAME LAST-BYTE
    ip netns add "duel-$1"
    ip link add "mv-$1" link lab0 type macvlan mode bridge
    ip link set "mv-$1" netns "duel-$1" name rdma0
    ip -n "duel-$1" link set lo up
    ip -n "duel-$1" addr add "10.9.0.$2/24" dev rdma0
    ip -n "duel-$1" link set rdma0 up
    ip netns exec "duel-$1" rdma link add "rxe$1" type rxe netdev rdma0
}
side a 1
side b 2
"$duel" --server-netns duel-a --client-netns duel-b --address 10.9.0.1 --device-a rxea --device-b rxeb \
    --gid-a "$(gid rxea 0a09:0001)" --gid-b "$(gid rxeb 0a09:0002)" "$@" | tee "$work/table"
report "${PIPESTATUS[0]}" "every goal is met" "$work/table"
finish
