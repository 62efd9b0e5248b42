#!/bin/bash
# What rdma-runtime costs an ordinary container, beside plain runc: tests/bench/shim in the lab. For reading, and for
# its two goals; not one of the timed tests.
#   mkdir -p build/bench && c++ -std=c++20 -O2 -static -I. tests/bench/floor.cc tests/bench/floor_asap2.cc -o build/bench/bench_floor
#   tests/lab/run --kernel 7.3 --timeout 1800 --share build/bench tests/lab/scenarios/bench-shim.sh [OPTION...]
# OPTIONs are those of tests/bench/shim. The figures as JSON are in build/bench afterwards.
source "${BASH_SOURCE[0]%/*}/bench-lib.sh" shim
measure '^passed through to /bin/true' --rootfs /usr/lib/lab/rootfs "$@"
