#!/bin/bash
# rdmactl doctor on broken hosts: it names the cause, and what it says mends it when it is pasted. A VF without a MAC is not
# to be had here: igb gives each one.
#   tests/lab/run --kernel 7.3 --timeout 900 tests/lab/scenarios/doctor.sh
source "${BASH_SOURCE[0]%/*}/asap2-lib.sh"

diagnose() { rdmactl doctor --json "$@" 2>"$work/said"; }
# healed WHAT ID TEXT MODE: of what is worse now than it was, the first is check ID and says TEXT. Its command is run as it is;
# then nothing is worse.
worse() { # MODE: the checks that are worse than on the whole host, one to a line
    diagnose "$1" | jq -c --slurpfile whole "$work/whole-$1" '($whole[0].checks | map({id, status, why})) as $was
        | .checks[] | select(.status == "fail" or .status == "warning") | select({id, status, why} as $now | $was | index($now) | not)'
}
whole() { diagnose "$1" >"$work/whole-$1"; }
healed() {
    local what=$1 id=$2 text=$3 mode=$4 fix
    worse "$mode" >"$work/worse"
    equal "$what: it is named first" "$id" "$(head -n 1 "$work/worse" | jq -r .id)"
    grep -qE -- "$text" "$work/worse"
    report $? "$what: by its cause" "$work/worse"
    fix=$(head -n 1 "$work/worse" | jq -r .fix)
    echo "# $fix"
    eval "$fix" >"$work/fixed" 2>&1
    report $? "$what: the fix can be pasted" "$work/fixed"
    worse "$mode" >"$work/worse"
    equal "$what: then all is well again" "" "$(<"$work/worse")"
}

modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan || exit 1
configure() { mkdir -p /etc/rdma-hook && echo "$1" >/etc/rdma-hook/config.json; }

# ---- a module whose list is stale ---------------------------------------------------------------------------
configure '{}'
whole softroce
modprobe -r rdma_rxe
module=$(find /lib/modules/"$(uname -r)"/ -name 'rdma_rxe.ko*' | head -n 1)
mv "$module" /run/
depmod -a
mv "/run/${module##*/}" "$module"
healed "a module that is missing" rdma_rxe 'has no module rdma_rxe' softroce

# ---- the RDMA subsystem's mode ------------------------------------------------------------------------------
configure '{"pools": {"hca": {"mode": "shared"}}}'
whole shared
rdma system set netns exclusive
healed "mode exclusive with a pool of mode shared" netns_mode 'pools hca' shared

# ---- locked memory ------------------------------------------------------------------------------------------
configure '{}'
ulimit -l unlimited
whole softroce
ulimit -S -l 64
healed "little locked memory" memlock '64 KiB' softroce

# ---- an engine that does not know of rdma-hook --------------------------------------------------------------
ulimit -S -l unlimited
whole softroce
rdmactl runtime configure --runtime=podman --unset >/dev/null
healed "an engine that does not call rdma-hook" podman 'Podman does not call rdma-hook' softroce

# ---- an engine with mounts of its own -----------------------------------------------------------------------
mounts() { diagnose softroce | jq -r '.checks[] | select(.id == "mounts") | .status'; }
equal "engines have the host's mounts" ok "$(mounts)"
unshare --mount podman system service --time 0 unix:///run/lab-apart.sock &
apart=$!
wait_for 30 test -S /run/lab-apart.sock
equal "one that has not is named" warning "$(mounts)"
kill "$apart"
wait "$apart" 2>/dev/null
equal "and forgotten with its end" ok "$(mounts)"

# ---- Open vSwitch without offload ---------------------------------------------------------------------------
eswitches
start_ovs
check "an e-switch" enable 1 brA
whole asap2
ovs-vsctl --no-wait set Open_vSwitch . other_config:hw-offload=false
healed "Open vSwitch without offload" offload 'hw-offload of Open vSwitch is not true' asap2
check "and taken back" rdmactl asap2 disable netdevsim/netdevsim1
clean_kernel_log
finish
