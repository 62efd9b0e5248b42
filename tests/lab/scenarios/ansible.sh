#!/bin/bash
# Two hosts made ready by ansible/site.yml over ssh, as an operator would, used across the wire between them, and brought back.
#   wire=$(mktemp -d)/wire
#   for host in 1 2; do tests/lab/run --kernel 7.3 --timeout 2400 --peer $wire tests/lab/scenarios/ansible.sh softroce & done; wait
# The first guest is the controller and a host, the second a host alone; each gives a status. Instead of softroce:
#   sriov   with --nics igb: --tags sriov, and VFs of enp1s0 across the wire
#   asap2   --tags sriov,asap2_direct on netdevsim, whose wires do not leave a guest: two containers of each host
# With --packages rdma-hook is installed by the role (the guest needs python3-apt for that), else it is there.
source "${BASH_SOURCE[0]%/*}/asap2-lib.sh"
what=${1:-softroce}
folder=${BASH_SOURCE[0]%/tests/*}/ansible
hosts=(198.51.100.1 198.51.100.2)
((LAB_PEER)) || { echo "ansible.sh: use --peer" >&2; exit 64; }

# ---- both guests -------------------------------------------------------------------------------------------
# What engines load is loaded before we look; what the roles load is not, and has to go again.
modprobe -a veth overlay bridge nf_tables xt_conntrack ip_tables || exit 1
podman run --rm --rootfs $rootfs true
case $what in
softroce) ;;
sriov) modprobe -a igb igbvf 8021q || exit 1 ;;
asap2)
    eswitches # loads rdma_rxe for its own use
    check "Open vSwitch starts" start_ovs
    ;;
*) echo "ansible.sh: not softroce, sriov or asap2: $what" >&2; exit 64 ;;
esac
# The guests are of one image and so have one host key. By the same they let each other in.
key=/etc/ssh/ssh_host_ed25519_key
mkdir -p /root/.ssh
chmod 700 /root/.ssh
cp $key.pub /root/.ssh/authorized_keys
for host in "${hosts[@]}"; do echo "$host $(cut -d' ' -f1,2 $key.pub)"; done >/root/.ssh/known_hosts
check "sshd starts" /usr/sbin/sshd
on() { # HOST COMMAND...
    local host=$1
    shift
    # shellcheck disable=SC2029 # expanded here
    ssh -i $key -o BatchMode=yes -o ConnectTimeout=10 "root@$host" "$(printf '%q ' "$@")"
}

if ((LAB_PEER == 2)); then
    check "the controller is done with this host" wait_for 2300 test -e /run/lab-ansible-done
    clean_kernel_log
    finish
    exit
fi

# ---- the controller ----------------------------------------------------------------------------------------
# Everything that roles change: files, units, modules, links with their MTU and state, VFs, e-switches.
state() {
    find /etc /usr/local /usr/bin /usr/lib/systemd /var/lib -xdev \( -path /var/lib/containers -o -path /var/lib/openvswitch -o -path /var/lib/dpkg \
        -o -path /var/lib/systemd -o -path /var/lib/libuuid -o -path /etc/ssh \) -prune -o -printf '%y %m %p\n' | sort
    find /etc -xdev -type f ! -path '/etc/openvswitch/*' -exec md5sum {} + | sort -k 2
    SYSTEMD_OFFLINE=1 systemctl list-unit-files --no-legend | sort
    awk '{ print "module", $1 }' /proc/modules | sort
    ip -j -d link | jq -r '.[] | select(.ifname | test("^(veth|podman)") | not) | "\(.ifname) \(.address) mtu \(.mtu) up \(.flags | index("UP") != null)"' | sort
    grep -s . /sys/class/net/*/device/sriov_numvfs /sys/bus/netdevsim/devices/*/sriov_numvfs /sys/module/ib_core/parameters/netns_mode
    rdma -j link | jq -r '.[].ifname' | sort
}
state_of() { on "$1" bash -c "$(declare -f state); state"; }

inventory() {
    local packages=none
    [[ ! -d /lab/packages ]] || packages=package
    jq -n --arg key $key --arg install $packages --arg what "$what" '{all: {
        vars: {ansible_user: "root", ansible_ssh_private_key_file: $key, ansible_python_interpreter: "/usr/bin/python3",
            rdma_install_packages: false, rdma_hook_install: $install, rdma_hook_deb_folder: "/lab/packages",
            rdma_host_vfs_unmanaged: true, rdma_host_interfaces: [{name: "peer0", mtu: 4200}], evaluation_interface: "peer0",
            rdma_hook_pools: (if $what == "asap2" then {a: {mode: "asap2", default: true, bridge: "ovs-sriov", functions: {
                "netdevsim/netdevsim11": "netdevsim/netdevsim1/pf0vf0", "netdevsim/netdevsim12": "netdevsim/netdevsim1/pf0vf1"}}}
                else {soft: {mode: "softroce", default: true, parents: ["peer0"]}} end),
            sriov_parent_device: (if $what == "asap2" then "netdevsim/netdevsim1" else "enp1s0" end), NUM_OF_VFS: 2},
        children: {no_mlnx_ofed: {hosts: {node1: {ansible_host: "198.51.100.1"}, node2: {ansible_host: "198.51.100.2"}}}}}}' >"$work/hosts.json"
}
declare -A tags=([softroce]='' [sriov]='sriov' [asap2]='sriov,asap2_direct')
play() { # PLAYBOOK [OPTION...]: from the folder that has ansible.cfg
    (cd "$folder" && ANSIBLE_NOCOLOR=1 PYTHONDONTWRITEBYTECODE=1 ansible-playbook -i "$work/hosts.json" "$@")
}
site() { play site.yml ${tags[$what]:+--tags "${tags[$what]}"} "$@"; }
unchanged() { # WHAT COMMAND...: it succeeds, and changed nothing on either host
    local goal=$1
    shift
    "$@" >"$work/play" 2>&1 && [[ $(grep -cE ': ok=.* changed=0 .* failed=0 ' "$work/play") == 2 ]]
    report $? "$goal" "$work/play"
}
same() { # WHAT WHEN: both hosts are as they were then
    local host
    for host in "${hosts[@]}"; do
        state_of "$host" >"$work/now"
        diff "$work/$2-$host" "$work/now" >"$work/out"
        report $? "$1: $host" "$work/out"
    done
}
remember() { local host; for host in "${hosts[@]}"; do state_of "$host" >"$work/$1-$host"; done; }

# ---- containers on both hosts ------------------------------------------------------------------------------
contain() { # HOST NAME ADDRESS
    local words=(--annotation "rdma.ip=$3/24")
    case $what in
    softroce) words+=(--annotation rdma.mode=softroce) ;;
    sriov) words+=(--annotation rdma.mode=vf --annotation rdma.device=enp1s0) ;;
    asap2) words+=(--annotation rdma.mode=asap2) ;;
    esac
    on "$1" podman run -d --name "$2" "${words[@]}" "${with_perf[@]}" --rootfs $rootfs sleep 100000
}
serves() { on "$1" podman exec "$2" ss -Hltn 'sport = :18600' | grep -q .; }
passes() { # WHAT SERVER-HOST SERVER ADDRESS CLIENT-HOST CLIENT: rdma-perf, every byte checked
    on "$2" podman exec "$3" timeout 200 rdma-perf serve --bind 0.0.0.0 --once >"$work/server" 2>&1 &
    local server=$! status
    wait_for 60 serves "$2" "$3"
    on "$5" podman exec "$6" timeout 150 rdma-perf run "$4" --time 0.5s --size 4096 >"$work/out" 2>&1
    status=$?
    wait "$server"
    cat "$work/server" >>"$work/out"
    report $status "$1" "$work/out"
}
use() {
    local host
    case $what in
    asap2)
        for host in "${hosts[@]}"; do
            on "$host" bash -c "$(declare -f nsim representor join join_ours); join_ours"
            check "$host: a container on a VF" contain "$host" a 10.9.0.1
            check "$host: another one" contain "$host" b 10.9.0.2
            passes "$host: rdma-perf passes between them" "$host" a 10.9.0.1 "$host" b
        done
        ;;
    *)
        check "a container on the first host" contain "${hosts[0]}" a 10.9.0.1
        check "a container on the second host" contain "${hosts[1]}" b 10.9.0.2
        passes "rdma-perf passes across the wire" "${hosts[0]}" a 10.9.0.1 "${hosts[1]}" b
        ;;
    esac
    for host in "${hosts[@]}"; do on "$host" podman rm -f -t 0 -a >/dev/null 2>&1; done
}
join_ours() { # the two VFs of the first e-switch, as join_vfs does for both
    local vf
    udevadm settle
    for vf in 0 1; do join "$(representor 1 $vf)" "$(nsim 1$((vf + 1)))"; done
}

check "the second host answers" wait_for 300 on "${hosts[1]}" true
on "${hosts[1]}" udevadm settle
inventory
remember before
check "check mode goes through" site --check --diff
same "check mode changed nothing" before
check "site.yml goes through" site
on "${hosts[1]}" cat /sys/class/net/peer0/mtu >"$work/mtu"
equal "an interface has the MTU that was asked for" 4200 "$(<"$work/mtu")"
use
remember ready
unchanged "a second run changes nothing" site
same "nor does it in fact" ready
unchanged "check mode sees nothing to change" site --check
check "teardown.yml goes through" play teardown.yml
same "the hosts are as they were" before
unchanged "a second teardown changes nothing" play teardown.yml
clean_kernel_log
on "${hosts[1]}" touch /run/lab-ansible-done
finish
