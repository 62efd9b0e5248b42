#!/bin/bash
# Tenants with equal addresses on two hosts: kept apart by VXLANs, measured across them, and one of them stopped by a rule of a host.
#   tests/lab/pair --kernel 7.3 --timeout 1200 tests/lab/scenarios/overlay.sh [asap2|softroce]
# examples/overlay/tenant-asap2 and examples/overlay/tenant-vxlan make the tunnels and the rules, as they are.
# Of each host the e-switch is netdevsim1. Its uplink has the tunnels' address, and goes by a bridge onto the wire between the guests.
source "${BASH_SOURCE[0]%/*}/asap2-lib.sh"
source "${BASH_SOURCE[0]%/*}/podman-lib.sh"
source "${BASH_SOURCE[0]%/*}/pair-lib.sh"
forms=${1:-asap2 softroce}
folder=/src/examples/overlay
uplink=uplink
declare -A vlans=([red]=7 [blue]=8) vnis=([red]=7001 [blue]=8001)
tenants=(red blue)
server=10.9.0.1 # each tenant's, on the first host

# ---- a host ------------------------------------------------------------------------------------------------
wire_up() {
    ip link add wire type bridge && ip address flush dev peer0 || return
    local each
    for each in peer0 "$(nsim 2)"; do ip link set "$each" master wire up || return; done
    ip link set wire up && ip link set "$(nsim 1)" name $uplink
}
host() {
    modprobe -a vxlan veth bridge nf_tables macvlan || exit 1
    eswitches
    check "the e-switch's uplink is on the wire" wire_up
    check "Open vSwitch starts" start_ovs
    # Flows are looked at after the traffic, and on a slow machine they would be forgotten by then.
    ovs-vsctl add-br brA -- set Open_vSwitch . other_config:max-idle=300000 other_config:min-revalidate-pps=0
    check "rdmactl asap2 enable, without a bridge" rdmactl asap2 enable netdevsim/netdevsim1 --vfs 2
    join_vfs 1
    configure_asap2
    check "the uplink has an address" ip address add "198.51.100.$LAB_PEER/24" dev $uplink
    equal "no uplink is missing on a bridge" "" "$(rdmactl asap2 status netdevsim/netdevsim1 2>&1 | grep -i missing)"
    world >"$work/before"
    let_controller_in
    same_world "nothing is left" "$work/before"
    clean_kernel_log
}
if ((LAB_PEER)); then
    host
    finish
    exit
fi

# ---- the controller: containers of both hosts ----------------------------------------------------------------
# A container's name is its tenant and the number of its host: red1.
engine=pair
host_of() { echo "node${1: -1}"; }
on_host() { on "$(host_of "$1")" "${@:2}"; } # CONTAINER COMMAND...
pair_start() {
    split "$@"
    on_host "$1" podman run -d --name "$1" "${words[@]}" "${with_perf[@]}" "${options[@]}" --rootfs $rootfs "${command[@]}" >"$work/id-$1"
}
pair_id() { cat "$work/id-$1"; }
pair_inside() { on_host "$1" crun exec "$(pair_id "$1")" "${@:2}"; }
pair_remove() { on_host "$1" podman rm -f -t 0 "$1"; }
listening() { inside "$1" ss -Hltn "sport = :$2" | grep -q .; } # NAME PORT

