#!/bin/bash
# Mode vf, on two SR-IOV NICs (QEMU's igb, 7 VFs each, no RDMA of their own: rxe on the VF): chosen,
# configured, moved, and given back as they were.
#   tests/lab/run --nics igb [--kernel 7.3] [--exclusive] tests/lab/scenarios/vf.sh [--full|--brief] [RUNTIME]
# --full: 50 cycles and 200 random starts instead of 4 and 12; --brief: traffic and settings, on 2 VFs
# of each NIC instead of 7. On 6.12, where rxe carries nothing in a namespace of its
# own, what is shown is the refusal and that it leaves nothing.
source "${BASH_SOURCE[0]%/*}/modes-lib.sh"
source "${BASH_SOURCE[0]%/*}/bundles-lib.sh"
cycles=4 starts=12 brief=0 vfs=7
case ${1:-} in
--full) cycles=50 starts=200; shift ;;
--brief) brief=1 vfs=2; shift ;;
esac
runtime=${1:-crun}

modprobe -a rdma_rxe ib_uverbs rdma_ucm igbvf veth overlay bridge nf_tables 8021q || exit 1

give() { attach "$1" mode=vf "device=$2" "ip=$3/24" "${@:4}"; } # NAME DEVICE ADDRESS [KEY=VALUE...] [-- OPTION]
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
    vfs >"$work/now"
    diff "$work/state" "$work/now" >"$work/out"
    report $? "$1" "$work/out"
}
vf_of() { # CONTAINER: what the PF keeps for its VF
    local number
    number=$(rdmactl show "$(id_of "$1")" --json | jq '[.. | objects | select(.kind? == "configure_vf" or .kind? == "restore_vf") | .number // empty] | first')
    ip -d -j link show enp1s0 | jq ".[0].vfinfo_list[] | select(.vf == $number)"
}
has() { # WHAT CONTAINER JQ-FILTER: about what the PF keeps for its VF
    vf_of "$2" >"$work/out"
    jq -e "$3" <"$work/out" >"$work/ignored"
    report $? "$1" "$work/out"
}

set_up() {
    refused "a PF without VFs says how to make them" 'rdmactl vf enable enp1s0' give a enp1s0 10.9.0.1
    drop a
    refused "vf enable wants the PF up" 'run: ip link set enp1s0 up' rdmactl vf enable enp1s0 "$vfs"
    ip link set enp1s0 up
    ip link set enp2s0 up
    local pf
    for pf in enp1s0 enp2s0; do
        rdmactl vf enable $pf "$vfs" --json >"$work/out" 2>&1
        report $? "rdmactl vf enable makes VFs of $pf" "$work/out"
        equal "and shows the names that udev gave them" "$(seq -s ' ' -f "${pf}v%g" 0 $((vfs - 1))) " \
            "$(jq -r '.pfs[].vfs[].netdev' "$work/out" | xargs) "
    done
    ((brief)) || check "once more changes nothing" rdmactl vf enable enp2s0 "$vfs"
    settled # udev gives a VF no MAC while its PF is down, and not later either
    if ((!brief)); then
        ip link set enp2s0 down
        refused "a PF that is down says so" 'run: ip link set enp2s0 up' give a enp2s0 10.9.0.1
        drop a
        ip link set enp2s0 up
        settled
    fi
    equal "vf list shows them all, free" $((2 * vfs)) "$(rdmactl vf list --json | jq '[.pfs[].vfs[] | select(.state == "free")] | length')"
}

traffic() {
    check "a starts on a VF of one PF" give a enp1s0 10.9.0.1
    check "b starts on a VF of the other" give b enp2s0 10.9.0.2
    equal "each sees one device" "1 1" "$(devices a | wc -w) $(devices b | wc -w)"
    equal "the VF is the container's rdma0" "$(basename "$(readlink -f /sys/class/net/enp1s0/device/virtfn0)")" \
        "$(inside a ip -d -j link show rdma0 | jq -r '.[0].parentdev')"
    # A VF that has just come up has no carrier yet.
    check "the wire between them carries" wait_for 30 inside b ping -c 1 -W 1 10.9.0.1
    pair "rdma-perf passes, verified" 18600 rdma-perf serve --bind 0.0.0.0 --once -- \
        rdma-perf run 10.9.0.1 --verb write,send --mode bw --time 0.2s --size 4096
    pair "ib_write_bw passes unchanged" 18515 ib_write_bw -n 200 -- ib_write_bw -n 200 10.9.0.1
    if ((LAB_EXCLUSIVE)); then
        equal "the host sees no device" "" "$(rdma link show)"
        isolated
    else
        check "rping passes unchanged" rping_passes b a 10.9.0.1
    fi
    drop a b
    same_state "PFs and VFs are as before"
}

