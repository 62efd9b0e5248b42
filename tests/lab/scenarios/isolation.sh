#!/bin/bash
# What each mode isolates: the table of docs/admin/isolation.md, filled in by asking the kernel. Two containers of each mode, neighbours;
# each cell is what was promised or it fails, also where the kernel keeps them apart better than the table says.
#   tests/lab/run --kernel 7.3 --hca --nics igb [--exclusive] [--double ib_core] tests/lab/scenarios/isolation.sh [ROW...]
# ROWs: all that the guest can do, unless given; with --exclusive that of RDMA mode exclusive, with --double ib_core that of MLNX_OFED. What no emulated hardware can
# show is a line "skipped: ", with the reason. tests/lint/docs.py compares the two tables.
source "${BASH_SOURCE[0]%/*}/every-mode-lib.sh"
source "${BASH_SOURCE[0]%/*}/isolation-lib.sh"
source "${BASH_SOURCE[0]%/*}/bundles-lib.sh"

columns=(opens identity spoof firewall rate exhaust)
# The page's rows, each followed by what the kernel has to answer for it.
table() {
    cat <<'TABLE'
| softroce | no, only its node | its netdev's | as its netdev | past `inet` tables, not past `netdev` rules of the parent | by tc | CPU |
= softroce | its own, by the cgroup | own | frames with NET_RAW, no GID | past inet, held by the parent, held between children, held in its namespace | by tc | objects its own, GIDs its own |
| softiwarp | no, only its node | its netdev's | as its netdev | the same: TCP of the container's namespace | by tc | CPU |
= softiwarp | its own, by the cgroup | own | frames with NET_RAW, no address | past inet, held by the parent, held between children, held in its namespace | by tc | objects its own |
| shared | one HCA, whole | its MAC and address | raw QP with NET_RAW: yes; a neighbour's GID: **yes** | **yes** | no | GIDs, objects unless `rdma.max_hca_*` |
= shared | the neighbour's, by the cgroup | own | frames with NET_RAW, the neighbour's GID | past inet | no | objects unless limited, GIDs |
| shared, modules of MLNX_OFED or DOCA | the same | the same | raw QP with NET_RAW: yes; a neighbour's GID: no | **yes** | no | the same |
= shared_ofed | the neighbour's, by the cgroup | own | frames with NET_RAW, no GID | past inet | no | objects unless limited |
| vf, RDMA mode exclusive | no | VF's MAC, VLAN by the PF | MAC: no, with spoofchk on | **yes**: its own device passes the host by | `max_tx_rate` | no |
= vf_exclusive | its own, by the kernel | own, VLAN by the host | spoofchk on, addresses with NET_RAW, no GID | past inet, past the parent | set | objects its own, GIDs its own |
| vf, RDMA mode shared | no, only its node | the same | the same | **yes** | the same | no |
= vf | its own, by the cgroup | own, VLAN by the host | spoofchk on, addresses with NET_RAW, no GID | past inet, past the parent | set | objects its own, GIDs its own |
| asap2 | as vf | VF's MAC, VLAN by the bridge | what the bridge's rules let pass | by the bridge's rules instead | `max_tx_rate` | no |
= asap2 | its own, by the cgroup | own, VLAN by the host | frames with NET_RAW unless a rule drops them, no GID | past inet, held by the bridge | set, held | objects its own, GIDs its own |
| host | no, only those that were asked for, whole | none: the host's | as the host | **yes** | no | all of theirs, unless `rdma.max_hca_*` |
= host | the neighbour's, by the cgroup | the host's | the neighbour's GID | past inet | no | objects unless limited, GIDs its own |
| softroce, `placement=host` | no | none: shares the host's | yes, among its users | yes | no | CPU; objects unless `rdma.max_hca_*` |
= placement | the neighbour's, by the cgroup | the host's | the neighbour's GID | past inet | no | objects unless limited, GIDs its own |
TABLE
}

