# shellcheck shell=bash
# shellcheck disable=SC2154 # parents is the scenario's
# What isolation.sh does to find out: nodes of all devices opened, frames of a foreign source, rules of a firewall. Sourced, beside the
# scenario's functions is, in_network and mac.

# ---- nodes --------------------------------------------------------------------------------------------------
# A node of any number can be made where CAP_MKNOD is; opening it is what the cgroup, or in mode exclusive the kernel, decides.
all_nodes() { # NAME MAJOR:MINOR of each device
    local each
    for each in /sys/class/infiniband_verbs/uverbs*; do echo "$(<"$each/ibdev") $(<"$each/dev")"; done
}
# shellcheck disable=SC2016 # for the shell there
opened() { # COMMAND...: the devices whose nodes open for a shell that it starts
    all_nodes | "$@" bash -c '
        dir=$(mktemp -d /dev/try.XXXX)
        while read -r name numbers; do
            mknod "$dir/$name" c "${numbers%:*}" "${numbers#*:}" || echo "no node for $name"
            ! (exec 3<>"$dir/$name") 2>/dev/null || echo "$name"
        done
        rm -rf "$dir"' 2>&1
}

# ---- frames -------------------------------------------------------------------------------------------------
send='import socket, sys, time
netdev, to, mac, address = sys.argv[1:]
ether = bytes.fromhex((to + mac).replace(":", "")) + b"\x08\x00"
ip = bytes.fromhex("4500001c0000000040110000") + socket.inet_aton(address) + socket.inet_aton("10.9.0.2")
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((netdev, 0))
for _ in range(40):
    s.send(ether + ip + bytes.fromhex("1234123400080000") + bytes(32))
    time.sleep(0.1)'
receive='import socket, sys
mac, address = sys.argv[1:]
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.bind(("rdma0", 0))
while True:
    f = s.recv(2000)
    if f[6:12] == bytes.fromhex(mac.replace(":", "")) and f[26:30] == socket.inet_aton(address): break'
frame() { # MAC ADDRESS: whether c2 gets a frame of c1 that says it is from there
    in_network c2 timeout 12 python3 -c "$receive" "$@" &
    local spy=$! status
    inside c1 timeout 30 python3 -c "$send" rdma0 "$(mac c2)" "$@"
    wait $spy
    status=$?
    return $status
}

# ---- rules --------------------------------------------------------------------------------------------------
rule() { # what RDMA is, of these containers; not the control connection
    local of='ip saddr { 10.9.0.1, 10.9.0.2, 10.9.0.3, 192.0.2.1 }'
    if is softiwarp; then
        echo "$of tcp dport != 18600 tcp sport != 18600 counter drop"
    else
        echo "$of udp dport 4791 counter drop"
    fi
}
inet_rules() { # HOOK...
    local each
    for each; do echo "add chain inet lab $each { type filter hook $each priority -300; }; add rule inet lab $each $(rule)"; done
}
rules() { # inet|parent|namespace|bridge
    local each hook
    case $1 in
    inet)
        nft "add table inet lab; $(inet_rules prerouting input forward output postrouting | paste -sd';')"
        ;;
    parent)
        nft add table netdev lab || return
        for each in $parents; do
            for hook in ingress egress; do
                nft "add chain netdev lab $hook-$each { type filter hook $hook device $each priority 0; }; add rule netdev lab $hook-$each $(rule)" || return
            done
        done
        ;;
    namespace) in_network c1 nft "add table inet lab; $(inet_rules input output | paste -sd';')" ;;
    bridge) ovs-ofctl add-flow brA priority=100,udp,tp_dst=4791,actions=drop ;;
    esac
}
dropped() { # WHERE: whether a rule there has seen packets
    case $1 in
    inet) nft list table inet lab ;;
    parent) nft list table netdev lab ;;
    namespace) in_network c1 nft list table inet lab ;;
    bridge) ovs-ofctl dump-flows brA udp,tp_dst=4791 | sed 's/n_packets=/packets /' ;;
    esac | grep -qE 'packets [1-9]'
}
no_rules() {
    case $1 in
    inet) nft delete table inet lab ;;
    parent) nft delete table netdev lab ;;
    namespace) in_network c1 nft delete table inet lab ;;
    bridge) ovs-ofctl del-flows brA udp,tp_dst=4791 ;;
    esac
}