# As a container with NET_ADMIN may: a name that the host has, and one that another container may have.
names() {
    check "a container on a VF" give a enp1s0 10.9.0.1
    check "gives it further names" in_network a ip link property add dev rdma0 altname lab0 altname eth9
    drop a
    same_state "the VF is back, without them"
}

# What a container that administers its network sets of the VF stays with no one: the driver makes a new netdev.
alterations() {
    check "a container with NET_ADMIN" give a enp1s0 10.9.0.1 -- "$net_admin"
    check "sees and hears all" inside a ip link set rdma0 promisc on allmulticast on
    check "its flags say so" inside a bash -c 'ip link show rdma0 | grep -q "ALLMULTI.*PROMISC\|PROMISC.*ALLMULTI"'
    drop a
    settled
    same_state "the VF is back, as a new one"
}

# Its node, opened from another container that was given it by force.
isolated() {
    local node minor
    node=$(inside a ls /dev/infiniband | grep uverbs)
    minor=$((0x$(stat -c %T "/dev/infiniband/$node")))
    attach c -- ".linux.devices += [{path: \"/dev/its\", type: \"c\", major: 231, minor: $minor, fileMode: 438}]
        | .linux.resources.devices += [{allow: true, type: \"c\", major: 231, minor: $minor, access: \"rwm\"}]" >/dev/null
    refused "opening the other's node gives EPERM" 'Operation not permitted' inside c bash -c "exec 3<>/dev/its"
    drop c
}

vlans() {
    local talk=(timeout 60 ping -c 1 -W 2 10.9.0.1)
    give a enp1s0 10.9.0.1 vlan=100 >/dev/null 2>&1
    give b enp2s0 10.9.0.2 vlan=100 >/dev/null 2>&1
    has "the PF has the VLAN" a '[.. | .vlan?] | index(100) != null'
    pair "with one VLAN they talk" 18600 rdma-perf serve --bind 0.0.0.0 --once -- rdma-perf run 10.9.0.1 --time 0.2s --size 4096 --verb write --mode bw
    drop b
    give b enp2s0 10.9.0.2 vlan=200 >/dev/null 2>&1
    refused "with another they do not" '100% packet loss' inside b "${talk[@]}"
    drop a b
    same_state "VLANs are given back"
}

# policy MEMBERS: what it allows, beside both PFs.
policy() {
    mkdir -p /etc/rdma-hook
    cat >/etc/rdma-hook/config.json <<JSON
{"policy": {"modes": ["vf"], "devices": ["enp1s0", "enp2s0"], "addresses": ["10.9.0.0/24"], "memlock": "unlimited",
            "trust": true, "spoofchk_off": true, $1}}
JSON
}

settings() {
    ((brief)) || bounds
    # From here on what the random lives ask for, too.
    policy '"vlans": ["1-4094"], "mac": true'
    check "with all settings" give a enp1s0 10.9.0.1 spoofchk=off trust=on max_tx_rate=500 mac=02:00:00:00:09:01 mtu=1400 vlan=7 vlan_qos=3
    has "spoofchk is off" a '.spoofchk == false'
    has "trust is on" a '.trust == true'
    has "max_tx_rate is 500" a '.rate.max_tx == 500'
    has "the MAC is the one" a '.address == "02:00:00:00:09:01"'
    equal "the container has MAC and MTU" "02:00:00:00:09:01 1400" "$(inside a ip -j link show rdma0 | jq -r '.[0] | "\(.address) \(.mtu)"')"
    drop a
    same_state "all of it is given back"
}
bounds() { # of a policy
    refused "trust is refused without a policy that allows it" 'trust' give a enp1s0 10.9.0.1 trust=on
    drop a
    policy '"vlans": ["1-99"], "mac": ["02:00:00:00:09:00-02:00:00:00:09:ff"], "max_tx_rate": 500'
    refused "a VLAN beyond the policy's is refused" "policy.vlans does not allow rdma.vlan='100'" give a enp1s0 10.9.0.1 vlan=100
    drop a
    refused "a MAC beyond its range too" "policy.mac does not allow" give a enp1s0 10.9.0.1 mac=02:00:00:00:0a:01
    drop a
    check "a container that asks for no rate" give a enp1s0 10.9.0.1
    has "has the policy's" a '.rate.max_tx == 500'
    drop a
}

bad_input() {
    local what words
    while IFS='|' read -r what words; do
        # shellcheck disable=SC2086 # words are several
        refused "refused: $words" "$what" give a $words
        drop a
    done <<'TEXT'
has VFs 0 to 6|enp1s0#7 10.9.0.1
no PCI function|lab0 10.9.0.1
rdma\.vlan|enp1s0 10.9.0.1 vlan=4095
multicast|enp1s0 10.9.0.1 mac=03:00:00:00:00:01
rdma\.mac|enp1s0 10.9.0.1 mac=00:00:00:00:00:00
min_tx_rate|enp1s0 10.9.0.1 min_tx_rate=10 max_tx_rate=5
max_tx_rate|enp1s0 10.9.0.1 max_tx_rate=4000000
link.state|enp1s0 10.9.0.1 link_state=on
guid|enp1s0 10.9.0.1 node_guid=00:11:22:33:44:55:66:77
provider|enp1s0 10.9.0.1 provider=device
TEXT
    local vf
    vf=$(basename "$(readlink -f /sys/class/net/enp1s0/device/virtfn6)")
    echo "$vf" >"/sys/bus/pci/drivers/igbvf/unbind"
    refused "a VF without a driver" 'driver' give a "$vf" 10.9.0.1
    drop a
    if modprobe vfio-pci 2>/dev/null; then
        echo vfio-pci >"/sys/bus/pci/devices/$vf/driver_override"
        if echo "$vf" >/sys/bus/pci/drivers/vfio-pci/bind 2>/dev/null; then
            refused "a VF of a virtual machine" 'vfio-pci' give a "$vf" 10.9.0.1
            drop a
            echo "$vf" >/sys/bus/pci/drivers/vfio-pci/unbind
        fi
        echo >"/sys/bus/pci/devices/$vf/driver_override"
    fi
    echo "$vf" >/sys/bus/pci/drivers/igbvf/bind
    wait_for 10 test -d "/sys/bus/pci/devices/$vf/net"
    udevadm settle
    vfs >"$work/state" # its name and its MAC may be new
}

crowd() {
    local i running
    for i in {1..8}; do give "c$i" enp1s0 "10.9.0.$i" >"$work/c$i" 2>&1 & done
    wait
    running=$(for i in {1..8}; do init_of "c$i"; done | wc -l)
    equal "eight at once on seven VFs: seven run" 7 "$running"
    equal "the eighth is refused with the reason" 1 "$(cat "$work"/c? | grep -c 'no free VF on enp1s0 (7 of 7 used')"
    equal "no VF has two" 7 "$(for i in {1..8}; do readlink "/proc/$(init_of "c$i")/root/sys/class/net/rdma0/device"; done | sort -u | wc -l)"
    drop c1 c2 c3 c4 c5 c6 c7 c8
    same_state "all seven are back"
}

# The kernel knows which VF is where: two containers with one VF would show as one address twice.
address_of() { cat "/proc/$(init_of "$1")/root/sys/class/net/rdma0/address" 2>/dev/null; }
random_starts() {
    local i doubles=0 started=0
    one() { # SLOT: starts what does not run, ends what does
        if init_of "r$1" >/dev/null; then
            drop "r$1"
        elif give "r$1" enp1s0 "10.9.0.$1" >"$work/r$1" 2>&1; then
            echo started >>"$work/started"
        elif ! grep -q 'no free VF' "$work/r$1"; then
            cat "$work/r$1" >>"$work/strange"
        else
            drop "r$1"
        fi
    }
    : >"$work/started"
    : >"$work/strange"
    for ((i = 0; i < starts; i += 4)); do
        # Four different slots at a time, of nine, for seven VFs.
        for slot in $(shuf -i 1-9 -n 4 --random-source=<(yes "$RANDOM")); do one "$slot" & done
        wait
        find /run/rdma-hook/leases -name 'vf-*' -exec cat {} + -exec echo \; >"$work/leases" 2>/dev/null
        for slot in {1..9}; do address_of "r$slot"; done | sort | uniq -d >"$work/twice"
        [[ ! -s $work/twice ]] || doubles=$((doubles + 1))
    done
    started=$(wc -l <"$work/started")
    equal "no VF was given twice in $starts random starts and ends ($started started)" 0 "$doubles"
    [[ ! -s $work/strange ]]
    report $? "nothing but 'no free VF' was refused" "$work/strange"
    drop r1 r2 r3 r4 r5 r6 r7 r8 r9
    same_state "all are back"
}

random_lives() {
    local i keys way
    for ((i = 0; i < cycles; i++)); do
        keys=()
        ((RANDOM % 2)) && keys+=("vlan=$((RANDOM % 4000 + 1))")
        ((RANDOM % 2)) && keys+=("max_tx_rate=$((RANDOM % 900 + 50))")
        ((RANDOM % 2)) && keys+=("spoofchk=$((RANDOM % 2)) ") && keys[-1]=${keys[-1]/=0 /=off} && keys[-1]=${keys[-1]/=1 /=on}
        ((RANDOM % 2)) && keys+=("trust=on")
        ((RANDOM % 2)) && keys+=("mac=02:00:00:00:0a:$(printf %02x $((RANDOM % 256)))")
        ((RANDOM % 2)) && keys+=("mtu=$((RANDOM % 200 + 1280))")
        give a "enp$((RANDOM % 2 + 1))s0" 10.9.0.1 "${keys[@]}" >"$work/out" 2>&1 || report 1 "cycle $i: ${keys[*]}" "$work/out"
        way=$((RANDOM % 5))
        case $way in
        0) end_by stop a ;;
        1) drop a ;;
        2) end_by kill a ;;
        3) inside a ip link set rdma0 name other0; end_by stop a ;; # refused without NET_ADMIN: then only killed
        4) in_network a ip link set rdma0 down && in_network a ip link set rdma0 name other0 mtu 1300 up; end_by kill a ;;
        esac >/dev/null 2>&1
    done
    rdmactl gc >"$work/out" 2>&1
    report $? "gc has nothing to complain of" "$work/out"
    same_state "$cycles cycles of random settings and deaths: PFs and VFs are as before"
}

