#!/bin/bash
# Mode vf on NICs whose drivers behave as other vendors' do: the lab's doubles of igb and igbvf. SoftRoCE over the VFs.
#   tests/lab/run --double igb,igbvf --nics igb [--kernel 7.3] tests/lab/scenarios/drivers.sh
source "${BASH_SOURCE[0]%/*}/modes-lib.sh"
source "${BASH_SOURCE[0]%/*}/bundles-lib.sh"

modprobe -a rdma_rxe ib_uverbs rdma_ucm veth overlay bridge nf_tables 8021q || exit 1

give() { attach "$1" mode=vf "device=$2" "ip=$3/24" "${@:4}"; } # NAME DEVICE ADDRESS [KEY=VALUE...]
load() { # IGB-PARAMETER IGBVF-PARAMETER...: the PFs and VFs again
    modprobe -r igbvf igb
    modprobe igb "$1" && modprobe igbvf "${@:2}" && udevadm wait --timeout=30 --settle /sys/class/net/enp1s0 /sys/class/net/enp2s0
}
same_state() { # WHAT
    is_state() { vfs | diff "$work/state" - >"$work/out"; }
    wait_for 30 is_state
    report $? "$1" "$work/out"
}
talk_once() { # WHAT
    serve a 18600 rdma-perf serve --bind 0.0.0.0 --once
    wait_for 30 inside b ping -c 1 -W 1 10.9.0.1
    inside b timeout 100 rdma-perf run 10.9.0.1 --verb write --mode bw --time 0.2s --size 4096 >"$work/out" 2>&1
    report $? "$1" "$work/out"
    end_server a
}

# ---- a PF that does not manage its VFs: the host of a BlueField in DPU mode ----------------------------------
unmanaged() {
    check "PFs that report nothing of their VFs" load lab_no_vf_info=1
    for each in "${pfs[@]}"; do ip link set "$each" up; done
    for each in "${pfs[@]}"; do check "VFs of $each" rdmactl vf enable "$each" 2; done
    settled
    vfs >"$work/state"
    equal "nothing is reported" null "$(ip -d -j link show enp1s0 | jq -c '[.[0].vfinfo_list[]?] | if . == [] then null else . end')"
    equal "vf list has them all, free" 4 "$(rdmactl vf list --json | jq '[.pfs[].vfs[] | select(.state == "free")] | length')"
    check "a starts" give a enp1s0 10.9.0.1
    check "b starts" give b enp2s0 10.9.0.2
    talk_once "data passes"
    drop a b
    same_state "VFs are as before"
    for each in vlan=7 max_tx_rate=100 spoofchk=off mac=02:00:00:00:09:01; do
        refused "rdma.${each%=*} is refused" "does not manage its VFs.*rdma.${each%=*}|trust|spoofchk_off" give a enp1s0 10.9.0.1 "$each"
        drop a
    done
    check "doctor has nothing to complain of PFs and VFs" bash -c 'rdmactl doctor vf --json |
        jq -e "[.checks[] | select((.id == \"pf\" or .id == \"vf\") and .status != \"ok\")] == []"'
    same_state "a refusal leaves nothing"
    check "VFs go" disable_all
}
disable_all() {
    local pf
    for pf in "${pfs[@]}"; do rdmactl vf disable "$pf" || return; done
}

# ---- VFs that their PF resets when it sets something, and whose netdevs are late: iavf --------------------------
busy() {
    local i
    check "VFs that take their time" load lab_no_vf_info=0 lab_late_ms=400 lab_busy_ms=1500
    for each in "${pfs[@]}"; do ip link set "$each" up; done
    for each in "${pfs[@]}"; do check "VFs of $each" rdmactl vf enable "$each" 7; done
    settled
    vfs >"$work/state"
    check "a starts, in a VLAN" give a enp1s0 10.9.0.1 vlan=100
    check "b starts, with a MAC and a VLAN" give b enp2s0 10.9.0.2 vlan=100 mac=02:00:00:00:09:02
    talk_once "data passes"
    drop a b
    same_state "VFs are as before"
    for i in {1..7}; do give "c$i" enp1s0 "10.9.0.$i" "vlan=$i" >"$work/c$i" 2>&1 & done
    wait
    sed -n 's/./# &/p' "$work"/c?
    equal "seven at once run" 7 "$(for i in {1..7}; do init_of "c$i"; done | wc -l)"
    drop c1 c2 c3 c4 c5 c6 c7
    same_state "all seven are back"
    check "VFs go" disable_all
}

world >"$work/before"
unmanaged
busy
check "the kernel's way" load lab_no_vf_info=0
same_world "nothing of rdma-hook is left" "$work/before"
clean_kernel_log
finish