# ---- the modes: what they want here beside every-mode-lib.sh ------------------------------------------------
# Two parents on one wire, as of two hosts: their rules see what passes.
softroce_keys() { echo mode=softroce "parent=wire$(($1 - 1))"; }
softiwarp_keys() { echo mode=softiwarp "parent=wire$(($1 - 1))"; }
placement_lacks() { old_rxe; }
placement_keys() { echo mode=softroce placement=host; }
placement_up() { networks; }
placement_down() { no_networks; }
host_lacks() { :; }
host_keys() { echo mode=host device=hca0; }
host_up() { networks && make_hca; }
host_down() { rdma link delete hca0 && no_networks; }
# Where containers get no interface for RDMA they have an engine's, eth0, on one wire.
networks() {
    local each
    for each in 1 2; do add_netns "lab-c$each" || return; done
    ip link add eth0 netns lab-c1 type veth peer name eth0 netns lab-c2
    for each in 1 2; do ip -n "lab-c$each" address add "10.88.0.$each/24" dev eth0 && ip -n "lab-c$each" link set eth0 up || return; done
}
no_networks() { ip netns delete lab-c1 && ip netns delete lab-c2; }
is() { [[ " $* " == *" $row "* ]]; } # ROW...

start() { # CONTAINER NUMBER [KEY=VALUE...]
    local name=$1 keys address=("ip=10.9.0.${1#c}/24") jq=.
    read -ra keys <<<"$("${mode}_keys" "$2")"
    ! is host placement || address=() jq=$(in_netns "/run/netns/lab-$1")
    [[ $name != c1 ]] || jq+=' | .process.capabilities |= map_values(. + ["CAP_NET_RAW", "CAP_MKNOD"])'
    attach "$name" "${keys[@]}" "${address[@]}" "${@:3}" -- "$jq"
}
again() { # [KEY=VALUE...]: c2 anew, with these
    drop c2
    start c2 2 "$@"
}
device() { environment "$1" RDMA_DEVICE; }
netdev() { if is host placement; then echo eth0; else echo rdma0; fi; }
address() { in_network "$1" ip -j -4 addr show "$(netdev)" | jq -r '.[0].addr_info[0].local'; }
mac() { in_network "$1" ip -j link show "$(netdev)" | jq -r '.[0].address'; }
gids_of_c2() { inside c2 bash -c "cat /sys/class/infiniband/$(device c2)/ports/1/gids/*" | grep -vc '^\(0000:\)*0000$'; }

perf_run() { # CLIENT OPTION...: writes to c1
    local cm=()
    ! is softiwarp || cm=(--cm)
    inside "$1" timeout 60 rdma-perf run "$(address c1)" "${cm[@]}" --verb write --mode bw --size 4096 "${@:2}"
}
flows() { perf_run "${1:-c2}" --iterations 50 --depth 8 --timeout 6s; }
mbits() { perf_run c2 --time "${1:-1s}" --depth 8 --json - | jq '[.. | .bandwidth_bytes_per_s? // empty][0] * 8 / 1000000 | floor'; }

# ---- a cell -------------------------------------------------------------------------------------------------
declare -A readme=() promised=() found=()
read_table() {
    local line cells i last=()
    while read -r line; do
        IFS='|' read -ra cells <<<"${line#[|=]}"
        for i in "${!cells[@]}"; do
            read -r "cells[$i]" <<<"${cells[i]}" # without the spaces around it
        done
        if [[ $line == '|'* ]]; then
            last=("${cells[@]:1}")
            continue
        fi
        rows+=("${cells[0]}")
        for i in "${!columns[@]}"; do
            readme[${cells[0]},${columns[i]}]=${last[i]}
            promised[${cells[0]},${columns[i]}]=${cells[i + 1]}
        done
    done < <(table)
}
cell() { # COLUMN FOUND
    found[$row,$1]=$2
    equal "$row, $1: \"${readme[$row,$1]}\", that is: ${promised[$row,$1]}" "${promised[$row,$1]}" "$2"
}
skip() { # COLUMN REASON
    skips=$((skips + 1))
    echo "skipped: $row, $1: $2"
}
list() { # WORD...: with commas
    local text
    text=$(printf ', %s' "$@")
    echo "${text:2}"
}

