#!/bin/bash
# rdma-perf against perftest on the same two devices: tests/bench/duel, held to its goals. For reading; not one of the timed tests.
#   tests/lab/run --kernel 7.3 --timeout 3600 tests/lab/scenarios/bench-duel.sh [--full] [OPTION of tests/bench/duel...]
#   LAB_ACCEL=icount tests/lab/run --kernel 7.3 --timeout 3600 tests/lab/scenarios/bench-duel.sh --instructions [OPTION...]
# Over SoftRoCE, bandwidth and latency of a point each, up to 12 pairs. --full: all points, also over Soft-iWARP, up to 60 pairs, and
# defaults against defaults. --instructions: where no guest runs on KVM, intervals of instructions are narrow. Both wait for events, as a loop
# that polls takes the one CPU from its peer; so latency of write, for which perftest has none, is left out. What was measured is in the
# shared folder afterwards, if there is one.
source "${BASH_SOURCE[0]%/*}/perf-lib.sh"
form=short
if [[ ${1:-} == @(--full|--instructions) ]]; then form=${1#--}; shift; fi
options=("$@")
[[ -d /data ]] && out=/data || out=$work

against() { # WHAT ADDRESS OPTION...
    local what=$1
    shift
    duel "$@" --goals --json "$out/duel-${what// /-}.json" "${options[@]}"
    report $? "every goal is met ($what)"
}

add_siw() { # a device of Soft-iWARP on each side, of a second interface
    local side
    for side in a b; do
        add_interface $side
        ip netns exec perf-$side rdma link add siw$side type siw netdev rdma1 || exit 1
    done
}

modprobe -a rdma_rxe siw ib_uverbs rdma_ucm macvlan || exit 1
make_side a && make_side b || exit 1
if [[ $form == instructions ]]; then
    against "events" "${address[a]}" --pairs 6..20 --poll event --verb send,read
    # Nobody waits for anybody: a write's packet is handled at both ends where it is sent.
    against "write" "${address[a]}" --pairs 6..20 --verb write --mode bw
    against "defaults" "${address[a]}" --pairs 6..20 --defaults --verb write --mode bw
    add_siw
    against "siw events" "${address[a]/10.9.0./10.9.1.}" --pairs 6..20 --cm --poll event --verb send,read
    against "siw write" "${address[a]/10.9.0./10.9.1.}" --pairs 6..20 --cm --verb write --mode bw
elif [[ $form == full ]]; then
    against "equal settings" "${address[a]}" --pairs 6..60
    against "defaults" "${address[a]}" --pairs 6..60 --defaults --verb write --mode bw
    add_siw
    against "siw bandwidth" "${address[a]/10.9.0./10.9.1.}" --pairs 6..60 --cm --mode bw
    # Soft-iWARP has no immediates, by which rdma-perf's write would be told of its data.
    against "siw latency" "${address[a]/10.9.0./10.9.1.}" --pairs 6..60 --cm --mode lat --verb read,send
else
    against "bandwidth" "${address[a]}" --verb write --mode bw --size 4K
    against "latency" "${address[a]}" --verb send --mode lat --size 64
fi
finish
