#!/bin/bash
# Mode asap2: VFs whose representors are ports of Open vSwitch with hardware offload, on two e-switches.
#   tests/lab/run --kernel 7.3 tests/lab/scenarios/asap2.sh [--full|--brief] [RUNTIME]
# --full: 50 random lives instead of 3, `rdmactl asap2` killed at four times as many moments, and examples/asap2-podman.sh.
# --brief: what Open vSwitch and the kernel forward, and what they do not; the rest is in unit and contract tests too.
source "${BASH_SOURCE[0]%/*}/asap2-lib.sh"
source "${BASH_SOURCE[0]%/*}/bundles-lib.sh"
cycles=3 step=40 full=0 brief=0
case ${1:-} in
--full) cycles=50 step=10 full=1; shift ;;
--brief) brief=1; shift ;;
esac
runtime=${1:-crun}

eswitches
check "Open vSwitch starts" start_ovs

# ---- the host's side ------------------------------------------------------------------------------------
host_side() {
    switches >"$work/bare"
    ((brief)) || refusals_of_host_side
    check "rdmactl asap2 enable" enable 1 brA
    check "and of the other host" enable 2 brB
    if ((!brief)); then
        switches >"$work/enabled"
        check "a second time" enable 1 brA
        equal "it changes nothing" "$(<"$work/enabled")" "$(switches)"
    fi
    equal "nothing is missing" "" "$(rdmactl asap2 status netdevsim/netdevsim1 2>&1 | grep -i missing)"
    join_vfs
    configure_asap2
    check "the configuration is valid" rdmactl config check
}
refusals_of_host_side() {
    refused "without VFs and a number of them nothing is done" '--vfs' rdmactl asap2 enable netdevsim/netdevsim1
    refused "nor to what has no e-switch" "no PCI function, netdev or RDMA device 'lab0'" rdmactl asap2 enable lab0
    equal "status of a bare e-switch" "missing: mode legacy: rdmactl asap2 enable netdevsim/netdevsim1 --vfs N --bridge BRIDGE" \
        "$(rdmactl asap2 status netdevsim/netdevsim1 | grep legacy: | tail -1)"
    equal "refusals and status change nothing" "$(<"$work/bare")" "$(switches)"
}

give() { attach "$1" mode=asap2 "pool=$1" "ip=$2" "${@:3}"; } # CONTAINER, of the pool of its name; ADDRESS [KEY=VALUE...]

host_side
world >"$work/before"
switches >"$work/switches"
same() { # WHAT
    same_world "$1" "$work/before"
    is_as_before() { [[ $(switches) == "$(<"$work/switches")" ]]; }
    wait_for 30 is_as_before
    report $? "$1: Open vSwitch, e-switches and VFs are as before" <(switches | diff "$work/switches" -)
}

# ---- what works -----------------------------------------------------------------------------------------
traffic() {
    local verbs=write,read,send
    ((!brief)) || verbs="write"
    check "a starts" give a 10.9.0.1/24
    check "b starts, on the other host" give b 10.9.0.2/24
    equal "a has one device" "$(environment a RDMA_DEVICE)" "$(devices a)"
    serve a 18600 rdma-perf serve --bind 0.0.0.0
    check "rdma-perf, addresses over TCP" inside b timeout 100 rdma-perf run 10.9.0.1 --verb $verbs --mode bw --time 0.2s --size 4096
    check "rdma-perf, by rdma_cm" inside b timeout 100 rdma-perf run 10.9.0.1 --cm --verb $verbs --mode bw --time 0.2s --size 4096
    if ((!brief)); then
        check "rping" rping_passes b a 10.9.0.1
        serve a 18515 ib_write_bw -n 200
        check "ib_write_bw" inside b timeout 100 ib_write_bw -n 200 10.9.0.1
        served_once a
    fi
    ovs-appctl dpctl/dump-flows -m type=offloaded | grep "in_port($(representor 1 0))" >"$work/flows"
    grep -q 'eth_type(0x0800).*offloaded:yes.*dp:tc' "$work/flows"
    report $? "a's flows are offloaded" "$work/flows"
    tc -s filter show dev "$(representor 1 0)" ingress >"$work/filters"
    grep -q 'in_hw in_hw_count 1' "$work/filters"
    report $? "its representor's rules are in hardware" "$work/filters"
    equal "rdmactl show says so" hardware "$(path_of a)"
    equal "attach.json has no software path" null "$(attach_json a | jq -c '.attachments[0].software_path')"
    equal "the port has our marks" "rdma-hook $(id_of a)" \
        "$(ovs-vsctl get Port "$(representor 1 0)" external_ids:owner external_ids:rdma-hook-container | tr -d '"' | xargs)"
}

