#!/bin/bash
# softroce under Podman, end to end: annotation in, verified RDMA out, everything taken back.
#   tests/lab/run --kernel 7.3 tests/lab/scenarios/podman.sh [--full|--brief] [RUNTIME...]
# RUNTIMEs: crun and runc unless given. 5 start/stop cycles; --full: 50; --brief: none, and one life of two containers.
source "${BASH_SOURCE[0]%/*}/podman-lib.sh"
cycles=5 brief=0 ways=(stop "rm -f" kill restart)
case ${1:-} in
--full) cycles=50; shift ;;
--brief) brief=1; shift ;;
esac
runtimes=("${@:-crun}")
[[ $# -gt 0 ]] || runtimes=(crun runc)
softroce=(--annotation rdma.mode=softroce)

modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1
# Podman makes its bridge and its own files with the first container: before we look what is there.
podman run --rm --rootfs $rootfs true

start() { # NAME ADDRESS [OPTION...]: a container that waits
    attach "$1" mode=softroce "ip=$2/24" -- "${@:3}"
}
serve_in_a() { # PORT SERVER...: in the background, once it listens
    podman exec a timeout 100 "${@:2}" >"$work/server" 2>&1 &
    wait_for 30 listening a "$1"
}
end_server() {
    kill %% 2>/dev/null
    wait
}
pair() { # WHAT PORT SERVER... -- CLIENT...: a server in `a`, a client in `b`
    local what=$1 port=$2 server=()
    shift 2
    while [[ $1 != -- ]]; do server+=("$1"); shift; done
    shift
    serve_in_a "$port" "${server[@]}"
    podman exec b timeout 100 "$@" >"$work/out" 2>&1
    local status=$?
    end_server
    cat "$work/server" >>"$work/out"
    report $status "$what" "$work/out"
}

traffic() {
    local each
    for each in a b; do
        equal "$runtime: ibv_devices in $each lists one device" 1 "$(podman exec $each ibv_devices | grep -c rxe)"
    done
    check "$runtime: rdmactl verify, by name, with the host's rdma-perf" rdmactl verify podman:b a
    check "$runtime: rdma-perf doctor finds nothing wrong in a" podman exec a rdma-perf doctor
    pair "$runtime: rdma-perf passes, verified" 18600 rdma-perf serve --bind 0.0.0.0 --once -- rdma-perf run 10.9.0.1 --time 0.5s --size 4096
    serve_in_a 18600 rdma-perf serve --bind 10.9.0.1 --once
    check "$runtime: rdmactl verify, against a server at an address" rdmactl verify "$(podman inspect -f '{{.Id}}' b)" 10.9.0.1
    end_server
    refused "$runtime: rdmactl verify says what to start where nobody serves" 'rdma-perf serve --bind' rdmactl verify "$(podman inspect -f '{{.Id}}' b)" 10.9.0.1
    pair "$runtime: ib_write_bw passes unchanged" 18515 ib_write_bw -n 200 -- ib_write_bw -n 200 10.9.0.1
    pair "$runtime: ib_send_lat passes unchanged" 18515 ib_send_lat -n 200 -- ib_send_lat -n 200 10.9.0.1
    if ((LAB_EXCLUSIVE)); then
        refused "$runtime: no rdma_cm in exclusive mode, and attach.json says so" '"rdma_cm":true' podman exec a grep '"rdma_cm":true' /run/rdma/attach.json
        return
    fi
    check "$runtime: rping passes unchanged" rping_passes b a 10.9.0.1
}

# Podman's commands take an emulated guest two to four seconds each.
one_life() {
    check "$runtime: a starts" start a 10.9.0.1
    check "$runtime: b starts" start b 10.9.0.2 --network none
    equal "$runtime: podman exec finds one device, and rdma-perf doctor nothing wrong" "1 well" \
        "$(podman exec a bash -c 'ibv_devices | grep -c rxe; rdma-perf doctor >&2 && echo well' 2>"$work/said" | xargs)"
    check "$runtime: rdmactl verify, by name, with the host's rdma-perf" rdmactl verify podman:b a
    pod rm -f -t 0 b >/dev/null 2>&1
    check "$runtime: restart" pod restart -t 0 a
    check "$runtime: and it has its device again" podman_inside a bash -c 'ibv_devices | grep -q rxe'
    kill -9 "$(podman_init a)"
    same_world "$runtime: nothing is left after SIGKILL of the init" "$work/before"
    pod rm -f -t 0 a >/dev/null 2>&1
    refused "$runtime: a command that does not exist" . pod run --rm "${softroce[@]}" --annotation rdma.ip=10.9.0.1/24 --rootfs $rootfs /no/such/command
    refused "$runtime: a create that fails after precreate" . fails_after_precreate
    rdmactl gc >/dev/null
    same_world "$runtime: gc undoes it" "$work/before"
}
fails_after_precreate() {
    pod run --rm --name a "${softroce[@]}" --annotation rdma.ip=10.9.0.1/24 -v /no/such/folder:/x --mount type=bind,src=/proc/1/nothing,dst=/y --rootfs $rootfs true
}

ends() { # ways to die, each with a fresh container
    local way start
    for way in "${ways[@]}"; do
        start a 10.9.0.1 >"$work/out" 2>&1 || report 1 "$runtime: start before $way" "$work/out"
        start=$(now_ms)
        case $way in
        stop) pod stop -t 0 a ;;
        "rm -f") pod rm -f -t 0 a ;;
        kill) # SIGKILL of the init; the engine learns of it by itself
            kill -9 "$(podman inspect -f '{{.State.Pid}}' a)"
            is_exited() { [[ $(podman inspect -f '{{.State.Status}}' a) == exited ]]; }
            wait_for 30 is_exited
            ;;
        restart) pod restart -t 0 a && pod stop -t 0 a ;;
        esac >/dev/null 2>&1
        echo "# $runtime: $way took $(($(now_ms) - start)) ms"
        same_world "$runtime: nothing is left after $way" "$work/before"
        podman rm -f -t 0 a >/dev/null 2>&1
    done
}