both() { # COMMAND HOST: on both hosts at once
    local first
    "$@" node1 &
    first=$!
    "$@" node2 && wait $first
}
tunnels() { # VERB HOST: of both tenants
    local tenant number=${2#node} ends=()
    [[ $form$1 != softroceremove ]] || on "$2" podman network rm blue || return
    [[ $1 != add ]] || ends=("198.51.100.$number" "198.51.100.$((3 - number))")
    for tenant in "${tenants[@]}"; do
        case $form in
        asap2) on "$2" $folder/tenant-asap2 "$1" brA "${vlans[$tenant]}" ${ends:+"${vnis[$tenant]}"} "${ends[@]}" ;;
        *) on "$2" $folder/tenant-vxlan "$1" "vx-$tenant" ${ends:+"${vnis[$tenant]}" $uplink} "${ends[@]}" ;;
        esac || return
    done
    # Red's containers have macvlans of rdma-hook's on their tunnel, and blue's those of Podman, with its addresses.
    [[ $form$1 != softroceadd ]] ||
        on "$2" podman network create --driver macvlan --opt parent=vx-blue --subnet 10.9.0.0/24 --gateway 10.9.0.254 blue
}
contain() { # CONTAINER: with its tenant's address of that host
    local address=10.9.0.${1: -1}
    case $form$1 in
    asap2*) attach "$1" mode=asap2 pool=a "vlan=${vlans[${1%?}]}" "ip=$address/24" -- --network none ;;
    *red?) attach "$1" mode=softroce parent=vx-red "ip=$address/24" -- --network none ;;
    *blue?) attach "$1" mode=softroce parent=container -- --network blue --ip "$address" ;;
    esac
}
# An emulated wire loses what comes too fast for it: few messages at once.
rdma_perf() { inside "$1" timeout 100 rdma-perf run $server --size 4096 --depth 8 --timeout 20s "${@:2}"; } # CLIENT OPTION...
# Each tenant's second container reaches its own first one, which says its name.
reaches_its_own() { # TENANT
    rdma_perf "${1}2" --time 0.2s --mode bw --verb write,read,send >"$work/reaches" 2>&1 || { cat "$work/reaches" && return 1; }
    local id
    id=$(pair_id "${1}1")
    cat "$work/reaches"
    grep -q "^server .* on ${id:0:12}\$" "$work/reaches"
}
flows() { inside "$1" timeout 60 rdma-perf run $server --verb write --mode bw --iterations 100 --size 4096 --depth 8 --timeout 10s; } # CLIENT
# A machine that is late may lose a queue pair: it is tried three times.
figure() { # NAME COMMAND...: of its report
    local try
    for try in 1 2 3; do
        "${@:2}" --verb write --json - 2>"$work/figure" | jq -e "[.. | .$1? // empty][0]" && return
        sed "s/^/# try $try: /" "$work/figure" >&2
    done
    return 1
}
figures() { # COMMAND...: bandwidth in bytes a second and latency in ns
    figure bandwidth_bytes_per_s "$@" --mode bw --time 1s && figure p50_ns "$@" --mode lat --iterations 300
}
# Between the hosts themselves, over what carries the tunnels.
between_hosts() { # OPTION...
    on node2 timeout 100 rdma-perf run 198.51.100.1 --device base --size 4096 --depth 8 "$@"
}
serve_on_host() {
    both host_device add && { on node1 rdma-perf serve --bind 198.51.100.1 >"$work/base" 2>&1 & } &&
        wait_for 30 on node1 bash -c "ss -Hltn 'sport = :18600' | grep -q ."
}
host_device() { # add|del HOST
    case $1 in
    add) on "$2" rdma link add base type rxe netdev $uplink ;;
    del) on "$2" rdma link del base ;;
    esac
}
measure() { # CLIENT
    figures rdma_perf "$1" >"$work/figures-$form"
    report $? "$form: the tunnel is measured" "$work/figure"
}
compare() { # FORM...: with the way between the hosts
    check "rxe between the hosts, without a tunnel" serve_on_host
    figures between_hosts >"$work/figures"
    report $? "it is measured" "$work/figure"
    on node1 pkill -x rdma-perf
    check "which goes" both host_device del
    local form
    for form; do
        jq -nr --arg form "$form" --slurpfile now "$work/figures-$form" --slurpfile host "$work/figures" '
            "# \($form), tunnel to no tunnel: bandwidth \($now[0] / $host[0] * 100 | round / 100), latency \($now[1] / $host[1] * 100 | round / 100)" +
            " (median \($now[1] / 1000 | round) us to \($host[1] / 1000 | round) us, emulated)"'
    done
}

# A server of rdma_cm shows no socket, so it is asked until it answers.
rping_across() { # TENANT
    inside "${1}1" timeout 100 rping -s -P -a 10.9.0.1 -C 3 >"$work/rping" 2>&1 &
    wait_for 60 inside "${1}2" timeout 20 rping -c -a 10.9.0.1 -C 3
    local status=$?
    on_host "${1}1" pkill -x rping
    wait $!
    return $status
}
perftest_across() { # TENANT
    serve "${1}1" 18515 ib_write_bw -n 200 -s 4096 -t 8 && inside "${1}2" timeout 100 ib_write_bw -n 200 -s 4096 -t 8 10.9.0.1 && served_once "${1}1"
}

