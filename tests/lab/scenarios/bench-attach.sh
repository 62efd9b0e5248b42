#!/bin/bash
# What an attach costs, beside a script and beside the least that it could cost: tests/bench/attach in
# the lab. For reading, and for its two goals; not one of the timed tests.
#   mkdir -p build/bench && c++ -std=c++20 -O2 -static -I. tests/bench/floor.cc tests/bench/floor_asap2.cc -o build/bench/bench_floor
#   cmake --build build/check --target bench_bare && cp build/check/tests/bench/bench_bare build/bench/    (if its goals are to be tried)
#   LAB_APPEND=nohz_full=1 tests/lab/run --kernel 7.3 --share build/bench tests/lab/scenarios/bench-attach.sh [OPTION...]
# With --asap2 before them mode asap2, on the lab's e-switches. OPTIONs are those of tests/bench/attach. The figures as JSON and the traces of the three ways are in
# build/bench afterwards. nohz_full=1 has the kernel count user and system time exactly on CPU 1.
source "${BASH_SOURCE[0]%/*}/asap2-lib.sh"
source "${BASH_SOURCE[0]%/*}/bench-lib.sh" attach
# Programs come to the disk in one way: how a file was written decides in how large pieces it is in memory, and so how many page
# faults its program has.
install -m 755 /usr/bin/rdma-hook /usr/local/bin/bench_hook
bare=()
if [[ -x /data/bench_bare ]]; then
    install -m 755 /data/bench_bare /usr/local/bin/bench_bare
    bare=(--bare /usr/local/bin/bench_bare)
fi
modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan || exit 1
if [[ ${1:-} == --asap2 ]]; then
    shift
    eswitches
    start_ovs
    enable 1 brA >/dev/null || exit 1
    enable 2 brB >/dev/null || exit 1
    join_vfs
    configure_asap2
    # One pool, the mode's default: the annotations name none.
    jq '{pools: {a: (.pools.a + {default: true})}}' /etc/rdma-hook/config.json >/run/config.json
    cp /run/config.json /etc/rdma-hook/config.json
    set -- --mode asap2 --parent "$(nsim 11)" --eswitch netdevsim/netdevsim1 --port pf0vf0 \
        --representor "$(representor 1 0)" --bridge brA "$@"
fi
measure '^processes of the hook' --hook /usr/local/bin/bench_hook "${bare[@]}" --traces /data "$@"
