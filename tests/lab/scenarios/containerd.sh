#!/bin/bash
# softroce under containerd by `ctr --runc-binary rdma-runtime`: annotation in, verified RDMA out, everything taken back.
#   tests/lab/run --kernel 7.3 --timeout 900 tests/lab/scenarios/containerd.sh
source "${BASH_SOURCE[0]%/*}/lib.sh"
modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay || exit 1

start_containerd() {
    containerd >>/tmp/containerd.log 2>&1 &
    containerd=$!
    wait_for 60 ctr version
}
end_containerd() { # SIGNAL
    kill "-$1" $containerd
    wait $containerd 2>/dev/null
}
rootfs_of() { # NAME: a writable layer on the lab's root file system
    local dir=/tmp/rootfs/$1
    mountpoint -q "$dir/root" || {
        mkdir -p "$dir"/{root,upper,work}
        mount -t overlay overlay -o "lowerdir=/usr/lib/lab/rootfs,upperdir=$dir/upper,workdir=$dir/work" "$dir/root"
    }
    echo "$dir/root"
}
perf=(--mount 'type=bind,src=/usr/bin/rdma-perf,dst=/usr/bin/rdma-perf,options=bind:ro')
# Without an image nobody says what PATH is.
softroce=(--env PATH=/usr/sbin:/usr/bin:/sbin:/bin --runtime io.containerd.runc.v2 --runc-binary /usr/bin/rdma-runtime --annotation rdma.mode=softroce)
start() { # NAME ADDRESS [OPTION...]: a container that waits
    ctr run -d "${softroce[@]}" --annotation "rdma.ip=$2/24" "${perf[@]}" "${@:3}" --rootfs "$(rootfs_of "$1")" "$1" sleep 100000
}
execs=0
inside() { # NAME COMMAND...
    execs=$((execs + 1))
    ctr task exec --exec-id "e$BASHPID-$execs" "$@"
}
init_of() { ctr task ls | awk -v id="$1" '$1 == id { print $2 }'; }
is_status() { [[ $(ctr task ls | awk -v id="$1" '$1 == id { print $3 }') == "$2" ]]; }
end() { # NAME...
    local name
    for name; do
        ctr task delete --force "$name"
        ctr container delete "$name"
    done >/dev/null 2>&1
}
has_rxe() { inside "$1" ibv_devices | grep -q rxe; }
is_listening() { inside "$1" ss -Hltn "sport = :$2" | grep -q .; }
pair() { # WHAT PORT SERVER... -- CLIENT...: a server in `one`, a client in `two`
    local what=$1 port=$2 server=() status pid
    shift 2
    while [[ $1 != -- ]]; do server+=("$1"); shift; done
    shift
    inside one timeout 100 "${server[@]}" >"$work/server" 2>&1 &
    pid=$!
    wait_for 30 is_listening one "$port"
    inside two timeout 100 "$@" >"$work/out" 2>&1
    status=$?
    wait $pid
    cat "$work/server" >>"$work/out"
    report $status "$what" "$work/out"
}

traffic() {
    check "one starts" start one 10.9.0.1
    check "two starts" start two 10.9.0.2
    equal "rdmactl shows it by containerd's id" live "$(rdmactl show one --json | jq -r .container.state)"
    equal "ibv_devices lists one device" 1 "$(inside one ibv_devices | grep -c rxe)"
    equal "one verbs node" 1 "$(inside one ls /dev/infiniband | grep -c uverbs)"
    check "attach.json" inside one grep -q '"attached":true' /run/rdma/attach.json
    check "lo is up" inside one bash -c 'ip -br link show lo | grep -q UP'
    equal "rdma-runtime has left" "" "$(find /proc/[0-9]*/exe -lname '*rdma-runtime*' 2>/dev/null)"
    pair "rdma-perf passes, verified" 18600 rdma-perf serve --bind 0.0.0.0 --once -- rdma-perf run 10.9.0.1 --time 0.5s --size 4096
    pair "ib_write_bw passes unchanged" 18515 ib_write_bw -n 200 -- ib_write_bw -n 200 10.9.0.1
    end one two
    same_world "nothing is left after traffic" "$work/before"
}

ends() { # ways to die, each with a fresh container
    local way shim
    for way in kill init shim; do
        start one 10.9.0.1 >"$work/out" 2>&1 || report 1 "start before $way" "$work/out"
        case $way in
        kill) ctr task kill -s KILL one ;;
        init) kill -9 "$(init_of one)" ;;
        shim)
            shim=$(awk '{ print $4 }' "/proc/$(init_of one)/stat")
            kill -9 "$shim" "$(init_of one)"
            ;;
        esac >/dev/null 2>&1
        if [[ $way != shim ]]; then
            wait_for 30 is_status one STOPPED
            # Nothing of containerd's is called before somebody deletes the task: until then it is the timer's.
            check "$way: rdmactl gc takes back what nobody deleted" rdmactl gc
        fi
        same_world "$way: nothing is left" "$work/before" 60
        end one
        equal "$way: and containerd knows it no more" "" "$(ctr container ls -q)"
        same_world "$way: nothing is left after delete" "$work/before"
    done
    start one 10.9.0.1 >/dev/null 2>&1
    check "task delete --force" ctr task delete --force one
    same_world "task delete --force: nothing is left" "$work/before"
    ctr container delete one
    start one 10.9.0.1 >/dev/null 2>&1
    kill -9 "$(init_of one)"
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

dies() { # containerd, and comes back
    local pid
    start one 10.9.0.1 >/dev/null 2>&1
    end_containerd KILL
    check "containerd comes back after SIGKILL" start_containerd
    check "the container has gone on with its device" has_rxe one
    end one
    same_world "and is taken back" "$work/before" 60
    start one 10.9.0.1 >/dev/null 2>&1
    pid=$(init_of one)
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
dies
end_containerd TERM
[[ $failed == 0 ]] || tail -n 20 /tmp/containerd.log
clean_kernel_log
finish
