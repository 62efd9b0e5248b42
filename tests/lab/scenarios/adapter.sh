#!/bin/bash
# Mode vf on VFs with an RDMA device of their own, and mode shared on a PF's: QEMU's igb, and the lab's double of an adapter's RDMA
# driver (rdma_rxe with lab_hw=1), in RDMA mode shared or exclusive.
#   tests/lab/run --hca --nics igb [--kernel 7.3] [--exclusive] tests/lab/scenarios/adapter.sh [--full]
# --full: 20 random lives instead of 3. Engines and deaths: `matrix.sh adapter` and `kills.sh adapter`.
source "${BASH_SOURCE[0]%/*}/every-mode-lib.sh"
source "${BASH_SOURCE[0]%/*}/bundles-lib.sh"
cycles=3
[[ ${1:-} != --full ]] || cycles=20
mode=adapter

modprobe -a ib_uverbs rdma_ucm igbvf macvlan veth overlay bridge nf_tables || exit 1

give() { attach "$1" mode=vf "device=$2" "ip=$3/24" "${@:4}"; } # NAME DEVICE ADDRESS [KEY=VALUE...]
told() { attach_json "$1" | jq -r ".attachments[0].$2"; }      # CONTAINER MEMBER
vf_of() { basename "$(readlink "/proc/$(init_of "$1")/root/sys/class/net/rdma0/device")"; }
pair() { # WHAT PORT SERVER... -- CLIENT...: a server in `a`, a client in `b`
    local what=$1 port=$2 server=() status
    shift 2
    while [[ $1 != -- ]]; do server+=("$1"); shift; done
    shift
    serve a "$port" "${server[@]}"
    inside b timeout 100 "$@" >"$work/out" 2>&1
    status=$?
    end_server a
    cat "$work/server-a" >>"$work/out"
    report $status "$what" "$work/out"
}
same_state() { # WHAT
    is_state() { adapter_world | diff "$work/state" - >"$work/out"; }
    wait_for 30 is_state
    report $? "$1" "$work/out"
}

# A VF that its PF has given no MAC has a node GUID of zero, until it has one.
without_guid() {
    check "the double of an adapter" load_adapter lab_guid=0
    equal "says that it is one" "double: an HCA that serves macvlan children in any namespace; lab_hw=1: the RDMA driver of an adapter" \
        "$(modinfo -F lab rdma_rxe)"
    ip link set enp1s0 up
    echo 1 >/sys/class/net/enp1s0/device/sriov_numvfs
    wait_for 30 rdma_of_first
    udevadm settle
    refused "a VF without a node GUID is refused" 'has no node GUID.*rdmactl vf enable' give a enp1s0 10.9.0.1
    drop a
    check "with a MAC by annotation it gets one" give a enp1s0 10.9.0.1 mac=02:00:00:00:09:01
    equal "which is made of the MAC" 000000fffe000901 "$(told a node_guid)"
    drop a
    echo 0 >/sys/class/net/enp1s0/device/sriov_numvfs
    adapter guid 1
}
rdma_of_first() { rdma_of "$(basename "$(readlink -f /sys/class/net/enp1s0/device/virtfn0)")"; }

traffic() {
    check "a starts on a VF of one PF" give a enp1s0 10.9.0.1
    check "b starts on a VF of the other" give b enp2s0 10.9.0.2
    equal "each has one device" "1 1" "$(devices a | wc -w) $(devices b | wc -w)"
    equal "which is the VF's own" "device $(told a device) false" "$(told a provider) $(devices a) $(rdma link show | grep -q rxe && echo true || echo false)"
    equal "its port is ACTIVE" ACTIVE "$(told a port_state)"
    equal "and rdma_cm goes with it" "true true" "$(told a rdma_cm) $(told b rdma_cm)"
    if ((LAB_EXCLUSIVE)); then
        equal "the host sees none of theirs" "" "$(rdma link show | grep -F -e "$(told a device)" -e "$(told b device)")"
        equal "and a none of b's" "$(told a device)" "$(in_network a rdma -j dev show | jq -r '.[].ifname')"
    else
        equal "its netdev is the container's" rdma0 "$(in_network a rdma -j link show | jq -r --arg device "$(told a device)" '.[] | select(.ifname == $device).netdev')"
        equal "the function still has it" "$(told a device)" "$(rdma_of "$(vf_of a)")"
    fi
    pair "rdma-perf passes, verified" 18600 rdma-perf serve --bind 0.0.0.0 --once -- rdma-perf run 10.9.0.1 --time 0.3s --size 4096
    pair "rdma-perf by rdma_cm" 18600 rdma-perf serve --bind 0.0.0.0 --once -- rdma-perf run 10.9.0.1 --cm --verb write,send --mode bw --time 0.2s --size 4096
    pair "ib_write_bw passes unchanged" 18515 ib_write_bw -n 200 -- ib_write_bw -n 200 10.9.0.1
    check "rping passes unchanged" rping_passes b a 10.9.0.1
    drop a b
    same_state "VFs and their devices are as before"
}