flowing() { inside b timeout 20 rdma-perf run 10.9.0.1 --verb write --mode bw --iterations 200 --size 4096 --timeout 5s; }
mbits() { # of writes from b to a
    inside b timeout 60 rdma-perf run 10.9.0.1 --verb write --mode bw --time 1s --size 4096 --json - | jq '[.. | .bandwidth_bytes_per_s? // empty][0] * 8 / 1000000 | floor'
}
# What the administrator says in OpenFlow holds for RDMA, too.
administrator() {
    ovs-ofctl add-flow brA priority=100,udp,tp_dst=4791,actions=drop
    refused "a flow that drops UDP 4791 is honoured" . flowing
    ovs-ofctl del-flows brA udp,tp_dst=4791
    check "without it all flows again" wait_for 30 flowing
}

# ---- ports of their own kind ----------------------------------------------------------------------------
# An interface of VLAN 8 in a's network and in b's, as a container with NET_ADMIN makes it.
in_vlan_8() {
    local each number=1
    for each in a b; do
        in_network $each sh -c "
            ip link show v8 || { ip link add link rdma0 name v8 type vlan id 8 &&
            ip address add 10.9.8.$number/24 dev v8 && ip link set v8 up; }" >/dev/null 2>&1 || return
        number=2
    done
    in_network b ping -c 1 -W 2 10.9.8.1
}
tags() {
    check "a without a VLAN" give a 10.9.0.1/24
    check "b without a VLAN" give b 10.9.0.2/24
    refused "no VLAN is not all of them" '100% packet loss' in_vlan_8
    drop a b
    check "a with a trunk of VLAN 8" give a 10.9.0.1/24 trunk=8
    check "b with a trunk of VLAN 8" give b 10.9.0.2/24 trunk=8
    check "which it may use" wait_for 30 in_vlan_8
    drop a b
    check "a with VLAN 7" give a 10.9.0.1/24 vlan=7
    check "b with VLAN 8" give b 10.9.0.2/24 vlan=8
    equal "the tag is the port's" 7 "$(ovs-vsctl get Port "$(representor 1 0)" tag)"
    serve a 18600 rdma-perf serve --bind 0.0.0.0
    refused "other tags are other networks" . flowing
    drop b
    check "b with VLAN 7" give b 10.9.0.2/24 vlan=7
    check "one tag is one network" wait_for 30 flowing
    end_server a
    drop a b
    check "a trunk" give a 10.9.0.1/24 trunk=7,9
    equal "is the port's, too" "[7, 9]" "$(ovs-vsctl get Port "$(representor 1 0)" trunks)"
    drop a
    same "tags and trunks have gone"
}

# Of all this, what Open vSwitch makes of a port: a and b run, without a VLAN.
networks() {
    local ping=(in_network b ping -c 1 -W 2 10.9.0.1)
    refused "no VLAN is not all of them" '100% packet loss' in_vlan_8
    end_server a
    drop a b
    check "a with VLAN 7" give a 10.9.0.1/24 vlan=7
    check "b with VLAN 8" give b 10.9.0.2/24 vlan=8
    refused "other tags are other networks" '100% packet loss' "${ping[@]}"
    drop b
    check "b with VLAN 7 and a rate" give b 10.9.0.2/24 vlan=7 max_tx_rate=100
    check "one tag is one network" wait_for 30 "${ping[@]}"
    equal "the rate is the interface's" 100000 "$(ovs-vsctl get Interface "$(representor 2 0)" ingress_policing_rate)"
    drop a b
    same "tags and the rate have gone"
}

