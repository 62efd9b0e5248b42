#!/bin/bash
# softroce under containerd by `ctr --runc-binary rdma-runtime`: annotation in, verified RDMA out, everything taken back.
#   tests/lab/run --kernel 7.3 --timeout 900 tests/lab/scenarios/containerd.sh [--full]
# --full: every way to end; without, matrix.sh has some of them.
source "${BASH_SOURCE[0]%/*}/engines-lib.sh"
ways=(shim)
[[ ${1:-} != --full ]] || ways=(kill init shim)
modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay || exit 1

softroce=("${by_shim[@]}" --annotation rdma.mode=softroce)
start() { # NAME ADDRESS [OPTION...]: a container that waits
    containerd_start "$1" mode=softroce "ip=$2/24" -- "${@:3}"
}
is_status() { [[ $(ctr task ls | awk -v id="$1" '$1 == id { print $3 }') == "$2" ]]; }
end() { # NAME...
    local name
    for name; do containerd_remove "$name"; done >/dev/null 2>&1
}
has_rxe() { containerd_inside "$1" ibv_devices | grep -q rxe; }
pair() { check "$1" talk containerd one two "${@:2}"; } # WHAT PORT SERVER... -- CLIENT...

traffic() {
    check "one starts" start one 10.9.0.1
    check "two starts" start two 10.9.0.2
    equal "rdmactl shows it by containerd's id" live "$(rdmactl show one --json | jq -r .container.state)"
    equal "ibv_devices lists one device" 1 "$(containerd_inside one ibv_devices | grep -c rxe)"
    equal "one verbs node" 1 "$(containerd_inside one ls /dev/infiniband | grep -c uverbs)"
    check "attach.json" containerd_inside one grep -q '"attached":true' /run/rdma/attach.json
    check "lo is up" containerd_inside one bash -c 'ip -br link show lo | grep -q UP'
    equal "rdma-runtime has left" "" "$(find /proc/[0-9]*/exe -lname '*rdma-runtime*' 2>/dev/null)"
    pair "rdma-perf passes, verified" 18600 rdma-perf serve --bind 0.0.0.0 --once -- rdma-perf run 10.9.0.1 --time 0.5s --size 4096
    pair "ib_write_bw passes unchanged" 18515 ib_write_bw -n 200 -- ib_write_bw -n 200 10.9.0.1
    end one two
    same_world "nothing is left after traffic" "$work/before"
}

ends() { # ways to die, each with a container of its own: where the clean-up after a shim takes containerd more than 5 s, the name is lost
    local way shim
    for way in "${ways[@]}"; do
        start "$way" 10.9.0.1 >"$work/out" 2>&1 || report 1 "start before $way" "$work/out"
        case $way in
        kill) ctr task kill -s KILL "$way" ;;
        init) kill -9 "$(containerd_init "$way")" ;;
        shim)
            shim=$(awk '{ print $4 }' "/proc/$(containerd_init "$way")/stat")
            kill -9 "$shim" "$(containerd_init "$way")"
            ;;
        esac >/dev/null 2>&1
        if [[ $way != shim ]]; then
            wait_for 30 is_status "$way" STOPPED
            # Nothing of containerd's is called before somebody deletes the task: until then it is the timer's.
            check "$way: rdmactl gc takes back what nobody deleted" rdmactl gc
        fi
        same_world "$way: nothing is left" "$work/before" 60
        end "$way"
        equal "$way: and containerd has forgotten it" "" "$(ctr container ls -q)"
        same_world "$way: nothing is left after delete" "$work/before"
    done
    start one 10.9.0.1 >/dev/null 2>&1
    check "task delete --force" ctr task delete --force one
    same_world "task delete --force: nothing is left" "$work/before"
    ctr container delete one
    start one 10.9.0.1 >/dev/null 2>&1
    kill -9 "$(containerd_init one)"
    wait_for 30 is_status one STOPPED
    ctr task delete one >/dev/null
    same_world "kill -9, then task delete: nothing is left" "$work/before"
    check "and the same container starts again" ctr task start -d one
    check "with its device" has_rxe one
    end one
    same_world "nothing is left of it" "$work/before"
}