# Bound again for its MAC: the device is another one, and has its name at once although its driver is late, and the kernel has given it
# the first name that was free.
rebound() {
    adapter late_ms 700
    local vf name guid first
    first=$(rdma link show | grep -o 'mlx5_[0-9]*' | sort -V | head -n 1)
    rdma dev set "$first" name aside0
    vf=$(basename "$(readlink -f /sys/class/net/enp1s0/device/virtfn3)")
    name=$(rdma_of "$vf")
    guid=$(cat "/sys/class/infiniband/$name/node_guid")
    check "a VF is bound again for its MAC" give a "$vf" 10.9.0.1 mac=02:00:00:00:09:07
    equal "its device has the name of before" "$name" "$(told a device)"
    equal "and a node GUID of that MAC" 000000fffe000907 "$(told a node_guid)"
    drop a
    equal "afterwards it has that of before" "$guid" "$(cat "/sys/class/infiniband/$name/node_guid")"
    rdma dev set aside0 name "$first"
    same_state "a VF that was bound again is as before"
    adapter late_ms 0
}

# The VF's port follows its netdev, some time later.
late_port() {
    adapter active_ms 1500
    check "a port that takes its time is waited for" give a enp1s0 10.9.0.1
    equal "and ACTIVE as the container starts" ACTIVE "$(told a port_state)"
    drop a
    adapter active_ms 60000
    give a enp1s0 10.9.0.1 >"$work/start" 2>&1
    report $? "one that takes too long does not keep a container from its start" "$work/start"
    equal "attach.json reports that" DOWN "$(told a port_state)"
    grep -q 'the port of .* is DOWN' "$work/start"
    report $? "and the start's output reports it, too" "$work/start"
    drop a
    adapter active_ms 0
    same_state "late ports leave nothing"
}

crowd() {
    local i
    for i in {1..7}; do give "c$i" enp1s0 "10.9.0.$i" >"$work/c$i" 2>&1 & done
    wait
    cat "$work"/c? >"$work/all"
    equal "seven at once on seven VFs run" 7 "$(for i in {1..7}; do init_of "c$i"; done | wc -l)"
    sed -n 's/./# &/p' "$work/all"
    equal "with seven devices" 7 "$(for i in {1..7}; do told "c$i" device; done | sort -u | wc -l)"
    equal "each alone in its container" "1 1 1 1 1 1 1" "$(for i in {1..7}; do devices "c$i" | wc -w; done | xargs)"
    drop c1 c2 c3 c4 c5 c6 c7
    same_state "all seven are back"
}

# A PF's device for containers with interfaces of their own on it.
shared_pf() {
    check "a shares the device of a PF" attach a mode=shared parent=enp1s0 ip=10.9.0.1/24
    check "b shares the other's" attach b mode=shared parent=enp2s0 ip=10.9.0.2/24
    equal "a has that of the PF" "$(rdma_of "$(basename "$(readlink -f /sys/class/net/enp1s0/device)")")" "$(devices a)"
    pair "rdma-perf passes, verified" 18600 rdma-perf serve --bind 0.0.0.0 --once -- rdma-perf run 10.9.0.1 --time 0.2s --size 4096 --verb write --mode bw
    drop a b
    same_state "PFs are as before"
}

random_lives() {
    local i keys ways=(stop kill rm)
    for ((i = 0; i < cycles; i++)); do
        keys=()
        ((RANDOM % 2)) && keys+=("mac=02:00:00:00:0a:$(printf %02x $((RANDOM % 256)))")
        ((RANDOM % 2)) && keys+=("vlan=$((RANDOM % 4000 + 1))")
        adapter late_ms $((RANDOM % 400))
        adapter active_ms $((RANDOM % 400))
        give a "enp$((RANDOM % 2 + 1))s0" 10.9.0.1 "${keys[@]}" >"$work/out" 2>&1 || report 1 "life $i: ${keys[*]}" "$work/out"
        end_by "${ways[RANDOM % 3]}" a
    done
    adapter late_ms 0
    adapter active_ms 0
    check "gc has nothing to complain of" rdmactl gc
    same_state "$cycles random lives leave nothing"
}

world >"$work/before"
without_guid
unload_adapter
check "VFs with RDMA of their own" adapter_up
adapter_world >"$work/state"
traffic
rebound
late_port
crowd
((LAB_EXCLUSIVE)) || shared_pf
random_lives
check "everything that was set up goes" adapter_down
same_world "nothing of rdma-hook is left" "$work/before"
clean_kernel_log
finish
