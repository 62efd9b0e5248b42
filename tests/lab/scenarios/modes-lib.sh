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
enable_vfs() {
    local pf
    for pf in "${pfs[@]}"; do
        ip link set "$pf" up && rdmactl vf enable "$pf" 7 || return
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