example() {
    RDMA_PF=enp1s0 RDMA_PF2=enp2s0 timeout 200 "${BASH_SOURCE[0]%/tests/*}/examples/vf-podman.sh" >"$work/out" 2>&1
    report $? "examples/vf-podman.sh" "$work/out"
    same_state "the example is over: PFs and VFs are as before"
}

no_rxe_here() {
    refused "rxe serves no namespace of its own on this kernel" '7\.1|rdma.placement' give a enp1s0 10.9.0.1
    drop a
    same_state "the refused one leaves nothing"
}

set_up
vfs >"$work/state"
world >"$work/before"
if [[ $LAB_KERNEL == 6.12 ]]; then
    no_rxe_here
else
    traffic
    if ((!brief)); then
        names
        alterations
        example
        vlans
        bad_input
    fi
    settings
    if ((!brief)); then
        crowd
        random_starts
        random_lives
    fi
    rm -f /etc/rdma-hook/config.json
fi
same_world "nothing of rdma-hook is left" "$work/before"
give a enp1s0 10.9.0.1 >/dev/null 2>&1
if [[ $LAB_KERNEL != 6.12 ]]; then
    refused "vf disable spares VFs in use" 'in use' rdmactl vf disable enp1s0
fi
drop a
check "vf disable" rdmactl vf disable enp1s0
equal "no VF is left" 0 "$(cat /sys/class/net/enp1s0/device/sriov_numvfs)"
clean_kernel_log
finish
