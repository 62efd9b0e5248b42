#!/bin/bash
# SoftRoCE on another processor: containers of bare bundles in two ways in, and of the image of rdma-perf. Traffic is verified, and one
# ends by force. No call is outside of the lists of netns/base/confine_calls.cc, whose numbers are others there. tests/lab/arm64 runs it.
source "${BASH_SOURCE[0]%/*}/engines-lib.sh"

start() { attach "$1" mode=softroce parent=lab0 ip="10.9.0.$2/24" "${@:3}"; }
traffic() {
    serve one 18600 rdma-perf serve --bind 10.9.0.1 --once &&
        inside two timeout 200 rdma-perf run 10.9.0.1 --verb write,send --mode bw --time 0.2s --size 4096 && served_once one
}

modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay || exit 1
equal "the machine is another" aarch64 "$(uname -m)"
# One instruction of BPF: SECCOMP_RET_KILL_PROCESS for each call. Only then does a log without lines say anything.
printf '\x06\0\0\0\0\0\0\x80' >"$work/kill"
refused "a forbidden call kills" . bash -c 'setpriv --seccomp-filter "$1" true; echo "status $?"; exit 1' bash "$work/kill"
equal "the kernel's log has it" 1 "$(dmesg | grep -c 'type=1326 .*comm="setpriv"')"
dmesg -C
world >"$work/before"
for engine in prepared crun; do
    check "$engine: one starts" start one 1
    check "$engine: two starts" start two 2
    equal "$engine: one sees one device" 1 "$(devices one | wc -w)"
    check "$engine: rdma-perf passes, verified" traffic
    for verb in list stats "doctor host" "gc --dry-run"; do
        # shellcheck disable=SC2086 # words
        rdmactl $verb >"$work/out" 2>&1
        (($? < 128))
        report $? "$engine: rdmactl $verb is not killed" "$work/out"
    done
    kill -9 "$(init_of one)"
    drop one two
    check "$engine: rdmactl gc" rdmactl gc
    same_world "$engine: nothing is left" "$work/before"
    refused "$engine: an annotation that there is not" nonsense attach three mode=softroce nonsense=1
    drop three
done

check "the image of rdma-perf is made of what is installed" "${BASH_SOURCE[0]%/tests/*}/packaging/image/make" "$work/image"
engine=crun
check "one starts" start one 1
command=(rdma-perf serve --bind 10.9.0.2)
check "a container of the image starts" start image 2 -- \
    ".root.path = \"$work/image/root\" | del(.mounts[] | select(.destination == \"/usr/bin/rdma-perf\"))"
equal "it runs the image's program" "$(rdma-perf --version)" "$(inside image rdma-perf --version)"
check "it serves, verified" wait_for 60 inside one timeout 200 rdma-perf run 10.9.0.2 --verb write,send --mode bw --time 0.2s --size 4096
drop one image
same_world "nothing is left of it" "$work/before"

dmesg | grep 'type=1326' >"$work/out"
[[ ! -s $work/out ]]
report $? "no call outside of the list" "$work/out"
clean_kernel_log
finish
