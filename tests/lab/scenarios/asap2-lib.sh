# shellcheck shell=bash
# Two hosts' worth of e-switches for mode asap2, in one guest: netdevsim1 and netdevsim2 (the lab's double, whose
# representors carry traffic), their uplinks on one wire, VFs by `rdmactl asap2 enable`, and two netdevsims each that
# stand for the netdevs of these VFs: netdevsim11 and 12, netdevsim21 and 22. Sourced.
source "${BASH_SOURCE[0]%/*}/lib.sh"

nsim() { # ID: its netdev's name
    local file
    for file in /sys/bus/netdevsim/devices/netdevsim"$1"/net/*; do
        [[ $(cat "$file/phys_port_name" 2>/dev/null) == pf* ]] || { echo "${file##*/}"; return; }
    done
}
representor() { # ESWITCH VF: its netdev's name
    local file
    for file in /sys/bus/netdevsim/devices/netdevsim"$1"/net/*; do
        [[ $(cat "$file/phys_port_name" 2>/dev/null) != "pf0vf$2" ]] || { echo "${file##*/}"; return; }
    done
}
is_named() { [[ $(nsim "$1") == eni* ]]; }
new_netdevsim() { # ID
    echo "$1 1" >/sys/bus/netdevsim/new_device
    wait_for 30 is_named "$1"
}
join() { # NETDEV NETDEV: a wire
    exec 8</proc/self/ns/net
    echo "8:$(</sys/class/net/"$1"/ifindex) 8:$(</sys/class/net/"$2"/ifindex)" >/sys/bus/netdevsim/link_device
    exec 8<&-
}

start_ovs() { /usr/share/openvswitch/scripts/ovs-ctl start --system-id=lab --no-monitor >"$work/ovs" 2>&1; }
stop_daemon() { ovs-appctl -t ovs-vswitchd exit >/dev/null 2>&1; }

# NETDEVSIM: parameters of the double, of which it is another NIC.
eswitches() {
    modprobe -r netdevsim
    # shellcheck disable=SC2086 # parameters are several
    modprobe netdevsim ${NETDEVSIM:-} || exit 1
    modprobe -a openvswitch cls_flower cls_matchall act_mirred act_vlan act_gact act_police act_csum act_pedit \
        act_tunnel_key sch_ingress rdma_rxe rdma_ucm ib_uverbs overlay || exit 1
    local id
    for id in 1 2 11 12 21 22; do new_netdevsim $id; done
    join "$(nsim 1)" "$(nsim 2)"
    udevadm settle
}
# The VFs' other ends: once there are representors.
join_vfs() { # [ESWITCH...]: both
    (($#)) || set -- 1 2
    udevadm settle
    local host vf
    for host; do
        for vf in 0 1; do join "$(representor $host $vf)" "$(nsim $host$((vf + 1)))"; done
    done
}

configure_asap2() {
    mkdir -p /etc/rdma-hook
    jq -n '{pools: [{host: "1", pool: "a", bridge: "brA"}, {host: "2", pool: "b", bridge: "brB"},
        {host: "1", pool: "c", bridge: "brC"}] | map({(.pool): {
        mode: "asap2", bridge: .bridge, functions: {
            "netdevsim/netdevsim\(.host)1": "netdevsim/netdevsim\(.host)/pf0vf0",
            "netdevsim/netdevsim\(.host)2": "netdevsim/netdevsim\(.host)/pf0vf1"}}}) | add}' >/etc/rdma-hook/config.json
}
enable() { rdmactl asap2 enable "netdevsim/netdevsim$1" --vfs 2 --bridge "$2"; }
no_eswitches() { # for the next scenario of this boot
    local id
    rm -f /etc/rdma-hook/config.json
    for id in 1 2; do rdmactl asap2 disable "netdevsim/netdevsim$id" || return; done
    for id in 1 2 11 12 21 22; do echo $id >/sys/bus/netdevsim/del_device || return; done
}
path_of() { rdmactl show "$(id_of "$1")" --json | jq -r '.offload[0].path'; } # CONTAINER

# What containers and rdmactl may leave in Open vSwitch, tc, the e-switches and the VFs.
switches() {
    ovs-vsctl --format=csv --no-headings --columns=name,tag,trunks,external_ids list Port | sort
    ovs-vsctl --columns=other_config list Open_vSwitch
    local id
    for id in 1 2; do
        devlink dev eswitch show "netdevsim/netdevsim$id"
        cat "/sys/bus/netdevsim/devices/netdevsim$id/sriov_numvfs"
    done
    ip -j -d link | jq -r '.[] | select(.ifname | startswith("eni")) |
        "\(.ifname) \(.address) mtu \(.mtu) up \(.flags | index("UP") != null) \(.ifalias // "")"' | sort
}
