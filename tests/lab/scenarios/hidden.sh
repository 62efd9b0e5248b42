#!/bin/bash
# A container's /sys/class shows its own RDMA devices, whoever comes later; what is in it works as before.
#   tests/lab/run [--exclusive] --kernel 7.3 tests/lab/scenarios/hidden.sh [RUNTIME...]
# RUNTIMEs: crun and runc unless given.
source "${BASH_SOURCE[0]%/*}/podman-lib.sh"
[[ ${1:-} != --full ]] || shift
runtimes=("$@")
[[ $# -gt 0 ]] || runtimes=(crun runc)

modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1
podman run --rm --rootfs $rootfs true

start() { # NAME [OPTION...]: a container that waits
    attach "$1" mode=softroce -- "${@:2}"
}
shows() { podman exec "$1" ls "/sys/class/$2" 2>/dev/null | grep -v abi_version | xargs; }
node() { podman exec "$1" ls /dev/infiniband | grep uverbs | xargs; }
sees_its_own() { # CONTAINER WHEN
    equal "$runtime: $1 sees its own device $2" "$(environment "$1" RDMA_DEVICE)" "$(shows "$1" infiniband)"
    equal "$runtime: $1 sees its own node $2" "$(node "$1")" "$(shows "$1" infiniband_verbs)"
}

works() {
    local device
    device=$(environment a RDMA_DEVICE)
    check "$runtime: the device's entry leads into sysfs" podman exec a cat "/sys/class/infiniband/$device/ports/1/gids/0" "/sys/class/infiniband_verbs/$(node a)/dev" "/sys/class/infiniband_verbs/$(node a)/ibdev"
    refused "$runtime: nobody can write there" 'Read-only|Permission|not permitted' podman exec a touch /sys/class/infiniband/x
    check "$runtime: somebody without root can read there" podman exec -u 65534 a ls "/sys/class/infiniband/$device/ports" /sys/class/infiniband_verbs
    equal "$runtime: ibv_devices lists one device" 1 "$(podman exec a ibv_devices | grep -c rxe)"
    # Without netlink (old rdma-core, seccomp) libibverbs goes by these folders.
    check "$runtime: ibv_devinfo finds it" podman exec a ibv_devinfo -d "$device"
    podman exec a timeout 100 rdma-perf serve --bind 0.0.0.0 --once >"$work/server" 2>&1 &
    wait_for 30 listening a 18600
    check "$runtime: rdma-perf passes, verified" podman exec b timeout 100 rdma-perf run 10.9.0.1 --time 0.3s --size 4096 --verb write,send --mode bw
    kill %% 2>/dev/null
    wait
    podman exec a timeout 100 ib_write_bw -d "$device" -n 200 >"$work/server" 2>&1 &
    wait_for 30 listening a 18515
    check "$runtime: ib_write_bw -d passes" podman exec b timeout 100 ib_write_bw -d "$(environment b RDMA_DEVICE)" -n 200 10.9.0.1
    wait
    ((!LAB_EXCLUSIVE)) || return
    check "$runtime: rping passes" rping_passes b a 10.9.0.1
}

many_devices() {
    check "$runtime: two devices" start c --annotation rdma.ip=10.9.0.3/24 --annotation rdma.1.mode=softroce --annotation rdma.1.ip=10.9.1.3/24
    equal "$runtime: both are seen" "$(printf '%s\n' "$(environment c RDMA_DEVICE)" "$(environment c RDMA_DEVICE_1)" | sort | xargs)" "$(shows c infiniband)"
    podman rm -f -t 0 c >/dev/null 2>&1
    check "$runtime: one that joins" start c --annotation rdma.ip=10.9.0.1/24 --network container:a
    sees_its_own c "as a guest of a"
    podman rm -f -t 0 c >/dev/null 2>&1
    sees_its_own a "after its guest went"
}

left_alone() {
    local all
    all=$(find /sys/class/infiniband -mindepth 1 | wc -l)
    check "$runtime: a privileged container" start c --privileged --annotation rdma.ip=10.9.0.3/24
    equal "$runtime: sees what the host sees" $((all + 1)) "$(shows c infiniband | wc -w)"
    podman rm -f -t 0 c >/dev/null 2>&1
    check "$runtime: a /sys of the user's" start c -v /sys:/sys:ro --annotation rdma.ip=10.9.0.3/24
    equal "$runtime: stays as it is" $((all + 1)) "$(shows c infiniband | wc -w)"
    podman rm -f -t 0 c >/dev/null 2>&1
    mkdir -p "$work/own/mine"
    check "$runtime: a mount of the user's there" start c -v "$work/own:/sys/class/infiniband:ro" --annotation rdma.ip=10.9.0.3/24
    equal "$runtime: stays too" mine "$(shows c infiniband)"
    podman rm -f -t 0 c >/dev/null 2>&1
}

views() { find /run/rdma-hook/view -mindepth 1 2>/dev/null | wc -l; }

world >"$work/before"
for runtime in "${runtimes[@]}"; do
    check "$runtime: a starts" start a --annotation rdma.ip=10.9.0.1/24
    if ((LAB_EXCLUSIVE)); then
        equal "$runtime: in exclusive mode the kernel hides, and we need not" 0 "$(views)"
        equal "$runtime: a sees its own device" "$(environment a RDMA_DEVICE)" "$(shows a infiniband)"
    else
        sees_its_own a "when it starts"
    fi
    check "$runtime: b starts later" start b --annotation rdma.ip=10.9.0.2/24
    check "$runtime: the host has a device of its own later" rdma link add rxe_host type rxe netdev lab0
    if ((!LAB_EXCLUSIVE)); then
        sees_its_own a "with b and the host's there"
        sees_its_own b "with a and the host's there"
    fi
    works
    if ((!LAB_EXCLUSIVE)); then
        many_devices
        left_alone
    fi
    podman restart -t 0 b >/dev/null 2>&1
    ((LAB_EXCLUSIVE)) || sees_its_own b "after a restart"
    kill -9 "$(podman inspect -f '{{.State.Pid}}' b)"
    podman rm -f -t 0 a b >/dev/null 2>&1
    rdma link delete rxe_host
    same_world "$runtime: nothing is left" "$work/before"
    equal "$runtime: no folder is left" 0 "$(views)"
done
clean_kernel_log
finish
