#!/bin/bash
# No call outside of the lists of netns/base/confine_calls.cc, in any mode. A planted one answers ENOSYS and kills nobody; a
# forbidden one kills.
#   tests/lab/run --kernel 7.3 [--hca] [--nics igb] tests/lab/scenarios/confine.sh [--full|--brief] [MODE...]
# MODEs: all unless given; a guest that lacks what one needs says so and leaves it out. --full: under Podman and Docker, too. --brief: one
# way in has two containers with traffic, the others a life.
# Programs as they are installed do without a call that is missing, so that the mode may fail; the kernel's log has it. With
# LAB_CONFINE=log before tests/lab/run they are built to make it all the same, and all that is missing is shown at once.
source "${BASH_SOURCE[0]%/*}/every-mode-lib.sh"
source "${BASH_SOURCE[0]%/*}/engines-lib.sh"
engines=(prepared crun docker28) brief=0
case ${1:-} in
--full) engines+=(podman docker); shift ;;
--brief) brief=1; shift ;;
esac
modes=("$@")
[[ $# -gt 0 ]] || modes=(softroce softiwarp shared vf asap2)
tests=/usr/libexec/rdma-hook/tests/contract_test

unlisted() { dmesg | grep -a 'type=1326'; }
# Nothing since the last time, of our programs; else which program made which call how often.
nothing_unlisted() { # WHAT
    unlisted | grep -aE 'comm="(rdma|rdmactl)' | sed -E 's/.*comm=("[^"]*").* sig=([0-9]+) .* syscall=([0-9]+) .*/\1 syscall \3 signal \2/' |
        sort | uniq -c >"$work/out"
    [[ ! -s $work/out ]]
    report $? "$1: no call outside of the list" "$work/out"
    clean_kernel_log
    dmesg -C
}
address() { echo "10.9.0.$1"; }
start() { # 1|2
    local keys
    read -ra keys <<<"$("${mode}_keys" "$1")"
    "${engine}_start" "c$1" "${keys[@]}" "ip=$(address "$1")/24"
}
remove() { "${engine}_remove" "$1"; }
more_world() { ! declare -F "${mode}_world" >/dev/null || "${mode}_world"; }
traffic() {
    local cm=()
    [[ $mode != softiwarp ]] || cm=(--cm)
    talk "$engine" c1 c2 18600 rdma-perf serve --bind 0.0.0.0 --once -- \
        rdma-perf run "$(address 1)" "${cm[@]}" --verb write,send --mode bw --time 0.2s --size 4096
}

# Every verb, while there are containers; only verify and doctor may find fault.
verbs() {
    local verb id
    id=$(id_of c1)
    for verb in list "list --failed" "list --json" "show $id" "stats $id" "vf list" "asap2 status" "config check" gc "gc --regrant" "gc --dry-run" recover \
        "cdi generate --output $work/cdi" "cdi list" "plan -a rdma.mode=softroce -a rdma.ip=10.8.0.1/24" \
        "runtime configure --runtime=docker --dry-run"; do
        # shellcheck disable=SC2086 # words
        check "$mode: rdmactl $verb" rdmactl $verb
    done
    rdmactl doctor >"$work/out" 2>&1
    (($? < 128))
    report $? "$mode: rdmactl doctor is not killed" "$work/out"
    rdmactl suggest >"$work/out" 2>&1
    (($? < 128))
    report $? "$mode: rdmactl suggest is not killed" "$work/out"
}

try() { # the cell of $mode and $engine
    check "$mode, $engine: c1 starts" start 1
    if ((!brief)) || [[ $engine == prepared ]]; then
        check "$mode, $engine: c2 starts" start 2
        check "$mode, $engine: rdma-perf passes, verified, by a server that is confined" traffic
        [[ $engine != prepared ]] || verbs
        check "$mode, $engine: c2 goes" remove c2
    fi
    check "$mode, $engine: c1 goes" remove c1
    refused "$mode, $engine: a command that does not exist" . fails_late
    remove c1 >/dev/null 2>&1
    rdmactl gc >/dev/null
    same_world "$mode, $engine: nothing is left" "$work/before"
    # A refusal, and what is kept of it.
    refused "$mode, $engine: an annotation that there is not" . "${engine}_start" c3 mode="$mode" nonsense=1
    remove c3 >/dev/null 2>&1
    nothing_unlisted "$mode, $engine"
}
fails_late() {
    local command=(/no/such/command)
    start 1
}

modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1
if [[ " ${engines[*]} " == *" docker "* ]]; then
    check "Podman" podman run --rm --rootfs $rootfs true
    check "dockerd" docker_set_up
    check "a container without us" docker run --rm "${docker_image[@]}" true
fi

# What is planted is in the kernel's log: only then does a log without lines say anything. The kernel drops lines beyond ten in five
# seconds.
sysctl -qw kernel.printk_ratelimit=0
dmesg -C
check "planted calls" "$tests" --gtest_brief=1 --gtest_filter='*Confined*:*PlantedCall*:*RunApart*'
planted() { unlisted | grep -a 'comm="contract_test"' | grep -ac "$1"; }
# code= is what the filter said: an errno, or that a call is to be made and logged.
killed=$(planted 'sig=31') refused=$(planted 'sig=0 .*code=0x50000') made=$(planted 'sig=0 .*code=0x7ffc0000')
if ((made > 0)); then
    echo "# built to log"
    ((made > 30 && killed + refused == 0))
    report $? "the kernel's log has the planted calls, and nobody died ($made)"
else
    ((killed > 20))
    report $? "forbidden calls kill, and the kernel's log has them ($killed)"
    ((refused > 10))
    report $? "unknown calls kill nobody, and the kernel's log has them ($refused)"
fi
dmesg -C
# A program as it is installed, at the first line that it prints: on a terminal, and on what is none.
check "rdmactl list to /dev/null" bash -c 'rdmactl list >/dev/null'
terminal=(python3 -c 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))')
check "rdmactl gc to a terminal" "${terminal[@]}" rdmactl gc
check "rdmactl list --watch draws until it is ended" "${terminal[@]}" bash -c 'timeout 3 rdmactl list --watch; test $? = 124'
refused "rdmactl list --watch wants a terminal" 'draws on a terminal' bash -c 'rdmactl list --watch >/dev/null'
nothing_unlisted "a program that prints"

for mode in "${modes[@]}"; do
    if ! mode_up; then
        echo "# $mode: not here ($reason)"
        continue
    fi
    nothing_unlisted "$mode: set-up"
    world >"$work/before"
    # Each way in has calls of its own: precreate declares, plain hooks grant, rdma-runtime does its work apart.
    for engine in "${engines[@]}"; do try; done
    mode_down
    nothing_unlisted "$mode: end"
done
[[ -z ${dockerd:-} ]] || end_dockerd TERM
finish
