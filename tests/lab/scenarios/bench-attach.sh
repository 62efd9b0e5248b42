#!/bin/bash
# What an attach costs, beside a script and beside the least that it could cost: tests/bench/attach in
# the lab. For reading, and for its two goals; not one of the timed tests.
#   mkdir -p build/bench && c++ -std=c++20 -O2 -static tests/bench/floor.cc -o build/bench/bench_floor
#   LAB_APPEND=nohz_full=1 tests/lab/run --kernel 7.3 --share build/bench tests/lab/scenarios/bench-attach.sh [OPTION...]
# OPTIONs are those of tests/bench/attach. The figures as JSON and the traces of the three ways are in
# build/bench afterwards. nohz_full=1 has the kernel count user and system time exactly on CPU 1.
source "${BASH_SOURCE[0]%/*}/lib.sh"
bench=$(realpath "${BASH_SOURCE[0]%/*}/../../bench/attach")
floor=/data/bench_floor
if [[ ! -x $floor ]]; then
    echo "no $floor: the head of ${0##*/} says how to build it and which folder to share" >&2
    exit 69
fi
# The shared folder is slow to start programs from; the hook's is the guest's own disk.
cp "$floor" /run/bench_floor
modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan || exit 1
world >"$work/before"
"$bench" --floor /run/bench_floor --json /data/bench-attach.json --traces /data "$@" | tee "$work/table"
goals=${PIPESTATUS[0]}
check "all runs went through" grep -q '^processes of the hook: 3' "$work/table"
report "$goals" "both goals are met" "$work/table"
same_world "nothing is left" "$work/before"
clean_kernel_log
finish
