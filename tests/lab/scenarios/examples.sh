#!/bin/bash
# What stands in examples/ and needs nothing but Podman: the quadlet under a real systemd, the plan. Where the other examples are run
# is in tests/lint/examples.py.
#   tests/lab/run --kernel 7.3 tests/lab/scenarios/examples.sh [--brief]
# --brief: the plan is read; the quadlet's service starts, serves and stops.
source "${BASH_SOURCE[0]%/*}/podman-lib.sh"
brief=0
[[ ${1:-} != --brief ]] || brief=1
source=${BASH_SOURCE[0]%/tests/*}
examples=$source/examples
modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1

two_rails() {
    rdmactl plan --spec "$examples/two-rails.json" >"$work/plan" 2>&1
    report $? "rdmactl plan --spec examples/two-rails.json" "$work/plan"
    check "it speaks of the first device" grep 10.9.0.1 "$work/plan"
    check "and of the second" grep 10.9.1.1 "$work/plan"
    ((!brief)) || return
    # The same annotations in a container.
    local words=()
    mapfile -t words < <(jq -r '.annotations | to_entries[] | "--annotation", "\(.key)=\(.value)"' "$examples/two-rails.json")
    equal "a container has both" 2 "$(podman run --rm "${words[@]}" --rootfs $rootfs ibv_devices | grep -c rxe)"
    same_world "nothing is left of it" "$work/before"
}

# A systemd of root's own, in a control group of its own. PID 1 here is none; it would not start if it knew.
start_systemd() {
    local group=/sys/fs/cgroup/systemd-lab
    export XDG_RUNTIME_DIR=/run/user/0
    mkdir -p $group $XDG_RUNTIME_DIR /run/systemd/system
    chmod 700 $XDG_RUNTIME_DIR
    bash -c "echo \$\$ >$group/cgroup.procs && exec /usr/lib/systemd/systemd --user" >"$work/systemd" 2>&1 &
    systemd=$!
    wait_for 60 systemctl --user show-environment
}
# podman's own wait for the service: it is active when the container runs.
serves() { nsenter -t "$(podman inspect -f '{{.State.Pid}}' systemd-rdma-server)" -n ss -Hltn 'sport = :18600' | grep -q .; }
quadlet() {
    local units=/etc/containers/systemd/users
    podman import /usr/lib/lab/image.tar localhost/rdma:latest >"$work/out" 2>&1 || report 1 "an image" "$work/out"
    mkdir -p $units/rdma-server.container.d
    cp "$examples/quadlet/rdma-server.container" $units/
    # The lab's image has no /usr of its own; and a user's systemd would wait 90 s for a network-online.target that no one here reaches.
    printf '[Quadlet]\nDefaultDependencies=false\n[Container]\nVolume=/usr/lib/lab/rootfs/usr:/usr:O\n' >$units/rdma-server.container.d/usr.conf
    check "a systemd starts" start_systemd
    check "systemctl start rdma-server" systemctl --user start rdma-server
    check "its container has a device, and rdma-perf serves" wait_for 60 serves
    equal "which is its own" 1 "$(podman exec systemd-rdma-server ibv_devices | grep -c rxe)"
    check "another container measures it" podman run --rm --timeout 100 --annotation rdma.mode=softroce --annotation rdma.ip=10.9.0.2/24 "${with_perf[@]}" \
        --rootfs $rootfs rdma-perf run 10.9.0.1 --verb write --mode bw --size 4K --time 200ms
    if ((!brief)); then
        check "systemctl restart" systemctl --user restart rdma-server
        check "it serves again" wait_for 60 serves
    fi
    check "systemctl stop" systemctl --user stop rdma-server
    systemctl --user exit
    wait $systemd
    rmdir /run/systemd/system
    ((!failed)) || tail -n 20 "$work/systemd" | sed 's/^/# /'
    same_world "nothing is left of the service" "$work/before"
}

((brief)) || podman run --rm --rootfs $rootfs true
world >"$work/before"
two_rails
quadlet
clean_kernel_log
finish
