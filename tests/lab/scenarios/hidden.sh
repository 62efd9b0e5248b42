#!/bin/bash
# A container's /sys/class shows its own RDMA devices, whoever comes later; what is in it works as before.
#   tests/lab/run [--exclusive] --kernel 7.3 tests/lab/scenarios/hidden.sh [RUNTIME...]
# RUNTIMEs: crun and runc unless given.
source "${BASH_SOURCE[0]%/*}/bundles-lib.sh"
[[ ${1:-} != --full ]] || shift
runtimes=("$@")
[[ $# -gt 0 ]] || runtimes=(crun runc)

modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1

start() { attach "$1" mode=softroce "${@:2}"; } # NAME KEY=VALUE... [-- JQ]
shows() { inside "$1" ls "/sys/class/$2" 2>/dev/null | grep -v abi_version | xargs; }
node() { inside "$1" ls /dev/infiniband | grep uverbs | xargs; }

# As Podman has config.json with --privileged, and with a volume.
# shellcheck disable=SC2016 # jq's
privileged='.linux.resources.devices = [{allow: true, access: "rwm"}] | .process.capabilities |= map_values(. + ["CAP_SYS_ADMIN"])
    | del(.linux.maskedPaths, .linux.readonlyPaths) | (.mounts[] | select(.destination == "/sys").options) -= ["ro"]'
hosts_sys='(.mounts[] | select(.destination == "/sys")) = {destination: "/sys", type: "bind", source: "/sys", options: ["rbind", "ro"]}'
over_class() { echo ".mounts += [{destination: \"/sys/class/infiniband\", type: \"bind\", source: \"$1\", options: [\"rbind\", \"ro\"]}]"; } # FOLDER
sees_its_own() { # CONTAINER WHEN
    equal "$runtime: $1 sees its own device $2" "$(environment "$1" RDMA_DEVICE)" "$(shows "$1" infiniband)"
    equal "$runtime: $1 sees its own node $2" "$(node "$1")" "$(shows "$1" infiniband_verbs)"
}

works() {
    local device
    device=$(environment a RDMA_DEVICE)
    check "$runtime: the device's entry leads into sysfs" inside a cat "/sys/class/infiniband/$device/ports/1/gids/0" "/sys/class/infiniband_verbs/$(node a)/dev" "/sys/class/infiniband_verbs/$(node a)/ibdev"
    refused "$runtime: nobody can write there" 'Read-only|Permission|not permitted' inside a touch /sys/class/infiniband/x
    check "$runtime: somebody without root can read there" inside a setpriv --reuid 65534 --clear-groups ls "/sys/class/infiniband/$device/ports" /sys/class/infiniband_verbs
    equal "$runtime: ibv_devices lists one device" 1 "$(inside a ibv_devices | grep -c rxe)"
    # Without netlink (old rdma-core, seccomp) libibverbs goes by these folders.
    check "$runtime: ibv_devinfo finds it" inside a ibv_devinfo -d "$device"
    serve a 18600 rdma-perf serve --bind 0.0.0.0 --once
    check "$runtime: rdma-perf passes, verified" inside b timeout 100 rdma-perf run 10.9.0.1 --time 0.3s --size 4096 --verb write,send --mode bw
    end_server a
    serve a 18515 ib_write_bw -d "$device" -n 200
    check "$runtime: ib_write_bw -d passes" inside b timeout 100 ib_write_bw -d "$(environment b RDMA_DEVICE)" -n 200 10.9.0.1
    end_server a
    ((!LAB_EXCLUSIVE)) || return
    check "$runtime: rping passes" rping_passes b a 10.9.0.1
}

many_devices() {
    check "$runtime: two devices" start c ip=10.9.0.3/24 1.mode=softroce 1.ip=10.9.1.3/24
    equal "$runtime: both are seen" "$(printf '%s\n' "$(environment c RDMA_DEVICE)" "$(environment c RDMA_DEVICE_1)" | sort | xargs)" "$(shows c infiniband)"
    drop c
    check "$runtime: one that joins" start c ip=10.9.0.1/24 -- "$(in_netns "/proc/$(init_of a)/ns/net")"
    sees_its_own c "as a guest of a"
    drop c
    sees_its_own a "after its guest went"
}

left_alone() {
    local all
    all=$(find /sys/class/infiniband -mindepth 1 | wc -l)
    check "$runtime: a privileged container" start c ip=10.9.0.3/24 -- "$privileged"
    equal "$runtime: sees what the host sees" $((all + 1)) "$(shows c infiniband | wc -w)"
    drop c
    check "$runtime: a /sys of the user's" start c ip=10.9.0.3/24 -- "$hosts_sys"
    equal "$runtime: stays as it is" $((all + 1)) "$(shows c infiniband | wc -w)"
    drop c
    mkdir -p "$work/own/mine"
    check "$runtime: a mount of the user's there" start c ip=10.9.0.3/24 -- "$(over_class "$work/own")"
    equal "$runtime: stays too" mine "$(shows c infiniband)"
    drop c
}

views() { find /run/rdma-hook/view -mindepth 1 2>/dev/null | wc -l; }

world >"$work/before"
for runtime in "${runtimes[@]}"; do
    check "$runtime: a starts" start a ip=10.9.0.1/24
    if ((LAB_EXCLUSIVE)); then
        equal "$runtime: in exclusive mode the kernel hides, and we need not" 0 "$(views)"
        equal "$runtime: a sees its own device" "$(environment a RDMA_DEVICE)" "$(shows a infiniband)"
    else
        sees_its_own a "when it starts"
    fi
    check "$runtime: b starts later" start b ip=10.9.0.2/24
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
    drop b
    check "$runtime: b starts again" start b ip=10.9.0.2/24
    ((LAB_EXCLUSIVE)) || sees_its_own b "when it has started again"
    end_by kill b
    drop a
    rdma link delete rxe_host
    same_world "$runtime: nothing is left" "$work/before"
    equal "$runtime: no folder is left" 0 "$(views)"
done
clean_kernel_log
finish
