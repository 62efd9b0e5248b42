# shellcheck shell=bash
# shellcheck disable=SC2154 # mode is the scenario's
# Each mode: what a guest lacks for it, its set-up and end, what a container asks for. Sourced.
#   MODE_lacks          prints why it cannot be tried here; nothing if it can
#   MODE_up, MODE_down  of what it stands on, where that is more than modules
#   MODE_keys 1|2       the annotations of the first and the second container, but for the address
#   MODE_world          what of its hardware must be as before
source "${BASH_SOURCE[0]%/*}/asap2-lib.sh"
source "${BASH_SOURCE[0]%/*}/modes-lib.sh"

old_rxe() { [[ $LAB_KERNEL != 6.12 ]] || echo "rxe of kernel 6.12 has no traffic in namespaces"; }
softroce_lacks() { old_rxe; }
softroce_keys() { echo mode=softroce; }

softiwarp_lacks() { :; }
softiwarp_keys() { echo mode=softiwarp; }
softiwarp_up() { modprobe siw; }

shared_lacks() { ((LAB_HCA)) || echo "no HCA: --hca"; }
shared_keys() { echo mode=shared parent=lab0; }
shared_up() { make_hca; }
shared_world() { gids; }
shared_down() { rdma link delete hca0; }

vf_lacks() { if [[ $LAB_NICS == igb ]]; then old_rxe; else echo "no SR-IOV: --nics igb"; fi; }
vf_keys() { echo mode=vf "device=${pfs[$1 - 1]}"; }
vf_count=7 # of each PF
vf_up() { modprobe igbvf && enable_vfs "$vf_count"; }
vf_world() { vfs; }
vf_down() {
    local pf
    for pf in "${pfs[@]}"; do rdmactl vf disable "$pf" && ip link set "$pf" down || return; done
}

# Mode vf where VFs have an RDMA device of their own: the double of an adapter.
adapter_lacks() { if ((LAB_HCA)); then vf_lacks; else echo "no adapter: --hca"; fi; }
adapter_keys() { vf_keys "$1"; }
adapter_up() { modprobe igbvf && enable_vfs "$vf_count" && load_adapter lab_guid=1 && adapter_is_there; } # node GUIDs of the MACs that stay
adapter_world() { vfs && adapter_devices; }
adapter_down() { vf_down && unload_adapter; }

asap2_lacks() { old_rxe; }
asap2_keys() { echo mode=asap2 "pool=$(tr 12 ab <<<"$1")"; }
asap2_up() { eswitches && start_ovs && enable 1 brA && enable 2 brB && join_vfs && configure_asap2; }
asap2_world() { switches; }
asap2_down() { no_eswitches; }

# The same where the functions behind the e-switch have RDMA of their own.
asap2_adapter_lacks() { if ((LAB_HCA)); then asap2_lacks; else echo "no adapter: --hca"; fi; }
asap2_adapter_keys() { asap2_keys "$1"; }
asap2_adapter_up() { load_adapter lab_guid=1 && asap2_up; }
asap2_adapter_world() { switches && adapter_devices; }
asap2_adapter_down() { asap2_down && unload_adapter; }

# Sets up $mode, and says in $reason why it cannot be tried, if so.
mode_up() {
    reason=$("${mode}_lacks")
    if [[ -z $reason ]] && declare -F "${mode}_up" >/dev/null && ! "${mode}_up" >"$work/out" 2>&1; then
        report 1 "$mode is set up" "$work/out"
        reason="it cannot be set up"
    fi
    [[ -z $reason ]]
}
mode_down() { ! declare -F "${mode}_down" >/dev/null || check "$mode: what was set up for it goes" "${mode}_down"; }

# Each VF and port of $mode once, under crun (engines-lib.sh): a representor that has been a port of Open vSwitch keeps its queueing
# discipline, and that is no leftover of ours.
use_once() {
    local each keys
    for each in 1 2 3 4; do
        read -ra keys <<<"$("${mode}_keys" $((each % 2 + 1)))"
        crun_start "once$each" "${keys[@]}" "ip=10.9.0.$each/24" >/dev/null 2>&1 # few modes have VFs for so many
    done
    for each in 1 2 3 4; do crun_remove "once$each" >/dev/null 2>&1; done
    rdmactl gc >/dev/null 2>&1
}