# ---- opens other HCAs ---------------------------------------------------------------------------------------
opens() {
    local own by="the cgroup" seen
    own=$(device c1)
    seen=$(opened inside c1 | xargs)
    [[ $(opened in_network c1 | xargs) != "$own" ]] || by="the kernel"
    [[ $seen == "$(devices c1)" ]] || seen+=", lists $(devices c1)"
    if [[ $seen != "$own" ]]; then
        seen="opens $seen"
    elif [[ $own == "$(device c2)" ]]; then
        seen="the neighbour's"
    else
        seen="its own"
    fi
    cell opens "$seen, by $by"
}

# ---- own L2 identity ----------------------------------------------------------------------------------------
identity() {
    local answer="own"
    if is host placement; then # what its packets have is a GID and the MAC of that GID's netdev
        answer="GIDs $(environment c1 RDMA_GID) $(environment c2 RDMA_GID)"
        [[ $answer != "GIDs 0000:0000:0000:0000:0000:ffff:c000:0201 0000:0000:0000:0000:0000:ffff:c000:0201" ]] || answer="the host's"
    else
        { mac c1; mac c2; ip -j link show | jq -r '.[].address'; address c1; address c2; ip -j addr show | jq -r '.[].addr_info[].local'; } >"$work/all"
        grep -Fxc -e "$(mac c1)" -e "$(mac c2)" -e "$(address c1)" -e "$(address c2)" "$work/all" | grep -qx 4 || answer="of others, too"
    fi
    case $row in
    vf* | asap2)
        again vlan=7 >/dev/null 2>&1
        ! in_network c2 ping -c 1 -W 2 "$(address c1)" >/dev/null && has_vlan && answer+=", VLAN by the host"
        again >/dev/null 2>&1
        ;;
    esac
    cell identity "$answer"
}
has_vlan() { # c2, in the hands of the host; it sees nothing of it
    ! in_network c2 ip -d link show rdma0 | grep -q 'vlan protocol' || return
    if is asap2; then
        [[ $(ovs-vsctl get Port "$(representor 2 0)" tag) == 7 ]]
    else
        of_pf c2 enp2s0 | jq -e '[.. | .vlan?] | index(7) != null' >/dev/null
    fi
}
of_pf() { # CONTAINER PF: what the PF keeps for its VF
    local number
    number=$(rdmactl vf list --json | jq --arg id "$(id_of "$1")" '.pfs[].vfs[] | select(.containers | index($id)).number')
    ip -d -j link show "$2" | jq ".[0].vfinfo_list[] | select(.vf == ${number:--1})"
}

# ---- can spoof MAC or IP ------------------------------------------------------------------------------------
raw_sockets_of_all() { inside c2 python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)'; }
frames() { # MAC: what becomes of frames with this source and an address of nobody
    if raw_sockets_of_all; then
        echo "frames"
    elif frame "$1" 10.9.0.66; then
        echo "frames with NET_RAW"
    else
        echo "no frames"
    fi 2>>"$work/frames"
}
verdict() { jq -r ".checks[] | select(.id == \"$1\").verdict" "$work/isolate.json"; }
foreign_gid() { # what rdma-perf isolate finds, from c2
    inside c2 timeout 200 rdma-perf isolate "$(address c1)" --json - >"$work/isolate.json" 2>"$work/isolate"
    jq -r '.checks[] | "# isolate: \(.id): \(.verdict): \(.observed)"' "$work/isolate.json" || sed 's/^/# /' "$work/isolate"
    case $(verdict foreign_source) in
    fail) parts+=("the neighbour's GID") ;;
    pass | not-applicable) parts+=("no GID") ;;
    *) parts+=("GIDs are not known") ;;
    esac
}
foreign_address() { # for which rdma_cm listens, until it is ended
    inside c1 timeout 10 rping -s -a 10.9.0.2 >"$work/rping" 2>&1
    if [[ $? == 124 ]]; then parts+=("the neighbour's address"); else parts+=("no address"); fi
}
spoof() {
    local parts=()
    case $row in
    host | placement) ;; # the netdev is an engine's
    vf*)
        parts=("spoofchk $(of_pf c1 enp1s0 | jq -r 'if .spoofchk then "on" else "off" end')")
        [[ $(frames "$(mac c1)") != "frames with NET_RAW" ]] || parts+=("addresses with NET_RAW")
        skip spoof "QEMU's igb forwards frames of another MAC whether spoofchk is on or not"
        ;;
    asap2)
        parts=("$(frames 02:00:00:00:66:01)")
        ovs-ofctl add-flow brA priority=100,dl_src=02:00:00:00:66:02,actions=drop
        frame 02:00:00:00:66:02 10.9.0.66 || parts[0]+=" unless a rule drops them"
        ovs-ofctl del-flows brA dl_src=02:00:00:00:66:02
        ;;
    *) parts=("$(frames 02:00:00:00:66:01)") ;;
    esac
    if is softiwarp; then foreign_address; else foreign_gid; fi
    cell spoof "$(list "${parts[@]}")"
    ! is shared shared_ofed || skip spoof "the HCA is rxe, which has no raw packet queue pairs"
}

