#!/bin/bash
# The four plans of examples/evaluation/plans between two containers with two SoftRoCE devices each, all by annotation.
#   tests/lab/run --kernel 7.3 tests/lab/scenarios/thesis.sh [--full|--brief]
# --brief: with one verb; tests/unit/perf/plan_file_test.cc reads them all. --full: their own sizes up to 8 MiB and six repetitions; prints their tables.
source "${BASH_SOURCE[0]%/*}/bundles-lib.sh"
plans=$(realpath "${BASH_SOURCE[0]%/*}/../../../examples/evaluation/plans")
shorter='{time_ms: 200, reps: 3} + if .sizes_bytes | length > 1 then {sizes_bytes: [4096]} else {} end + if .qps then {qps: [1, 4]} else {} end'
verbs=3
case ${1:-} in
--full) shorter='{time_ms: 300, reps: 6}' ;;
--brief) shorter+=' + {time_ms: 100, verbs: ["write"]}' verbs=1 ;;
esac

start() { # NAME HOST: a container that waits, 10.9.0.HOST and 10.9.1.HOST
    attach "$1" 0.mode=softroce "0.ip=10.9.0.$2/24" 1.mode=softroce "1.ip=10.9.1.$2/24"
}
holds() { # WHAT JQ-FILTER: about the report
    jq -e "$2" "/proc/$(init_of b)/root/report.json" >"$work/ignored"
    report $? "$1" "/proc/$(init_of b)/root/report.json"
}
measure() { # SUITE HOST...
    local suite=$1
    shift
    jq ". + $shorter" "$plans/$suite.json" >"/proc/$(init_of b)/root/plan.json"
    inside b rdma-perf run "$@" --timeout 30s --plan /plan.json --json /report.json >"$work/tables" 2>&1
    report $? "$suite" "$work/tables"
    sed 's/^/# /' "$work/tables"
    holds "$suite: medians, from six repetitions on with intervals" '(.errors | length) == 0 and (.summary | length) > 0
        and all(.summary[]; .n >= 3 and (.ci95 | length) == (if .n < 6 then 0 else 2 end))'
}

modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1
world >"$work/before"
check "a starts" start a 1
check "b starts" start b 2
serve a 18600 rdma-perf serve --bind 0.0.0.0 --timeout 30s
report $? "a serves" "$work/server-a"
measure basic 10.9.0.1
measure cpu 10.9.0.1
holds "the cost of a gigabyte" '[.summary[] | select(.metric == "core_s_per_gb")] | length == '$verbs
measure multi_dev 10.9.0.1 10.9.1.1
holds "two devices together" '[.results[].point.clients] | unique == [1, 2]'
measure multi_qp 10.9.0.1
drop a b
served_once a
same_world "nothing is left" "$work/before"
clean_kernel_log
finish