failing() {
    refused "a command that does not exist" 'no/such/command' ctr run --rm "${softroce[@]}" --annotation rdma.ip=10.9.0.1/24 --rootfs "$(rootfs_of one)" one /no/such/command
    end one
    same_world "nothing is left after it" "$work/before"
    refused "a typing error is shown to the person" 'did you mean rdma.mode' ctr run --rm --runc-binary /usr/bin/rdma-runtime --annotation rdma.mod=softroce --rootfs "$(rootfs_of one)" one true
    end one
    refused "--net-host is refused" 'network' ctr run --rm "${softroce[@]}" --net-host --rootfs "$(rootfs_of one)" one true
    end one
    same_world "nothing is left after refusals" "$work/before"
    check "without rdma.* it is runc" ctr run --rm --env PATH=/bin --runc-binary /usr/bin/rdma-runtime --rootfs "$(rootfs_of one)" one true
    end one
}

namespaces() { # a network namespace that another made, as CNI does
    ip netns add cni-1
    world >"$work/with-ns"
    check "into a namespace that is there" start one 10.9.0.1 --with-ns network:/run/netns/cni-1
    check "an equal one joins it" start two 10.9.0.1 --with-ns network:/run/netns/cni-1
    end two
    check "the joined one's end takes nothing" has_rxe one
    end one
    same_world "nothing is left in it" "$work/with-ns"
    ip netns delete cni-1
    same_world "nor after it" "$work/before"
}

pods() { # what containerd's CRI writes of a pod's container: its annotations are its author's
    local pod=("${softroce[@]}" --annotation io.kubernetes.cri.container-type=container --annotation rdma.ip=10.9.0.1/24
        --annotation rdma.parent=lab0 --rootfs "$(rootfs_of one)" one true)
    rm -f /etc/rdma-hook/config.json
    refused "a pod is refused without a policy" 'starter-policy' ctr run --rm "${pod[@]}"
    end one
    same_world "nothing is left of it" "$work/before"
    mkdir -p /etc/rdma-hook
    echo '{"policy": {"modes": []}}' >/etc/rdma-hook/config.json
    refused "and with one that allows nothing" 'policy.modes' ctr run --rm "${pod[@]}"
    end one
    echo '{"policy": {"modes": ["softroce"], "parents": ["lab0"], "addresses": ["10.9.0.0/24"]}}' >/etc/rdma-hook/config.json
    check "and starts with one that allows it" ctr run --rm "${pod[@]}"
    rm /etc/rdma-hook/config.json
    end one
    same_world "nothing is left of pods" "$work/before"
}

image() { # of rdma-perf, by its archive
    local top=${BASH_SOURCE[0]%/tests/*} archive=$work/rdma-perf.oci.tar
    check "the image of rdma-perf is made" "$top/packaging/image/make" "$work/image"
    check "and an archive of it" python3 -B "$top/packaging/oci.py" "$work/image" "$archive"
    check "ctr images import takes it" ctr images import "$archive"
    check "it measures in its container" ctr run --rm "${softroce[@]}" --annotation rdma.ip=10.9.0.1/24 localhost/rdma-perf:latest one \
        /usr/bin/rdma-perf loop --verb write --mode bw --size 64 --iterations 200
    end one
    same_world "nothing is left of it" "$work/before"
    check "the image goes" ctr images rm --sync localhost/rdma-perf:latest
}

dies() { # containerd, and comes back
    local pid
    start one 10.9.0.1 >/dev/null 2>&1
    end_containerd KILL
    check "containerd comes back after SIGKILL" start_containerd
    check "the container has gone on with its device" has_rxe one
    end one
    same_world "and is taken back" "$work/before" 60
    start one 10.9.0.1 >/dev/null 2>&1
    pid=$(containerd_init one)
    end_containerd KILL
    kill -9 "$pid"
    check "its init dies without containerd: which comes back" start_containerd
    wait_for 30 is_status one STOPPED
    end one
    same_world "and nothing is left" "$work/before" 60
}

check "containerd starts" start_containerd
world >"$work/before"
traffic
ends
failing
namespaces
pods
[[ ${1:-} != --full ]] || image
dies
end_containerd TERM
[[ $failed == 0 ]] || grep -E "level=(warning|error|fatal)" /tmp/containerd.log | tail -n 20 | sed "s/^/# /"
clean_kernel_log
finish