# ---- past the host firewall ---------------------------------------------------------------------------------
# Without rules there is nothing to pass, and a run that only came too late was held by nobody.
try_rules() { # WHERE HELD PAST [CLIENT]: one of these answers
    local answer
    if ! rules "$1" >"$work/rules" 2>&1; then
        answer="no rules for $1"
        sed 's/^/# /' "$work/rules"
    elif flows "${4:-c2}" >>"$work/rules" 2>&1; then
        answer=$3
    elif dropped "$1"; then
        answer=$2
    else
        answer="not known of $1"
    fi
    no_rules "$1" >>"$work/rules" 2>&1
    wait_for 60 flows "${4:-c2}" >/dev/null || answer+=", and not without"
    parts+=("$answer")
}
firewall() {
    local parts=() parents="wire0 wire1"
    [[ $mode != vf ]] || parents="enp1s0 enp2s0"
    try_rules inet "held by inet" "past inet"
    case $row in
    softroce | softiwarp)
        try_rules parent "held by the parent" "past the parent"
        start c3 1 >/dev/null 2>&1 # beside c1
        try_rules parent "held between children" "past between children" c3
        drop c3
        try_rules namespace "held in its namespace" "past its namespace"
        ;;
    vf*)
        try_rules parent "held by the parent" "past the parent"
        skip firewall "igb's VFs have no RDMA of their own: rxe's packets pass the container's namespace, a VF's own device would not"
        ;;
    asap2) try_rules bridge "held by the bridge" "past the bridge" ;;
    shared*) skip firewall "the HCA is rxe: its packets pass the parent and the container's namespace, an adapter's would not" ;;
    esac
    cell firewall "$(list "${parts[@]}")"
}

# ---- rate cap -----------------------------------------------------------------------------------------------
shaped() { # COMMAND...: whether c2 is slower with a tenth of its rate on a netdev, by `tc` there
    local free limited
    free=$(mbits)
    free=${free:-0}
    "$@" tc qdisc add dev "$shaped_netdev" root tbf rate "$((free * 100 + 100))kbit" burst 32kb latency 2s || return
    limited=$(mbits)
    "$@" tc qdisc delete dev "$shaped_netdev" root
    echo "# $row: $free Mbit/s, with a tenth as rate by tc $limited" >&3
    ((${limited:-$free} * 2 < free))
}
rate() {
    local answer="no" free limited shaped_netdev
    if is host placement; then
        shaped_netdev=lab0
        ! shaped env || answer="by tc"
    elif is softroce softiwarp; then
        shaped_netdev=rdma0
        ! shaped in_network c2 || answer="by tc"
    fi 3>&1 2>>"$work/rate"
    free=$(mbits)
    free=${free:-0}
    if again "max_tx_rate=$((free / 10 + 1))" >"$work/again" 2>&1; then
        answer="not set"
        case $row in
        vf*)
            [[ $(of_pf c2 enp2s0 | jq .rate.max_tx) != $((free / 10 + 1)) ]] || answer="set"
            skip rate "QEMU's igb sends as fast as it can"
            ;;
        asap2)
            [[ $(ovs-vsctl get Interface "$(representor 2 0)" ingress_policing_rate) != $(((free / 10 + 1) * 1000)) ]] || answer="set"
            wait_for 30 flows
            limited=$(mbits 8s) # more than the burst, which passes at once
            echo "# $row: $free Mbit/s, with a tenth as rdma.max_tx_rate $limited"
            ((${limited:-$free} * 2 >= free)) || answer+=", held"
            ;;
        esac
    elif ! grep -q 'does not take rdma.max_tx_rate' "$work/again"; then
        answer="refused otherwise"
    fi
    cell rate "$answer"
    ! is shared shared_ofed || skip rate "the HCA is rxe: tc at the interface slows it, an adapter's packets do not pass there"
}

