#!/bin/bash
# Every mode under every engine: two containers by annotation, each with the right device; rdma-perf between them, verified;
# deaths; everything given back. At the end a table mode x engine, with `pass`, or why not.
#   tests/lab/run --kernel 7.3 [--hca] [--nics igb] tests/lab/scenarios/matrix.sh [--full|--brief] [MODE...]
# MODEs: all unless given. Mode shared wants --hca, mode vf --nics igb; the table says of a mode what the guest lacks for it.
# `adapter` and `asap2_adapter` are modes vf and asap2 on functions with RDMA of their own (--hca); they have to be named.
# The deaths are SIGKILL of the init and a create that fails late; --full: all that DEATHS has for the engine. Without it,
# modes other than softroce are tried with one engine for each way in: shim, precreate, plain hooks. --brief: the first container
# is Docker's, the second Podman's (or PAIR="docker containerd"), and both die. What a mode can do is not asked here: its own scenario does, without engines.
source "${BASH_SOURCE[0]%/*}/every-mode-lib.sh"
source "${BASH_SOURCE[0]%/*}/engines-lib.sh"
source "${BASH_SOURCE[0]%/*}/tested-lib.sh"
full=0 brief=0
case ${1:-} in
--full) full=1; shift ;;
--brief) brief=1; shift ;;
esac
modes=("$@")
[[ $# -gt 0 ]] || modes=(softroce shared vf asap2 softiwarp)
engines=(docker docker28 podman podman_hooks runc crun containerd)
# docker.sh and podman.sh have networks. To make a VF takes an emulated guest a second.
((!brief)) || engines=(both) pod_network=(--network none) docker_network=(--network none) vf_count=2
read -ra pair <<<"${PAIR:-docker podman}"
each_way="docker podman crun"

# What kills a container. remove: while it runs; shim: its parent, which the engine put there; and daemons.
declare -A DEATHS=(
    [docker]="init oom kill remove shim dockerd dockers_containerd"
    [docker28]="init oom kill remove"
    [podman]="init oom kill remove shim"
    [podman_hooks]="init oom kill remove shim"
    [runc]="init oom kill remove"
    [crun]="init oom kill remove"
    [containerd]="init oom kill remove shim containerd"
)
# Who tells us that a process has died: the engine by itself; gc, where nobody does before somebody removes the container; or
# that removal (which Docker would call at once).
declare -A TOLD_BY=([docker]=engine [docker28]=removal [podman]=engine [podman_hooks]=engine [runc]=gc [crun]=gc [containerd]=gc)

# ---- what a container must find of its mode: its device, the interface of its GID, and what that is --------
softroce_finds() { echo "$device rdma0 macvlan"; }
softiwarp_finds() { echo "$device - macvlan"; } # without GIDs
shared_finds() { echo "hca0 rdma0 macvlan"; }
vf_finds() { # any VF of its PF
    readlink -f "/sys/class/net/${pfs[$1 - 1]}/device/"virtfn* | grep -q "/$kind$" && echo "$device rdma0 $kind"
}
asap2_finds() { echo "$device rdma0 netdevsim${1}1"; }
adapter_finds() { ! rdma link show | grep -q ' rxe' && vf_finds "$1"; } # the VF's own device
asap2_adapter_finds() { ! rdma link show | grep -q ' rxe' && asap2_finds "$1"; }

# ---- engine `both`: the first of $pair beside the second ------------------------------------------------------
declare -A engine_of=([c1]=${pair[0]} [c2]=${pair[1]})
both_start() { "${engine_of[$1]}_start" "$@"; }
both_inside() { "${engine_of[$1]}_inside" "$@"; }
both_init() { "${engine_of[$1]}_init" "$@"; }
both_remove() { "${engine_of[$1]}_remove" "$@"; }

more_world() { ! declare -F "${mode}_world" >/dev/null || "${mode}_world"; }
address() { echo "10.9.0.$1"; }
gid() { printf '0000:0000:0000:0000:0000:ffff:0a09:%04x' "$1"; }

# ---- a cell -------------------------------------------------------------------------------------------------
start() { # 1|2: the container with this number
    local keys
    read -ra keys <<<"$("${mode}_keys" "$1")"
    "${engine}_start" "c$1" "${keys[@]}" "ip=$(address "$1")/24"
}
remove() { "${engine}_remove" "$1" >/dev/null 2>&1; }
init() { "${engine}_init" "$1" 2>/dev/null; }
same() { same_world "$mode, $engine: nothing is left after $1" "$work/before"; }

# Its only device, the interface for which that device has its GID, what this interface is. A device that is not the only
# one, a GID that is missing or somebody else's, an interface of another kind: none of them is what the mode says.
has_its_device() { # 1|2
    local seen device kind
    nsenter -t "${inits[$1]}" -m -n bash -c '
        device=$(ibv_devices | awk "NR > 2 { print \$1 }" | xargs)
        echo "$device"
        cd "/sys/class/infiniband/$device/ports/1" &&
            echo "$(grep -l "$0" gids/* | sed s:gids:gid_attrs/ndevs: | xargs -r cat | sort -u)"
        ip -d -j link show rdma0
        cat /run/rdma/attach.json' "$(gid "$1")" >"$work/seen" 2>&1
    mapfile -t seen <"$work/seen"
    device=$(printf '%s\n' "${seen[@]:3}" | jq -r '.attachments[0].device') # what we told it
    kind=$(jq -r '.[0] | if .linkinfo.info_kind == "macvlan" then "macvlan" else .parentdev end' <<<"${seen[2]:-}")
    equal "$mode, $engine: c$1 has its device alone" "$("${mode}_finds" "$1")" "${seen[0]:-} ${seen[1]:--} $kind"
}
traffic() {
    local cm=()
    [[ $mode != softiwarp ]] || cm=(--cm)
    talk "$engine" c1 c2 18600 rdma-perf serve --bind 0.0.0.0 --once -- \
        rdma-perf run "$(address 1)" "${cm[@]}" --verb write,send --mode bw --time 0.2s --size 4096
}

kill_by() { # WAY PID
    case $1 in
    init) kill -9 "$2" ;;
    oom) runs_out_of_memory "$2" ;;
    kill) "${engine}_kill" c1 ;;
    remove) "${engine}_remove" c1 ;;
    shim) kill -9 "$(awk '{ print $4 }' "/proc/$2/stat")" ;;
    dockerd) end_dockerd KILL; start_dockerd ;;
    dockers_containerd) kill -9 "$(pgrep -P "$dockerd" -x containerd)" && wait_for 60 reaches_containerd ;;
    containerd) end_containerd KILL; start_containerd ;;
    esac
}
death() { # WAY: of c1, which runs
    local how=$1 pid
    pid=$(init c1)
    check "$mode, $engine: $how" kill_by "$how" "$pid"
    case $how in
    init | oom | kill)
        wait_for 30 is_gone "$pid" || report 1 "$mode, $engine: $how kills the init"
        case ${TOLD_BY[$engine]} in
        gc) check "$mode, $engine: gc" rdmactl gc ;;
        removal) remove c1 ;;
        esac
        same "$how"
        wait_for 60 is_removed c1
        ;;
    *)
        wait_for 60 is_removed c1
        same "$how"
        ;;
    esac
}
# Docker 28 starts another 12 s later, and removes no container before.
reaches_containerd() { docker version -f '{{range .Server.Components}}{{.Name}} {{end}}' | grep -qw containerd; }
# Behind a shim that was killed containerd cleans up in its own time, and starts none of that name before.
is_removed() { remove "$1"; ! init "$1" && [[ ! -e ${CONTAINERD_ADDRESS%/*}/io.containerd.runtime.v2.task/default/$1 ]]; }

both_die() {
    local each
    kill -9 "${inits[@]}"
    for each in "${inits[@]}"; do wait_for 30 is_gone "$each" || report 1 "$mode, $engine: SIGKILL of init $each"; done
    for each in "${pair[@]}"; do [[ ${TOLD_BY[$each]} != gc ]] || rdmactl gc >/dev/null; done
    same "both inits were killed"
    for each in c1 c2; do wait_for 60 is_removed $each; done
}

fails_late() { # 1|2
    local command=(/no/such/command) by=$engine
    ((!brief)) || by=${engine_of[c$1]}
    refused "$mode, $engine: a command of c$1 that does not exist" . start "$1"
    remove "c$1"
    # Of a create that failed neither Podman nor crun tells anybody.
    case $by in podman* | crun) rdmactl gc >/dev/null ;; esac
    same "a create that failed"
}

try() { # the cell of $mode and $engine
    local each way
    local inits=()
    for each in 1 2; do
        check "$mode, $engine: c$each starts" start $each
        inits[each]=$(init c$each)
        has_its_device $each
    done
    check "$mode, $engine: rdma-perf passes, verified" traffic
    if ((brief)); then
        both_die
        [[ $mode != softroce ]] || for each in 1 2; do fails_late $each; done
        return
    fi
    remove c2
    death init
    fails_late 1
    ((full)) || return
    for way in ${DEATHS[$engine]#init }; do
        check "$mode, $engine: c1 starts" start 1
        death "$way"
    done
}

# ---- all cells ----------------------------------------------------------------------------------------------
tried() { # whether the cell of $mode and $engine is
    ((full || brief)) || [[ $mode == softroce || " $each_way " == *" $engine "* ]]
}
row() { # of the table
    local reason before begin
    if ! mode_up; then
        for engine in "${engines[@]}"; do cell[$mode,$engine]="not here ($reason)"; done
        return
    fi
    world >"$work/before"
    for engine in "${engines[@]}"; do
        tried || { cell[$mode,$engine]="with --full" && continue; }
        before=$failed
        begin=$SECONDS
        try
        result "$mode" "$engine" "$before"
        echo "# $mode, $engine: $((SECONDS - begin)) s"
    done
    mode_down
}

modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1
check "dockerd" docker_set_up
with_containerd() { ((!brief)) || [[ " ${pair[*]} " == *" containerd "* ]]; }
! with_containerd || check "containerd" start_containerd
if ((!brief)); then
    # Each engine makes its bridge and what it keeps with the first container.
    check "Podman" podman run --rm --rootfs $rootfs true
    check "a container without us" docker run --rm "${docker_image[@]}" true
fi
for mode in "${modes[@]}"; do row; done
((!failed)) || tail -qn 20 /tmp/dockerd.log /tmp/containerd.log | sed 's/^/# /'
end_dockerd TERM
! with_containerd || end_containerd TERM
clean_kernel_log
((brief)) || table
finish
