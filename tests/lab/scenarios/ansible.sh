#!/bin/bash
# Two hosts made ready by ansible/site.yml over ssh, as an operator would, used across the wire between them, and brought back.
#   tests/lab/pair --kernel 7.3 --timeout 3600 tests/lab/scenarios/ansible.sh [--brief] softroce
# Instead of softroce:
#   sriov   with --nics igb: --tags sriov, and VFs of enp1s0 across the wire
#   asap2   --tags sriov,asap2_direct on netdevsim, whose wires do not leave a guest: two containers of each host
# --brief: no check mode, and no second runs but that of site.yml.
source "${BASH_SOURCE[0]%/*}/asap2-lib.sh"
source "${BASH_SOURCE[0]%/*}/podman-lib.sh"
source "${BASH_SOURCE[0]%/*}/pair-lib.sh"
brief=0
[[ ${1:-} != --brief ]] || { brief=1 && shift; }
form=${1:-softroce} # not "what": that is a local of check(), in which what it calls would find it
folder=${BASH_SOURCE[0]%/tests/*}/ansible
[[ $form =~ ^(softroce|sriov|asap2)$ ]] || { echo "ansible.sh: not softroce, sriov or asap2: $form" >&2; exit 64; }

# ---- a host ------------------------------------------------------------------------------------------------
# What engines and our own looks (ss, rdma) load is loaded before; what the roles load is not, and has to go again.
host() {
    modprobe -a veth overlay bridge nf_tables xt_conntrack ip_tables tcp_diag ib_core || exit 1
    check "podman starts" podman run --rm --rootfs $rootfs true
    case $form in
    sriov) modprobe -a igb igbvf 8021q || exit 1 ;;
    asap2)
        eswitches # loads rdma_rxe for its own use
        check "Open vSwitch starts" start_ovs
        modprobe -a nfnetlink_cttimeout act_skbedit || exit 1 # which it loads for its first bridge, and for flows to groups
        ;;
    esac
    let_controller_in
    clean_kernel_log
}
if ((LAB_PEER)); then
    host
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

inventory() { # softroce: a host that is not measured is among them, as in the inventory that is shipped
    jq -n --arg key $key --arg form "$form" '{all: {
        vars: {ansible_user: "root", ansible_ssh_private_key_file: $key, ansible_python_interpreter: "/usr/bin/python3",
            rdma_hook_install: "none", asap2_direct_require_offload: false,
            rdma_host_vfs_unmanaged: true, rdma_host_interfaces: [{name: "peer0", mtu: 4200}],
            rdma_hook_pools: (if $form == "asap2" then {a: {mode: "asap2", default: true, bridge: "ovs-sriov", functions: {
                "netdevsim/netdevsim11": "netdevsim/netdevsim1/pf0vf0", "netdevsim/netdevsim12": "netdevsim/netdevsim1/pf0vf1"}}}
                else {soft: {mode: "softroce", default: true, parents: ["peer0"]}} end),
            sriov_parent_device: (if $form == "asap2" then "netdevsim/netdevsim1" else "enp1s0" end), NUM_OF_VFS: 2},
        children: {no_mlnx_ofed: {hosts: (["node1", "node2"] | map({(.): {
            ansible_host: "127.0.0.1", ansible_port: "220\(.[4:])" | tonumber,
            evaluation_interface: (if $form == "softroce" and . != "node1" then "" else "peer0" end)}}) | add)}}}}' >"$work/hosts.json"
}
declare -A tags=([softroce]='base' [sriov]='sriov' [asap2]='sriov,asap2_direct')
# As on a command line, where each value is a word, and false one that is not empty. Installing without a network fails, and a
# cleanup shows in the second run.
options=(-e rdma_install_packages=false -e rdma_allow_reboot=false -e cleanup_old_state=false)
# Mitogen keeps a Python on each host instead of starting one for each task, which takes an emulated processor seconds.
play() { # PLAYBOOK [OPTION...]: from the folder that has ansible.cfg
    (cd "$folder" && ANSIBLE_NOCOLOR=1 PYTHONDONTWRITEBYTECODE=1 ANSIBLE_STRATEGY=mitogen_linear ANSIBLE_TIMEOUT=300 ansible-playbook -i "$work/hosts.json" "${options[@]}" "$@")
}
site() { play site.yml --tags "${tags[$form]},engines,cpufreq,evaluation" "$@"; }
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
    case $form in
    softroce) words+=(--annotation rdma.mode=softroce) ;;
    sriov) words+=(--annotation rdma.mode=vf --annotation rdma.device=enp1s0) ;;
    asap2) words+=(--annotation rdma.mode=asap2) ;;
    esac
    on "$1" podman run -d --name "$2" "${words[@]}" "${with_perf[@]}" --rootfs $rootfs sleep 100000
}
serves() { on "$1" podman exec "$2" ss -Hltn 'sport = :18600' | grep -q .; }
# Two guests and Ansible share a machine: what takes a step longer than usual has not failed.
passes() { # WHAT SERVER-HOST SERVER ADDRESS CLIENT-HOST CLIENT: rdma-perf, every byte checked
    on "$2" podman exec "$3" timeout 400 rdma-perf serve --bind 0.0.0.0 --once --timeout 60s >"$work/server" 2>&1 &
    local server=$! status
    wait_for 120 serves "$2" "$3"
    on "$5" podman exec "$6" timeout 300 rdma-perf run "$4" --time 0.5s --size 4096 --timeout 60s >"$work/out" 2>&1
    status=$?
    ((status == 0)) || kill "$server" # nobody will come any more
    wait "$server"
    cat "$work/server" >>"$work/out"
    report $status "$1" "$work/out"
}
use() {
    local host
    case $form in
    asap2)
        for host in "${hosts[@]}"; do
            on "$host" bash -c "$(declare -f nsim representor join join_vfs); join_vfs 1"
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

# Each ends with a look of the doctor's.
declare -A modes=([softroce]=softroce [sriov]=vf [asap2]=asap2) roles=(
    [softroce]='rdma_host rdma_hook podman docker softroce cpufreq evaluation'
    [sriov]='rdma_host rdma_hook podman docker softroce sriov cpufreq evaluation'
    [asap2]='rdma_host rdma_hook podman docker softroce asap2_direct cpufreq evaluation')

reach_hosts
for host in "${hosts[@]}"; do check "$host has settled" on "$host" udevadm settle; done
inventory
remember before
if ((!brief)); then
    check "check mode goes through" site --check --diff
    same "check mode changed nothing" before
fi
check "site.yml goes through" site
cp "$work/out" "$work/site"
read -ra played <<<"${roles[$form]}"
equal "each of its roles ends with the doctor's word, on both hosts" $((2 * ${#played[@]})) \
    "$(grep -cE '"msg": "[0-9]+ checks, 0 failing"' "$work/site")"
check "which is that the host is healthy" on node2 rdmactl doctor --json "${modes[$form]}"
equal "an interface has the MTU that was asked for" 4200 "$(on node2 cat /sys/class/net/peer0/mtu)"
use
remember ready
unchanged "a second run changes nothing" site
same "nor does it in fact" ready
((brief)) || unchanged "check mode sees nothing to change" site --check
check "teardown.yml goes through" play teardown.yml
same "the hosts are as they were" before
((brief)) || unchanged "a second teardown changes nothing" play teardown.yml
let_hosts_go
finish
