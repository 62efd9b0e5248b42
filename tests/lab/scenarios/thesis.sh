#!/bin/bash
# The four tables of `rdma-perf thesis` between two containers with two SoftRoCE devices each, all by annotation.
#   tests/lab/run --kernel 7.3 tests/lab/scenarios/thesis.sh [--full]
# --full: its own sizes up to 8 MiB and five repetitions; prints its tables.
source "${BASH_SOURCE[0]%/*}/bundles-lib.sh"
sizes=(--time 30ms --reps 3 --size 4K --qps "1,4")
[[ ${1:-} != --full ]] || sizes=(--time 300ms)

start() { # NAME HOST: a container that waits, 10.9.0.HOST and 10.9.1.HOST
    attach "$1" 0.mode=softroce "0.ip=10.9.0.$2/24" 1.mode=softroce "1.ip=10.9.1.$2/24"
}
holds() { # WHAT JQ-FILTER: about the report
    jq -e "$2" "/proc/$(init_of b)/root/report.json" >"$work/ignored"
    report $? "$1" "/proc/$(init_of b)/root/report.json"
}

modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1
world >"$work/before"
check "a starts" start a 1
check "b starts" start b 2
serve a 18600 rdma-perf serve --bind 0.0.0.0 --timeout 30s
report $? "a serves" "$work/server-a"
inside b rdma-perf thesis 10.9.0.1 10.9.1.1 --timeout 30s --json /report.json "${sizes[@]}" >"$work/tables" 2>&1
report $? "thesis" "$work/tables"
sed 's/^/# /' "$work/tables"
holds "four tables with intervals" '(.errors | length) == 0 and [.suites[].name] == ["basic", "cpu", "multi_dev", "multi_qp"]
    and all(.suites[]; (.rows | length) > 0 and all(.rows[]; all(.metrics[]; .n >= 3 and (.ci95 | length) == 2)))'
holds "two devices together" '[.suites[] | select(.name == "multi_dev") | .rows[].point.clients] | unique == [1, 2]'
drop a b
served_once a
same_world "nothing is left" "$work/before"
clean_kernel_log
finish
