#!/bin/bash
# What rdma-runtime costs an ordinary container, beside plain runc: tests/bench/shim in the lab. For reading, and for
# its two goals; not one of the timed tests.
#   mkdir -p build/bench && c++ -std=c++20 -O2 -static -I. tests/bench/floor.cc tests/bench/floor_asap2.cc -o build/bench/bench_floor
#   tests/lab/run --kernel 7.3 --timeout 1800 --share build/bench tests/lab/scenarios/bench-shim.sh [OPTION...]
# OPTIONs are those of tests/bench/shim. The figures as JSON are in build/bench afterwards.
source "${BASH_SOURCE[0]%/*}/lib.sh"
bench=$(realpath "${BASH_SOURCE[0]%/*}/../../bench/shim")
floor=/data/bench_floor
if [[ ! -x $floor ]]; then
    echo "no $floor: the head of ${0##*/} says how to build it and which folder to share" >&2
    exit 69
fi
# The shared folder is slow to start programs from; what is measured is on the guest's own disk.
install -m 755 "$floor" /usr/local/bin/bench_floor
world >"$work/before"
"$bench" --floor /usr/local/bin/bench_floor --rootfs "${rootfs%:O}" --json /data/bench-shim.json "$@" 2>&1 | tee "$work/table"
goals=${PIPESTATUS[0]}
check "all runs went through" grep -q '^passed through to /bin/true' "$work/table"
report "$goals" "both goals are met" "$work/table"
same_world "nothing is left" "$work/before"
clean_kernel_log
finish