# Ratios of one run: the emulated machine has no speed of its own.
policing() {
    give a 10.9.0.1/24 >/dev/null
    give b 10.9.0.2/24 >/dev/null
    serve a 18600 rdma-perf serve --bind 0.0.0.0
    check "traffic without a rate" wait_for 30 flowing
    local free=0 limited=0
    free=$(mbits)
    drop b
    give b 10.9.0.2/24 max_tx_rate=$((free / 10 + 1)) >/dev/null
    equal "the rate is the interface's" $(((free / 10 + 1) * 1000)) "$(ovs-vsctl get Interface "$(representor 2 0)" ingress_policing_rate)"
    wait_for 30 flowing
    limited=$(mbits)
    echo "# without a rate $free Mbit/s, with a tenth as rate $limited"
    ((limited * 2 < free))
    report $? "it shows in the throughput"
    end_server a
    drop a b
    same "the rate has gone"
}

# ---- what is refused, and what is somebody else's -------------------------------------------------------
refuse() { # REASON [KEY=VALUE...]
    refused "refused: mode=asap2 ${*:2}" "$1" attach refused mode=asap2 "${@:2}"
}
bad_input() {
    refuse 'needs a device' bridge=brA
    refuse "no bridge 'brC'" pool=c
    refuse 'is not the bridge of pool a' pool=a bridge=brB
    refuse 'rdma.trunk' pool=a trunk=7,4095
    refuse 'does not go with' pool=a trunk=7 vlan=8
    refuse 'does not take rdma.trust' pool=a trust=on
    refuse 'above the 1500 of its uplink' pool=a mtu=1501
    refuse 'no RDMA device of its own' pool=a provider=device
    same "a refusal leaves nothing"
}

strangers() {
    local port
    port=$(representor 1 0)
    ovs-vsctl add-port brB "$port"
    refuse "port $port that is not rdma-hook's on bridge brB" pool=a device=netdevsim/netdevsim11
    equal "the stranger's port stays" brB "$(ovs-vsctl port-to-br "$port")"
    ovs-vsctl del-port "$port"
    ovs-vsctl --may-exist add-port brA "$port" -- set Port "$port" external_ids:owner=rdma-hook \
        external_ids:rdma-hook-attachment=4-f000-0123456789ab external_ids:rdma-hook-boot=another
    check "a port that an earlier boot left is no obstacle" give a 10.9.0.1/24
    drop a
    same "and has gone"
    ovs-vsctl add-port brA lost0 -- set Port lost0 external_ids:owner=rdma-hook \
        external_ids:rdma-hook-attachment=4-f000-0123456789ab external_ids:rdma-hook-boot=another 2>/dev/null
    check "one with an error is swept" rdmactl gc
    same "by gc"
}

offload() {
    ethtool -K "$(representor 1 0)" hw-tc-offload off
    refuse 'hw-tc-offload: off' pool=a device=netdevsim/netdevsim11 offload=required
    check "offload=preferred starts" give a 10.9.0.1/24
    equal "and says what is missing" "representor $(representor 1 0) has hw-tc-offload: off" \
        "$(attach_json a | jq -r '.attachments[0].software_path')"
    drop a
    ethtool -K "$(representor 1 0)" hw-tc-offload on
    check "offload=required starts" give a 10.9.0.1/24 offload=required
    drop a
    same "either way"
}