# ---- can exhaust neighbours' --------------------------------------------------------------------------------
loop() { inside "$1" timeout 100 rdma-perf loop --verb write --mode bw --size 64 --iterations 200 --qps "$2"; }
one_gid_more() { (($(gids_of_c2) > $1)); }
exhaust() {
    local answer="objects its own" before limits
    drop c1
    start c1 1 max_hca_objects=60 >/dev/null 2>&1
    limits=$(in_network c1 sed -n "s/^$(device c1) .*hca_object=//p" "$(cgroup_of c1)/rdma.max" | xargs)
    [[ $(device c1) != "$(device c2)" ]] || answer="objects unless limited"
    [[ $limits == 60 ]] || answer="a limit of $limits"
    if ! is softiwarp; then # its queue pairs take two sides and rdma_cm
        loop c1 1 >"$work/loop" 2>&1 || answer="nothing within the limit"
        ! loop c1 64 >"$work/loop" 2>&1 || answer="no limit"
        loop c2 64 >"$work/loop" 2>&1 || answer="the neighbour's limit"
        before=$(gids_of_c2)
        in_network c1 ip address add 10.77.0.1/32 dev "$(netdev)"
        if is shared_ofed; then
            skip exhaust "nobody is shown how many GIDs of others there are"
        elif wait_for 5 one_gid_more "$before"; then
            answer+=", GIDs"
        else
            answer+=", GIDs its own"
        fi
    fi
    cell exhaust "$answer"
    case $row in
    shared* | asap2 | vf*) ;;
    *) skip exhaust "rxe and siw take processor time of the host, whose processors are emulated here" ;;
    esac
}

# ---- all rows -----------------------------------------------------------------------------------------------
try() { # $row
    local begin=$SECONDS each
    for each in 1 2; do check "$row: c$each starts" start c$each $each; done
    { init_of c1 && init_of c2; } >/dev/null || { drop c1 c2; return; }
    opens
    identity
    serve c1 18600 rdma-perf serve --bind 0.0.0.0 --timeout 30s --allow-isolation-tests
    check "$row: RDMA passes" wait_for 120 flows
    spoof
    firewall
    rate
    end_server c1
    again >/dev/null 2>&1
    exhaust
    drop c1 c2
    echo "# $row: $((SECONDS - begin)) s"
}
found_table() {
    local column
    for row in "${wanted[@]}"; do
        printf '# | %s' "$row"
        for column in "${columns[@]}"; do printf ' | %s' "${found[$row,$column]:-not asked}"; done
        echo ' |'
    done
}

rows=() skips=0
read_table
wanted=("$@")
if (($# == 0)); then
    for row in "${rows[@]}"; do
        if ((LAB_EXCLUSIVE)); then
            ! is vf_exclusive || wanted+=("$row")
        elif [[ $LAB_DOUBLES == *ib_core* ]]; then
            ! is shared_ofed || wanted+=("$row")
        else
            is vf_exclusive shared_ofed || wanted+=("$row")
        fi
    done
fi
modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables sch_tbf || exit 1
ip link add wire0 type veth peer name wire1
ip link add other0 type dummy
for each in wire0 wire1 other0; do ip link set $each up; done
rdma link add other1 type rxe netdev other0 # an HCA that is nobody's
for row in "${wanted[@]}"; do
    mode=${row%_*}
    if mode_up; then
        world >"$work/before"
        try
        same_world "$row: nothing is left" "$work/before"
        mode_down
    else
        skip "every column" "$reason"
    fi
done
ip link delete other0
ip link delete wire0
clean_kernel_log
found_table
echo "# $skips skipped"
finish
