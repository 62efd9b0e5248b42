# shellcheck shell=bash
# What a guest needs for modes shared and vf, and what of it must be as before when containers have gone. Sourced;
# asap2-lib.sh has it for mode asap2.
source "${BASH_SOURCE[0]%/*}/lib.sh"

# ---- shared: the double of an HCA over lab0 -----------------------------------------------------------------
gids() { grep -rhv '^0000:0000:0000:0000:0000:0000:0000:0000$' /sys/class/infiniband/hca0/ports/1/gids | sort; }
make_hca() {
    rdma link add hca0 type rxe netdev lab0 &&
        wait_for 20 grep -rqs 'ffff:c000:0201$' /sys/class/infiniband/hca0/ports/1/gids # 192.0.2.1
}

# ---- vf: two PFs on one wire --------------------------------------------------------------------------------
pfs=(enp1s0 enp2s0)
# The PFs have their carrier, with which VFs get their last word from them; and udev has given VFs their names and MACs.
settled() {
    local pf
    for pf in "${pfs[@]}"; do wait_for 30 grep -qx 1 "/sys/class/net/$pf/carrier"; done
    udevadm settle
}
enable_vfs() { # [COUNT]: of each PF, or else all
    local pf
    for pf in "${pfs[@]}"; do
        ip link set "$pf" up && rdmactl vf enable "$pf" "${1:-7}" || return
    done
    settled
}
# Everything about PFs and VFs that an attach may touch: drivers, what the PF keeps, name, MAC, MTU, flags.
vfs() {
    local pf
    for pf in "${pfs[@]}"; do
        readlink -f "/sys/class/net/$pf/device/"virtfn* "/sys/class/net/$pf/device/"virtfn*/driver
    done
    # Names made of the MAC are udev's, which gives them some time after a bind.
    ip -d -j link show | jq -cS '.[] | select(.parentbus == "pci") | {parentdev, ifname, address, mtu, ifalias, vfinfo_list,
        flags: (.flags - ["LOWER_UP", "NO-CARRIER"]), altnames: ((.altnames // []) | map(select(startswith("enx") | not)))}' | sort
}

# ---- vf with RDMA of its own: rdma_rxe as an adapter's RDMA driver ------------------------------------------
# load_adapter [PARAMETER=VALUE...]: of PFs and VFs that are there and of those to come.
load_adapter() { modprobe -r rdma_rxe && modprobe rdma_rxe lab_hw=1 "$@"; }
unload_adapter() { modprobe -r rdma_rxe && modprobe rdma_rxe; } # as `run --hca` leaves it
adapter() { echo "$2" >"/sys/module/rdma_rxe/parameters/lab_$1"; } # PARAMETER VALUE

functions_of() { readlink -f "/sys/class/net/$1/device" "/sys/class/net/$1/device/"virtfn* | xargs -n 1 basename; } # PF: it and its VFs
rdma_of() { basename -a "/sys/bus/pci/devices/$1/infiniband/"* 2>/dev/null | grep -vxF '*'; } # FUNCTION
# Each function has a device, and udev has seen it: rdma_rename has a name for one function of each PF.
adapter_is_there() {
    local pf each
    for pf in "${pfs[@]}"; do
        for each in $(functions_of "$pf"); do wait_for 30 rdma_of "$each" || return; done
    done
    udevadm settle
}
# Names, GUIDs and netdevs of the devices of functions.
adapter_devices() {
    rdma -j -d dev show | jq -cS '.[] | {ifname, node_guid}' | sort
    rdma -j link show | jq -cS '.[] | {ifname, state, netdev}' | sort
}
