#!/bin/bash
# Containers that come and go, eight at once, in all modes that the guest has hardware for and by each way in, some of them killed, and
# some of their hooks in the middle of a call (killer-lib.sh). In the end nothing is left, and nothing has grown.
#   tests/lab/run --kernel 7.3 --hca --nics igb --timeout 7200 tests/lab/scenarios/soak.sh [--full|N] [MODE...]
# N: containers, 32; --full: 2000; of 500 or more, some are of Podman and runc. SEED repeats what is chosen by chance, not what the scheduler does.
source "${BASH_SOURCE[0]%/*}/every-mode-lib.sh"
source "${BASH_SOURCE[0]%/*}/engines-lib.sh"
source "${BASH_SOURCE[0]%/*}/snapshot-lib.sh"
source "${BASH_SOURCE[0]%/*}/killer-lib.sh"
total=32 engines=(crun prepared docker28)
case ${1:-} in
--full) total=2000; shift ;;
[0-9]*) total=$1; shift ;;
esac
((total < 500)) || engines+=(runc podman)
wanted=("$@")
(($#)) || wanted=(softroce shared vf asap2 softiwarp)
workers=8
SEED=${SEED:-$RANDOM}
RANDOM=$SEED

# ---- a worker -------------------------------------------------------------------------------------------------
lives() { # WORKER COUNT: one line in its log for each container: started, or not and why
    local name=s$1 i keys mode engine init
    RANDOM=$((SEED + $1))
    for ((i = 0; i < $2; i++)); do
        mode=${modes[RANDOM % ${#modes[@]}]}
        engine=${engines[RANDOM % ${#engines[@]}]}
        read -ra keys <<<"$("${mode}_keys" $((RANDOM % 2 + 1)))"
        if "${engine}_start" "$name" "${keys[@]}" "ip=10.9.0.$((10 + $1))/24" >"$work/said-$1" 2>&1; then
            echo "started $mode $engine"
        else
            echo "not $mode $engine: $(tail -n 1 "$work/said-$1" | cut -c1-160)"
        fi
        if ((RANDOM % 3 == 0)) && init=$("${engine}_init" "$name" 2>/dev/null) && ((init > 1)); then kill -9 "$init"; fi
        "${engine}_remove" "$name" >/dev/null 2>&1
    done >>"$work/lives-$1"
}
# Until the workers have ended: whenever somebody has died, another will, at a call that nobody knows.
hunt() {
    while kill -0 "${pids[@]}" 2>/dev/null; do
        seen
        if [[ $victim != - ]] || ((calls > 400)); then
            [[ $victim == - ]] || deaths=$((deaths + 1))
            arm $((RANDOM % 200 + 1))
        fi
        rdmactl gc >/dev/null 2>&1
        read -rt 0.5 <> <(:) || true
    done
    disarm
}
many() { # COUNT containers
    local each pids=()
    arm 20
    for ((each = 1; each <= workers; each++)); do
        lives $each $(($1 / workers)) &
        pids+=($!)
    done
    hunt 2>/dev/null
    wait "${pids[@]}" 2>/dev/null
}

# ---- what may grow --------------------------------------------------------------------------------------------
rest() { # WHAT: the host is as it was
    local each
    remove_all
    rdmactl recover >/dev/null 2>&1
    remove_all # docker28's namespaces stay mounted as long as there is something of ours in them
    drop_bundles
    # A connection that nobody has any more keeps a namespace for a time; a process that dies, its record.
    back() { rdmactl recover >"$work/recover" 2>&1 && as_in "$work/before" 1; }
    wait_for 60 back
    report $? "$1: the host is as before" <(cat "$work/recover" "$work/difference")
    [[ ! -s $work/difference ]] || evidence | sed 's/^/# /'
}
# Who may hold what is left: our records, each RDMA device and what it is on, and who waits in the kernel for what.
evidence() {
    local each
    rdmactl list --json
    find /run/rdma-hook /dev/infiniband ! -path '*/locks/*' -printf '%p %s\n'
    for each in /sys/class/infiniband/*; do echo "$each: $(cat "$each"/{parent,node_guid} "$each"/ports/1/gid_attrs/ndevs/0 2>&1 | paste -sd' ')"; done
    rdma -d dev
    rdma -d resource show
    ip -o -d link
    ip netns
    lsns -t net
    for each in /proc/[0-9]*; do
        grep -qs '^State:.D' "$each/status" && { echo "$each: $(cat "$each/comm")"; cat "$each/stack"; }
    done
    dmesg | tail -n 40
} 2>&1
remove_all() {
    for ((each = 1; each <= workers; each++)); do
        for engine in "${engines[@]}"; do "${engine}_remove" s$each; done
    done >/dev/null 2>&1
}
sizes() { # sets kernel and used, in KiB, and files: what is held when caches are dropped
    sync
    echo 3 >/proc/sys/vm/drop_caches
    kernel=$(awk '$1 ~ /^(SUnreclaim|Percpu|KernelStack|PageTables):/ { sum += $2 } END { print sum }' /proc/meminfo)
    used=$(awk '/^MemTotal:/ { total = $2 } /^MemAvailable:/ { print total - $2 }' /proc/meminfo)
    read -r files _ </proc/sys/fs/file-nr
}
# Memory that is freed a grace period later is no growth; so the least of some looks counts.
least_sizes() {
    local i least=(999999999 999999999 999999999)
    for ((i = 0; i < 5; i++)); do
        sizes
        ((kernel >= least[0])) || least[0]=$kernel
        ((used >= least[1])) || least[1]=$used
        ((files >= least[2])) || least[2]=$files
        read -rt 1 <> <(:) || true
    done
    kernel=${least[0]} used=${least[1]} files=${least[2]}
}
at_most() { # WHAT LIMIT GOT
    echo "limit $2, got $3" >"$work/out"
    (($3 <= $2))
    report $? "$1 ($3, limit $2)" "$work/out"
}

# ---- the run --------------------------------------------------------------------------------------------------
echo "# seed $SEED, $total containers"
modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1
check "the killer" start_killer
[[ " ${engines[*]} " != *" podman "* ]] || podman run --rm --rootfs $rootfs true
modes=() deaths=0
for mode in "${wanted[@]}"; do
    if mode_up; then modes+=("$mode"); else echo "# $mode: not here ($reason)"; fi
done
rdmactl gc >/dev/null
for engine in "${engines[@]}"; do
    "${engine}_start" c0 >/dev/null 2>&1
    "${engine}_remove" c0 >/dev/null 2>&1
done
for mode in "${modes[@]}"; do use_once; done
drop_bundles
check "the host is at rest" rested "$work/before" 30

# The first half makes what the kernel, the engines and Open vSwitch keep; the second must add nothing.
half=$((total / 2 / workers * workers))
((half)) || half=$workers
many $half
rest "after $half containers"
least_sizes
first=("$kernel" "$used" "$files")
many $half
rest "after $((2 * half)) containers"
least_sizes
at_most "memory of the kernel grew by at most 8 KiB a container, in KiB" $((4096 + 8 * half)) $((kernel - first[0]))
at_most "memory in use grew by at most 8 KiB a container, in KiB" $((16384 + 8 * half)) $((used - first[1]))
at_most "open files did not grow with their number" $((64 + half / 50)) $((files - first[2]))

started=$(cat "$work"/lives-* | grep -c '^started')
cat "$work"/lives-* | awk '{ print $1, $2, $3 }' | tr -d : | sort | uniq -c | sed 's/^/# /'
cat "$work"/lives-* | sed -n 's/^not [^:]*: //p' | sed -E 's/[0-9a-f]{12,}/ID/g; s/[0-9]+/N/g' | sort | uniq -c | sort -rn | head -n 12 | sed 's/^/#   /'
at_most "at most half of them did not start: their hooks were killed, or all VFs were taken" "$half" $((2 * half - started))
check "hooks were killed" test $deaths -gt 0
for mode in "${modes[@]}"; do mode_down; done
clean_kernel_log
echo "# $((2 * half)) containers, $started started, $deaths hooks killed"
finish