# ---- Open vSwitch in trouble ----------------------------------------------------------------------------
server_pid() { cat /run/openvswitch/ovsdb-server.pid; }
daemon_pid() { cat /run/openvswitch/ovs-vswitchd.pid; }
trouble() {
    kill -STOP "$(daemon_pid)"
    refuse 'ovs-vswitchd has not applied the change' pool=a
    kill -CONT "$(daemon_pid)"
    same "ovs-vswitchd that hangs: undone"
    kill -STOP "$(server_pid)"
    refuse 'has not answered' pool=a
    kill -CONT "$(server_pid)"
    same "ovsdb-server that hangs: undone"
    give a 10.9.0.1/24 >/dev/null 2>&1
    kill -STOP "$(server_pid)"
    drop a
    refused "ovsdb-server that hangs as a container ends: rdmactl list names it" 'not undone' \
        bash -c "rdmactl list; false"
    kill -CONT "$(server_pid)"
    check "gc finishes it" rdmactl gc
    same "nothing is left after that"
    give a 10.9.0.1/24 >/dev/null 2>&1
    ovs-appctl -t ovsdb-server exit
    drop a
    refused "ovsdb-server that is gone as a container ends" 'not undone' bash -c "rdmactl list; false"
    refused "rdmactl gc prints the fix" 'systemctl start openvswitch-switch' rdmactl gc
    check "it comes back" start_ovs
    check "gc finishes that, too" rdmactl gc
    same "after a restart of the database"
    give a 10.9.0.1/24 >/dev/null 2>&1
    kill -9 "$(daemon_pid)"
    drop a
    check "ovs-vswitchd comes back" start_ovs
    same "ovs-vswitchd that died while a container had a port"
}

# ---- lives ----------------------------------------------------------------------------------------------
lives() {
    local i ways=(stop kill rm)
    for ((i = 0; i < cycles; ++i)); do
        give a 10.9.0.1/24 vlan=$((RANDOM % 4000 + 1)) >/dev/null 2>&1
        give b 10.9.0.2/24 max_tx_rate=$((RANDOM % 900 + 1)) >/dev/null 2>&1
        end_by "${ways[RANDOM % 3]}" a &
        end_by "${ways[RANDOM % 3]}" b
        wait $!
    done
    same "$cycles random lives of two containers"
}

# rdmactl asap2, interrupted: killed a little later each time, until it comes to its end.
interrupted() { # VERB FILE
    local ms=5 status=137
    while ((status == 137)); do
        timeout -s KILL "$(printf '0.%03d' $ms)" rdmactl asap2 "$1" netdevsim/netdevsim1 "${@:3}" >/dev/null 2>&1
        status=$?
        ms=$((ms + step))
    done
    equal "rdmactl asap2 $1, killed up to $((ms - step)) ms after its start, then left alone" "$(<"$2")" "$(switches | without_netdevs)"
}
# Representors are made anew each time.
without_netdevs() { grep -v '^eni.*pf0vf'; }
ends() {
    check "disable" rdmactl asap2 disable netdevsim/netdevsim2
    without_netdevs <"$work/bare" >"$work/bare-shape"
    if ((!brief)); then
        switches | without_netdevs >"$work/one-shape"
        interrupted disable "$work/bare-shape"
        rdmactl asap2 disable netdevsim/netdevsim2 >/dev/null 2>&1
        interrupted enable "$work/one-shape" --vfs 2 --bridge brA
    fi
    check "disable the other" rdmactl asap2 disable netdevsim/netdevsim1
    equal "the host is back as it was" "$(<"$work/bare-shape")" "$(switches | without_netdevs)"
}

# The example asks for the way of flows once its client has gone; on a slow machine Open vSwitch has forgotten them by then:
# for their age, or because it is late in looking through them and gives up those of few packets.
example() {
    ovs-vsctl set Open_vSwitch . other_config:max-idle=300000 other_config:min-revalidate-pps=0
    RDMA_POOL=a RDMA_POOL2=b timeout 200 "${BASH_SOURCE[0]%/*}/../../../examples/asap2-podman.sh" >"$work/out" 2>&1
    report $? "examples/asap2-podman.sh" "$work/out"
    grep -q '"path": "hardware"' "$work/out"
    report $? "its packets go by hardware" "$work/out"
    ovs-vsctl remove Open_vSwitch . other_config max-idle -- remove Open_vSwitch . other_config min-revalidate-pps
    same "the example is over"
}

((!full)) || example
traffic
administrator
if ((brief)); then
    networks
else
    end_server a
    drop a b
    same "both have gone"
    tags
    policing
    bad_input
    strangers
    offload
    trouble
    lives
fi
ends
check "the e-switches are unplugged" no_eswitches
clean_kernel_log
finish
