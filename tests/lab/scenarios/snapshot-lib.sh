# shellcheck shell=bash
# All that a host is, as far as anybody but its disks can tell: whoever made it. Sourced. `snapshot` prints it, sorted, a line
# for each thing, so that two can be compared as text. A scenario with hardware of a mode has it looked at, too.
#
# Left out is what is not the same twice on a host at rest, or what is meant to stay:
#   ifindex        a driver that is bound anew makes its netdev anew; who has which name, MAC and parent is compared.
#                  permaddr is the MAC that it had at that moment
#   enx... names   udev's, of the MAC, some time after that; its own database (/run/udev) likewise
#   timers, LOWER_UP and NO-CARRIER: of bridges and links that are down
#   /run/rdma-hook locks/ (of what is there; of processes that were killed, until gc), errors/ (the last failures, for `rdmactl list --failed`), runtimes/ (until gc), and the shared mount of
#                  netns/, made once a boot
#   .config.json.rdma-PID  beside a config.json that rdma-runtime was about to replace: the bundle's maker removes the bundle
#   /run/libpod/persist/  Podman leaves a folder there of each container whose precreate hook failed, whatever the hook
#   /run/docker/netns/  files that nothing is mounted on: dockerd removes its own once a minute; what is mounted is compared
#   flower filters on ports of Open vSwitch: the flows that it remembers, each for some seconds
#   ids of mounts  and the devices of overlays: numbers of the moment
#   cur_cfg, next_cfg, _date, _comment of Open vSwitch's database: counted or stamped with every change; statistics are not in it
source "${BASH_SOURCE[0]%/*}/lib.sh"

links() { # with what PFs keep of their VFs
    { ip -o -d -batch - <<<$'link show\naddress show\nroute show table all\nrule show' && ip -6 -d rule; } | # routes are of both
        sed -E 's/^[0-9]+: //; s/\\ +altname enx[0-9a-f]+//g; s/(NO-CARRIER,|,LOWER_UP)//g
            s/ [a-z_]*timer +[0-9.]+//g; s/ permaddr [0-9a-f:]+//; s/ +$//'
    ip maddress | awk '/^[0-9]+:/ { device = $2; next } { print "maddress", device, $0 }'
    grep -H . /proc/sys/net/ipv4/conf/*/{arp_*,accept_local,rp_filter,forwarding} \
        /proc/sys/net/ipv6/conf/*/{disable_ipv6,accept_dad,addr_gen_mode,forwarding}
}
traffic_control() {
    local each kind device switched
    mapfile -t each < <(tc qdisc show)
    printf 'tc %s\n' "${each[@]}"
    printf '%s\n' "${each[@]}" | while read -r _ kind _ _ device _; do
        [[ $kind == ingress || $kind == clsact ]] || continue
        switched=0
        [[ ! /sys/class/net/$device/master -ef /sys/class/net/ovs-system ]] || switched=1
        echo "on $device $switched"
        tc filter show dev "$device" ingress
        [[ $kind == ingress ]] || tc filter show dev "$device" egress
    done | awk '$1 == "on" { device = $2; switched = $3; next } $1 == "filter" { left_out = switched && / flower / } !left_out { print "filter", device, $0 }'
}
devices() {
    { rdma -d -batch - <<<$'dev show\nlink show'; rdma -batch - <<<$'resource show\nsystem show'; } |
        sed -E 's/^[0-9]+: /rdma /; s/ netdev_index [0-9]+//'
    grep -rHv '^0000:0000:0000:0000:0000:0000:0000:0000$' /sys/class/infiniband/*/ports/*/gids/ 2>/dev/null
    find /dev/infiniband /dev/net /dev/vfio -printf 'node %p %M %U:%G %l\n' 2>/dev/null
    find /sys/bus/pci/devices/*/ -maxdepth 1 \( -name driver -o -name 'virtfn*' \) -printf 'pci %p %l\n'
    grep -H . /sys/bus/pci/devices/*/{driver_override,sriov_numvfs,sriov_drivers_autoprobe} 2>/dev/null | grep -v '(null)'
    [[ ! -d /sys/bus/netdevsim ]] || {
        devlink port show
        devlink dev eswitch show netdevsim/netdevsim1
        devlink dev eswitch show netdevsim/netdevsim2
    } 2>/dev/null
}
switch_database() {
    [[ -S /run/openvswitch/db.sock ]] || return 0
    ovsdb-client backup unix:/run/openvswitch/db.sock Open_vSwitch 2>/dev/null | tail -n 1 | jq -S 'del(._date, ._comment, ._is_diff)
        | del(.. | .cur_cfg?, .next_cfg?)' | sed 's/^/ovsdb /'
}
files() { # and mounts; not a layer of a bare bundle, where the runtime makes what it mounts on
    find /run /etc /var/lib/rdma-hook -xdev ! -path '/run/udev/*' ! -path '/run/lab-bundles/*/upper/*' ! -path '/run/rdma-hook/locks*' ! -path '/run/rdma-hook/errors/*' ! -path '/run/rdma-hook/runtimes*' ! -name '.config.json.rdma-*' \
        ! -path '/run/libpod/persist/*' ! -path '/run/docker/netns/*' \
        -printf 'file %p %M %U:%G %l\n' -path '/etc/*' -type f -printf 'content %p %s %C@\n' 2>/dev/null
    awk '$5 != "/run/rdma-hook/netns" { print "mount", $5, $9 }' /proc/self/mountinfo | sed -E 's/ (-|shared:.*|master:.*)$//'
    find /sys/fs/cgroup -type d -printf 'cgroup %p\n'
}
programs() { # that run, but for the scenario's own and for workers that come and go
    local own=${0##*/}
    lsns -t net -n -o NS | sed 's/^ */namespace /'
    ps --ppid 2 -p 2 -N -o comm= | grep -vE '^(\(udev-worker\)|udevadm|bash|ps|sort|grep|diff|killer|kills.sh|soak.sh|ovs.*|timeout)' |
        grep -vxF -- "${own:0:15}"
}

snapshot() { # one sort for all: of its time, most is the start of programs
    {
        links
        traffic_control
        devices
        switch_database
        files
        programs
    } | LC_ALL=C sort
}
# rested WHAT-FILE SECONDS: until two snapshots in a row are one and the same; the last is in WHAT-FILE.
rested() {
    is_rested() {
        snapshot >"$1.new"
        cmp -s "$1" "$1.new"
        local same=$?
        mv "$1.new" "$1"
        return $same
    }
    snapshot >"$1"
    wait_for "$2" is_rested "$1"
}
# as_in FILE SECONDS: the host comes to be as it was, within that time. Else the difference is in $work/difference.
as_in() {
    is_as() { snapshot | diff "$1" - >"$work/difference"; }
    wait_for "$2" is_as "$1"
}