# ---- what both forms are to show -------------------------------------------------------------------------------
deny() { # deny|allow: tenant red's containers, on the first host
    case $form in
    asap2) on node1 $folder/tenant-asap2 "$1" brA red1 ;;
    softroce) on node1 $folder/tenant-vxlan "$1" vx-red 10.9.0.2 ;;
    esac
}
tenants_apart() {
    check "$form: both hosts have a tunnel for each tenant" both tunnels add
    check "$form: red's container on the first host" contain red1
    check "$form: red's on the second" contain red2
    check "$form: blue's on the second, with the same address" contain blue2
    serve red1 18600 rdma-perf serve --bind 0.0.0.0
    refused "$form: nobody has 10.9.0.1 in blue's network, whoever has it in red's" 'No route to host|unreachable|timed out|deadline' \
        inside blue2 timeout 60 rdma-perf run 10.9.0.1 --timeout 5s
    check "$form: blue's on the first host, with the same address" contain blue1
    serve blue1 18600 rdma-perf serve --bind 0.0.0.0
    check "$form: rdma-perf passes in red's network" reaches_its_own red
    check "$form: and in blue's" reaches_its_own blue
    grep -E '^(client|server|write|read|send)' "$work/reaches" | sed 's/^/# /'
    check "$form: rping" rping_across red
    check "$form: ib_write_bw" perftest_across blue
    measure red2
}
rule() {
    check "$form: an administrator's rule on the first host" deny deny
    refused "$form: it stops red's RDMA" 'retr|lost|peer|deadline|time' flows red2
    check "$form: and not its other traffic" inside red2 ping -c 1 -W 20 10.9.0.1
    check "$form: nor blue's RDMA" flows blue2
    check "$form: without the rule" deny allow
    check "$form: red's goes on" wait_for 60 flows red2
}
gone() { # CONTAINER...: at once on both hosts
    local each
    for each; do drop "$each" & done
    wait
    check "$form: the tunnels go" both tunnels remove
}

# ---- asap2: what is seen of it in Open vSwitch, tc and rdmactl --------------------------------------------------
offloaded() {
    local port
    port=$(on node1 ovs-vsctl --bare --columns=name find Port "external_ids:rdma-hook-container=$(pair_id red1)")
    on node1 ovs-appctl dpctl/dump-flows -m type=offloaded >"$work/flows"
    grep "in_port($port)" "$work/flows" | grep 'set(tunnel(tun_id=0x1b59' | grep -q 'offloaded:yes'
    report $? "asap2: what red's container sends goes into its tunnel by an offloaded flow" "$work/flows"
    on node1 tc -s filter show dev "$port" ingress >"$work/filters"
    grep -q 'tunnel_key.*set' "$work/filters" && grep -q 'in_hw in_hw_count 1' "$work/filters"
    report $? "asap2: a rule of its representor's, which hardware has" "$work/filters"
    equal "asap2: rdmactl show says so" hardware "$(on node1 rdmactl show "$(pair_id red1)" --json | jq -r '.offload[0].path')"
    echo "# what comes from the tunnel, on netdevsim: $(on node1 tc filter show dev vxlan_sys_4789 ingress | grep -oE '(not_)?in_hw' | sort | uniq -c | xargs)"
    on node1 ovs-appctl dpctl/dump-flows -m type=tc | grep 'tunnel(' | grep -v 'in_port(eni' | head -2 | cut -c 1-400 | sed 's/^/# /'
    equal "asap2: the VF leaves room for the tunnel" 1430 "$(inside red1 cat /sys/class/net/rdma0/mtu)"
}

# ---- softroce: Podman's own network on the tunnel ---------------------------------------------------------------
# As examples/overlay/README.md has it: the tunnel is a port of the network's bridge.
bridge() { # HOST
    on "$1" bash -c 'ip link add br-red type bridge && ip link set vx-red master br-red && ip link set br-red up'
}
unbridge() { on "$1" bash -c 'podman network rm red && ip link delete br-red'; } # HOST
podman_network() { # MTU HOST
    on "$2" podman network create --internal --disable-dns --interface-name br-red --opt "mtu=$1" --subnet 10.9.0.0/24 red
}
failures() { on "$1" rdmactl list --failed && false; } # HOST
bridged() { attach "$1" mode=softroce parent=container -- --network red --ip "10.9.0.1${1: -1}"; } # CONTAINER
podman_bridge() {
    form=bridge tenants=(red)
    check "softroce: one tunnel" both tunnels add
    check "softroce: the tunnel is a port of a bridge" both bridge
    check "softroce: a network of Podman's there, with an MTU that is too large for the tunnel" podman_network 9000 node1
    refused "softroce: a container of it is refused" . bridged red1
    refused "softroce: for packets that the tunnel would lose, with what to do" 'RoCE sends packets of 4096 bytes, and port vx-red .*--opt mtu=1450' \
        failures node1
    on node1 podman rm -f -t 0 red1 >/dev/null 2>&1
    check "softroce: without that network" on node1 podman network rm red
    check "softroce: networks of Podman's with the tunnel's MTU" both podman_network 1450
    check "softroce: a container of it" bridged red1
    check "softroce: and on the second host" bridged red2
    server=10.9.0.11
    serve red1 18600 rdma-perf serve --bind 0.0.0.0
    check "softroce: rdma-perf passes, from Podman's address to Podman's address" reaches_its_own red
    gone red1 red2
    check "softroce: networks and bridges go" both unbridge
}

reach_hosts
for form in $forms; do
    tenants_apart
    rule
    [[ $form != asap2 ]] || offloaded
    gone red1 red2 blue1 blue2
done
[[ $forms != *softroce* ]] || podman_bridge
# shellcheck disable=SC2086 # words
compare $forms
let_hosts_go
finish