failing_creates() {
    refused "$runtime: a command that does not exist" . pod run --rm --name a "${softroce[@]}" --annotation rdma.ip=10.9.0.1/24 --rootfs $rootfs /no/such/command
    # runc calls poststop after a create that failed, crun does not.
    [[ $runtime != crun ]] || equal "crun: list shows what the failed create left" dead "$(rdmactl list --json | jq -r '.containers[].state')"
    start b 10.9.0.1 >"$work/out" 2>&1
    report $? "$runtime: the next attach gets the failed one's address" "$work/out"
    pod rm -f -t 0 b >/dev/null 2>&1
    same_world "$runtime: nothing is left after a failed create and the next attach" "$work/before"
    refused "$runtime: a create that fails after precreate" . fails_after_precreate
    rdmactl gc >/dev/null
    same_world "$runtime: gc undoes it" "$work/before"
}

# One is stopped, then its peer, while a TCP connection over rdma0 is open between them.
open_connection() {
    start a 10.9.0.1 >/dev/null 2>&1
    start b 10.9.0.2 >/dev/null 2>&1
    podman exec -d a python3 -c 'import socket,time; s=socket.create_server(("10.9.0.1",7000)); c,_=s.accept(); c.recv(9); time.sleep(9999)'
    wait_for 30 listening a 7000
    podman exec -d b python3 -c 'import socket,time; s=socket.create_connection(("10.9.0.1",7000)); s.sendall(b"x"); time.sleep(9999)'
    connected() { podman exec b ss -Htn state established | grep -q 7000; }
    check "$runtime: a TCP connection over rdma0 is open" wait_for 30 connected
    pod stop -t 0 a >/dev/null 2>&1
    pod stop -t 0 b >/dev/null 2>&1
    # The namespace itself may live on with its orphaned socket; what counts is that nothing of ours does.
    world | grep -v '^namespaces' >"$work/now"
    grep -v '^namespaces' "$work/before" | diff - "$work/now" >"$work/out"
    report $? "$runtime: nothing of rdma-hook is left when both are stopped, connection or not" "$work/out"
    podman rm -f a b >/dev/null 2>&1
    same_world "$runtime: the namespace goes too" "$work/before" 150
}

