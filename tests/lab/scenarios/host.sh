#!/bin/bash
# Mode host: of two rxe of the host the one that was asked for, and no other, with --network host and in a network of the
# container's own; in RDMA mode exclusive with --network host alone. Afterwards the host's devices are as before.
#   tests/lab/run --kernel 7.3 [--exclusive] tests/lab/scenarios/host.sh [--full|--brief]
# --full: under Docker and its compose, too, and by plain hooks. --brief: in bare bundles, and one container of Podman's.
source "${BASH_SOURCE[0]%/*}/engines-lib.sh"
source "${BASH_SOURCE[0]%/*}/isolation-lib.sh"
source "${BASH_SOURCE[0]%/*}/tested-lib.sh"
engine=podman
engines=(podman)
brief=0
case ${1:-} in
--full) engines=(podman docker podman_hooks crun) ;;
--brief) brief=1 engines=(prepared) ;;
esac

modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1

# With CAP_MKNOD, so that only cgroup and kernel keep it from a node of any device.
mknod='.process.capabilities |= map_values(. + ["CAP_MKNOD"])'
beside() { # NAME KEY=VALUE...: in the host's network
    if bare; then
        # A runtime sets what is a network's in none but the container's own.
        attach "$1" mode=host "${@:2}" -- "$mknod"' | .linux.namespaces |= map(select(.type != "network")) | del(.linux.sysctl)'
    else
        attach "$1" mode=host "${@:2}" -- --cap-add MKNOD --network host
    fi
}
apart() { # NAME KEY=VALUE...: in a network of its own
    if bare; then
        attach "$1" mode=host "${@:2}" -- "$mknod"
    else
        attach "$1" mode=host "${@:2}" -- --cap-add MKNOD
    fi
}
more_world() { rdma -d dev show | sed 's/^[0-9]*: //'; cat /sys/class/infiniband/*/ports/1/gids/* | grep -v '^0000:0000:0000:0000:0000:0000:0000:0000$'; }
same() { same_world "$engine: $1" "$work/before"; }
bare() { [[ $engine == crun || $engine == prepared ]]; }
plain() { [[ $engine == podman_hooks || $engine == crun ]]; } # by plain hooks, which give no variables and no view

nodes() { inside "$1" bash -c 'ls /dev/infiniband' | xargs; }
node_of() { grep -lx "$1" /sys/class/infiniband_verbs/*/ibdev | xargs -n 1 dirname | xargs -n 1 basename; }

opens_one() { # NAME DEVICE NODES
    equal "$engine: $1 has its nodes alone" "$3" "$(nodes "$1")"
    equal "$engine: $1 opens $2, and nothing else" "$2" "$(opened inside "$1" | xargs)"
    equal "$engine: $1's init may lock all memory" unlimited "$(awk '/Max locked memory/ { print $4 }' "/proc/$(init_of "$1")/limits")"
    plain || {
        equal "$engine: exec in $1 sees $2 alone" "$2" "$(devices "$1")"
        equal "$engine: $1's variables" "$2 =$2 $2:1" \
            "$(environment "$1" RDMA_DEVICE) $(environment "$1" NCCL_IB_HCA) $(environment "$1" UCX_NET_DEVICES)"
    }
    equal "$engine: attach.json of $1" "host $2" "$(attach_json "$1" | jq -r '.attachments[] | "\(.mode) \(.device)"')"
}

hosts_network() {
    check "$engine: one of two, in the host's network" beside one device=rxe1
    opens_one one rxe1 "rdma_cm $(node_of rxe1)"
    check "$engine: the other, for another container" beside two device=rxe0,rxe1
    equal "$engine: two has both" "rxe0 rxe1" "$(attach_json two | jq -r '.attachments[].device' | xargs)"
    plain || equal "$engine: for NCCL and UCX" "=rxe0,rxe1 rxe0:1,rxe1:1" "$(environment two NCCL_IB_HCA) $(environment two UCX_NET_DEVICES)"
    equal "$engine: list has both" "rxe0 rxe1 rxe1" \
        "$(rdmactl list --json | jq -r '[.containers[].granted.attachments[] | select(.mode == "host").device] | sort[]' | xargs)"
    equal "$engine: stats knows whose they are" true "$(rdmactl stats "$(id_of one)" --json | jq '.containers[0].attachments[0].shared')"
    serve one 18600 rdma-perf serve --bind 192.0.2.1 --once
    check "$engine: rdma-perf by rdma_cm, verified" inside two timeout 100 rdma-perf run 192.0.2.1 --device rxe1 --cm --time 0.2s --size 4096 --verb write --mode bw
    end_server one
    plain || {
        serve one 18515 ib_write_bw -n 200
        check "$engine: perftest without options finds it" inside one timeout 60 ib_write_bw -n 200 192.0.2.1
        served_once one
    }
    end_by kill one
    check "$engine: gc" rdmactl gc
    check "$engine: two goes on" inside two ibv_devinfo -d rxe1
    drop one two
    rdmactl gc >/dev/null
    same "nothing is left of the host's network"
}

