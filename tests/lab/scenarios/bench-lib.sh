# shellcheck shell=bash
# What the scenarios that measure for reading need: bench_floor, in the shared folder, which is slow to start programs from; what is
# measured is on the guest's own disk. Sourced, with the name of the program below tests/bench.
source "${BASH_SOURCE[0]%/*}/lib.sh"
bench=$(realpath "${BASH_SOURCE[0]%/*}/../../bench/$1")
floor=/usr/local/bin/bench_floor
if [[ ! -x /data/bench_floor ]]; then
    echo "no /data/bench_floor: the head of ${0##*/} says how to build it and which folder to share" >&2
    exit 69
fi
install -m 755 /data/bench_floor $floor

measure() { # LINE OPTION...: runs it; LINE is in its table when all runs went through
    local goals line=$1 name=${0##*/}
    world >"$work/before"
    "$bench" --floor $floor --json "/data/${name%.sh}.json" "${@:2}" 2>&1 | tee "$work/table"
    goals=${PIPESTATUS[0]}
    check "all runs went through" grep -q "$line" "$work/table"
    report "$goals" "its goals are met" "$work/table"
    same_world "nothing is left" "$work/before"
    clean_kernel_log
    finish
}