sharing() {
    start a 10.9.0.1 >/dev/null 2>&1
    check "$runtime: an equal request joins the container's network" start b 10.9.0.1 --network container:a
    equal "$runtime: both have the same device" "$(environment a RDMA_DEVICE)" "$(environment b RDMA_DEVICE)"
    refused "$runtime: another request is refused" 'other rdma.\* annotations' start c 10.9.0.3 --network container:a
    podman rm -f c >/dev/null 2>&1
    pod stop -t 0 b >/dev/null 2>&1
    check "$runtime: the joined one's end takes nothing" podman exec a ibv_devinfo -d "$(environment a RDMA_DEVICE)"
    podman rm -f -t 0 b >/dev/null 2>&1
    start b 10.9.0.1 --network container:a >/dev/null 2>&1
    pod stop -t 0 a >/dev/null 2>&1
    check "$runtime: the network's owner ends and takes nothing either" podman exec b ibv_devinfo -d "$(environment b RDMA_DEVICE)"
    podman rm -f -t 0 b >/dev/null 2>&1
    podman rm -f -t 0 a >/dev/null 2>&1
    same_world "$runtime: nothing is left after sharing" "$work/before"
}

networks() {
    check "$runtime: --network none" start a 10.9.0.1 --network none
    check "$runtime: lo is up there" podman exec a bash -c 'ip -br link show lo | grep -q UP'
    podman network create lab-net >/dev/null 2>&1
    check "$runtime: a named network" start b 10.9.0.2 --network lab-net
    pair "$runtime: they talk" 18600 rdma-perf serve --bind 0.0.0.0 --once -- rdma-perf run 10.9.0.1 --time 0.2s --size 4096 --verb write --mode bw
    podman rm -f -t 0 a b >/dev/null 2>&1
    podman network rm -f lab-net >/dev/null 2>&1
    check "$runtime: a pod" pod pod create --name p
    check "$runtime: a container of a pod" start a 10.9.0.1 --pod p
    podman pod rm -f -t 0 p >/dev/null 2>&1
    check "$runtime: the container's own interface carries rxe" pod run --rm "${softroce[@]}" --annotation rdma.parent=container --rootfs $rootfs bash -c 'ibv_devices | grep -q rxe && [[ $RDMA_NETDEV == eth0 ]]'
    refused "$runtime: --network host is refused" 'leave out --network host' pod run --rm "${softroce[@]}" --network host --rootfs $rootfs true
    refused "$runtime: a user namespace is refused" 'leave out --userns' pod run --rm "${softroce[@]}" --uidmap 0:100000:65536 --gidmap 0:100000:65536 --rootfs $rootfs true
    same_world "$runtime: nothing is left after all networks" "$work/before"
}

bystanders() {
    cp "$(command -v busybox)" "$work/busybox"
    printf 'FROM scratch\nCOPY busybox /busybox\nRUN ["/busybox", "true"]\n' >"$work/Containerfile"
    local state
    mkdir -p /etc/rdma-hook
    for state in "as it is" broken; do
        [[ $state != broken ]] || echo '{"polls":' >/etc/rdma-hook/config.json
        check "$runtime: podman build with a RUN step, configuration $state" pod build --network none -f "$work/Containerfile" "$work"
        check "$runtime: a container without rdma.*, configuration $state" pod run --rm --rootfs $rootfs true
    done
    refused "$runtime: one with rdma.* is refused while the configuration is broken" 'config.json' pod run --rm "${softroce[@]}" --rootfs $rootfs true
    rm -f /etc/rdma-hook/config.json
}

many_cycles() {
    local i start
    start=$(now_ms)
    for ((i = 0; i < cycles; i++)); do
        pod run --rm "${softroce[@]}" --annotation rdma.ip=10.9.0.1/24 --rootfs $rootfs ibv_devices >"$work/out" 2>&1 || report 1 "$runtime: cycle $i" "$work/out"
    done
    same_world "$runtime: $cycles start/stop cycles leave nothing ($((($(now_ms) - start) / cycles)) ms each)" "$work/before"
}

world >"$work/before"
for runtime in "${runtimes[@]}"; do
    ((!brief)) || { one_life; continue; }
    check "$runtime: a starts" start a 10.9.0.1
    check "$runtime: b starts" start b 10.9.0.2
    traffic
    podman rm -f -t 0 a b >/dev/null 2>&1
    same_world "$runtime: nothing is left after traffic" "$work/before"
    ends
    failing_creates
    many_cycles
    sharing
    networks
    open_connection
    bystanders
done
clean_kernel_log
finish