own_network() {
    check "$engine: one of two, in a network of its own" apart one device=other0
    opens_one one rxe0 "$(node_of rxe0)"
    check "$engine: all" apart two device=all
    equal "$engine: two has both" "rxe0 rxe1" "$(attach_json two | jq -r '.attachments[].device' | xargs)"
    check "$engine: beside one device of its own" attach three mode=host device=rxe1 1.mode=softroce 1.parent=lab0 1.ip=10.9.0.3/24
    equal "$engine: three has two" "rxe1 host container" "$(attach_json three | jq -r '[.attachments[0].device, .attachments[].placement] | join(" ")')"
    drop one two three
    rdmactl gc >/dev/null
    same "nothing is left of networks of their own"
}

# As compose files of inference servers are, but for their "privileged: true".
composed() {
    local file=$work/compose.yaml
    cat >"$file" <<'COMPOSE'
name: lab
services:
  one:
    container_name: one
    image: lab:1
    runtime: rdma
    network_mode: host
    cap_add: [MKNOD]
    annotations:
      rdma.mode: host
      rdma.device: rxe1
    volumes: ["/usr/lib/lab/rootfs/usr:/usr:ro"]
    command: sleep 100000
COMPOSE
    check "compose: up" timeout 300 docker compose -f "$file" up -d
    docker inspect -f '{{.Id}}' one >"$docker_ids/one"
    opens_one one rxe1 "rdma_cm $(node_of rxe1)"
    check "compose: down" timeout 100 docker compose -f "$file" down -t 0
    same "nothing is left of compose"
}

refusals() {
    refused "$engine: another mode in the host's network" 'rdma.mode=host|exit code: 77' attach other mode=softroce ip=10.9.0.1/24 -- --network host
    drop other
    refused "$engine: a device that is not there" "called 'rxe7'|exit code: 69" beside other device=rxe7
    drop other
    refused "$engine: an index that is taken" 'rdma.1|exit code: 65' beside other device=all 1.mode=host 1.device=rxe0
    drop other
    echo '{"policy": {"modes": ["softroce"]}}' >/etc/rdma-hook/config.json
    refused "$engine: a policy that does not list the mode" 'policy.modes|exit code: 77' beside other device=rxe0
    drop other
    echo '{"policy": {"modes": ["host"], "devices": ["rxe0"], "memlock": "unlimited"}}' >/etc/rdma-hook/config.json
    refused "$engine: a device that the policy does not list" 'policy.devices|exit code: 77' beside other device=rxe1
    drop other
    check "$engine: one that it lists" beside other device=rxe0
    drop other
    rm /etc/rdma-hook/config.json
    rdmactl gc >/dev/null
    same "refusals leave nothing"
}

ip link add other0 type dummy
ip link set other0 up
rdma link add rxe0 type rxe netdev other0
rdma link add rxe1 type rxe netdev lab0
mkdir -p /etc/rdma-hook
wait_for 20 grep -rqs 'ffff:c000:0201$' /sys/class/infiniband/rxe1/ports/1/gids
[[ " ${engines[*]} " != *" docker "* ]] || check "dockerd" docker_set_up
if ((brief)); then
    world >"$work/before"
    check "Podman: one of two, in the host's network" beside one device=rxe1
    opens_one one rxe1 "rdma_cm $(node_of rxe1)"
    drop one
    same "nothing is left of Podman's"
else
    podman run --rm --rootfs $rootfs true
fi
for engine in "${engines[@]}"; do
    world >"$work/before"
    before=$failed
    hosts_network
    if ((LAB_EXCLUSIVE)); then
        refused "$engine: in mode exclusive a network of its own is refused" 'network host|exit code: 76' apart one device=rxe1
        drop one
        same "the refused one leaves nothing"
    else
        own_network
    fi
    [[ $engine != docker ]] || composed
    case $engine in podman | docker) refusals ;; esac
    result host "$engine" "$before"
done
check "CDI lists them in either mode" rdmactl cdi generate --output -
equal "and names both" "rxe0 rxe1 all" "$(rdmactl cdi generate --output - 2>/dev/null | jq -r '.devices[].name' | xargs)"
equal "rdmactl doctor host has both" "ok ok" "$(rdmactl doctor host --json | jq -r '.checks[] | select(.id == "host").status' | xargs)"
[[ " ${engines[*]} " != *" docker "* ]] || end_dockerd TERM
rdma link delete rxe0
rdma link delete rxe1
ip link delete other0
clean_kernel_log
modes=(host)
((brief)) || table
finish
