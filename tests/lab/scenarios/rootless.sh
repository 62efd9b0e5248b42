#!/bin/bash
# Rootless Podman: mode host and CDI for containers of a user, over rxe that root made; everything else is refused. Afterwards the
# user's folder of state is empty, and root's world as before.
#   tests/lab/run --kernel 7.3 [--exclusive] --debs uidmap tests/lab/scenarios/rootless.sh
source "${BASH_SOURCE[0]%/*}/lib.sh"
source "${BASH_SOURCE[0]%/*}/tested-lib.sh"
[[ -d /lab/debs ]] || { echo "rootless.sh: use --debs: see its head" >&2; exit 64; }
engine=rootless
modprobe -a rdma_rxe ib_uverbs rdma_ucm overlay || exit 1

user=1000
runtime_dir=/run/user/$user
home=/home/lab
memlock=$((64 << 20))
make_user() {
    echo "lab:x:$user:$user::$home:/bin/bash" >>/etc/passwd
    echo "lab:x:$user:" >>/etc/group
    echo "lab:100000:65536" >>/etc/subuid
    echo "lab:100000:65536" >>/etc/subgid
    mkdir -p /run/user && install -d -o "$user" -g "$user" -m 700 "$home" "$runtime_dir"
}
as_user() { # COMMAND...: as in a session of the user's
    prlimit "--memlock=$memlock:$memlock" setpriv --reuid "$user" --regid "$user" --clear-groups --reset-env \
        env -C "$home" "XDG_RUNTIME_DIR=$runtime_dir" "PATH=$PATH" GOGC=off "$@"
}
# No systemd gives the user cgroups here.
start_with() { # NAME OPTION...: of Podman, before the image
    as_user podman run -d --name "$1" --cgroups=disabled "${@:2}" -v /usr/lib/lab/rootfs/usr:/usr:ro \
        -v /usr/bin/rdma-perf:/usr/bin/rdma-perf:ro lab:1 "${command[@]}"
}
rootless_start() {
    split "$@"
    local network=(--network host)
    [[ " ${options[*]} " != *" --network "* ]] || network=()
    start_with "$1" "${network[@]}" "${words[@]}" "${options[@]}"
}
rootless_inside() { as_user podman exec "$@"; }
rootless_init() { as_user podman inspect --format '{{.State.Pid}}' "$1" | grep -vx 0; }
rootless_kill() { as_user podman kill "$1"; }
rootless_remove() { as_user podman rm -f -t 0 "$@"; }
rootless_id() { as_user podman inspect --format '{{.Id}}' "$1"; }

user_state() { find "$runtime_dir/rdma-hook" ! -type d ! -path '*/locks/*' ! -path '*/errors/*'; }
more_world() { rdma -d dev show | sed 's/^[0-9]*: //'; }
node_of() { grep -lx "$1" /sys/class/infiniband_verbs/*/ibdev | xargs -n 1 dirname | xargs -n 1 basename; }
nodes() { inside "$1" bash -c 'ls /dev/infiniband' | xargs; }
# The address is the host's, where rxe1 is.
perf_passes() { # SERVER CLIENT
    serve "$1" 18600 rdma-perf serve --bind 192.0.2.1 --once
    inside "$2" timeout 100 rdma-perf run 192.0.2.1 --device rxe1 --cm --time 0.2s --size 4096 --verb write --mode bw
    local status=$?
    end_server "$1"
    return $status
}

by_annotation() {
    check "two of the user's containers with one device of the host" attach a mode=host device=rxe1
    check "the second joins" attach b mode=host device=rxe1
    equal "a has its nodes alone" "rdma_cm $(node_of rxe1)" "$(nodes a)"
    equal "and sees its device alone" rxe1 "$(inside a ls /sys/class/infiniband | xargs)"
    equal "a's variables" "rxe1 =rxe1 rxe1:1" "$(environment a RDMA_DEVICE) $(environment a NCCL_IB_HCA) $(environment a UCX_NET_DEVICES)"
    equal "a's init may lock what the user may" "$memlock" "$(awk '/Max locked memory/ { print $5 }' "/proc/$(init_of a)/limits")"
    equal "attach.json" "host rxe1 device nodes" "$(attach_json a | jq -r '"\(.attachments[0].mode) \(.attachments[0].device) \(.isolation)"')"
    check "rdma-perf by rdma_cm, verified" perf_passes a b
    equal "the user's list" "a b" "$(as_user rdmactl list --json | jq -r '.containers[].name' | sort | xargs)"
    check "show knows it by its name" as_user rdmactl show a
    equal "root's has none of them" 0 "$(rdmactl list --json | jq '.containers | length')"
    check "with a user namespace of its own" attach k mode=host device=rxe1 -- --userns keep-id
    check "it opens its device" inside k ibv_devinfo -d rxe1
    equal "attach.json of it" "rxe1" "$(inside k cat /run/rdma/attach.json | jq -r '.attachments[0].device')"
    drop k
    equal "its end is noticed" "a b" "$(as_user rdmactl list --json | jq -r '.containers[].name' | sort | xargs)"
    check "one that does not map the user" attach k mode=host device=rxe1 -- --userns nomap
    check "it opens its device" inside k ibv_devinfo -d rxe1
    end_by kill k
    equal "its end is noticed, too" "a b" "$(as_user rdmactl list --json | jq -r '.containers[].name' | sort | xargs)"
    end_by kill a
    check "b goes on" inside b ibv_devinfo -d rxe1
    drop b
}

own_network() {
    if ((LAB_EXCLUSIVE)); then
        refused "in mode exclusive a network of its own is refused" 'network host|exit code: 76' attach n mode=host device=rxe1 -- --network none
    else
        check "in a network of its own" attach n mode=host device=all -- --network none
        check "it opens its device" inside n ibv_devinfo -d rxe0
        equal "without rdma_cm" "$(node_of rxe0) $(node_of rxe1)" "$(nodes n)"
    fi
    drop n
}

refusals() {
    refused "another mode" 'rdma.mode=host|exit code: 77' attach r mode=softroce ip=10.9.0.1/24
    drop r
    refused "limits" 'max_hca|exit code: 77' attach r mode=host device=rxe1 max_hca_objects=100
    drop r
    refused "more locked memory than the user may" 'hard limit|exit code: 77' attach r mode=host device=rxe1 memlock=unlimited
    drop r
    mkdir -p /etc/rdma-hook
    echo '{"policy": {"modes": ["softroce"]}}' >/etc/rdma-hook/config.json
    refused "a device that root's policy does not list" 'policy.modes|exit code: 77' attach r mode=host device=rxe1
    drop r
    rm /etc/rdma-hook/config.json
    check "the user's failures" test "$(as_user rdmactl list --failed --json | jq '.failures | length')" -ge 4
}

by_cdi() {
    check "root's files of CDI" rdmactl cdi generate
    check "a device by its name" start_with c --network host --device rdma-hook.org/hca=rxe1
    check "and another" start_with d --network host --device rdma-hook.org/hca=rxe1
    equal "c has its nodes alone" "rdma_cm $(node_of rxe1)" "$(nodes c)"
    equal "c's variables" "rxe1 =rxe1" "$(environment c RDMA_DEVICE) $(environment c NCCL_IB_HCA)"
    check "rdma-perf by rdma_cm, verified" perf_passes c d
    drop c d
    echo '{"pools": {"soft": {"mode": "softroce"}}}' >/etc/rdma-hook/config.json
    check "a pool's file" rdmactl cdi generate
    refused "a pool is refused" 'hca=NAME|exit code: 77' start_with r --network host --device rdma-hook.org/pool=soft
    drop r
    rm /etc/rdma-hook/config.json /run/cdi/rdma-hook*.json
}

check "uidmap" dpkg -i /lab/debs/*.deb
check "a user" make_user
touch /usr/lib/lab/rootfs/usr/bin/rdma-perf # /usr is read-only inside
check "the user's image" as_user podman import /usr/lib/lab/image.tar lab:1
ip link add other0 type dummy
ip link set other0 up
rdma link add rxe0 type rxe netdev other0
rdma link add rxe1 type rxe netdev lab0
wait_for 20 grep -rqs 'ffff:c000:0201$' /sys/class/infiniband/rxe1/ports/1/gids
equal "nodes are for everybody to open" "666 666 666" "$(stat -c %a /dev/infiniband/{rdma_cm,"$(node_of rxe0)","$(node_of rxe1)"} | xargs)"
world >"$work/before"
before=$failed
by_annotation
own_network
refusals
result host rootless "$before"
before=$failed
by_cdi
result host rootless_hca "$before"
check "the user's gc" as_user rdmactl gc
equal "nothing is left in the user's folder" "" "$(user_state)"
same_world "root's world" "$work/before"
rdma link delete rxe0
rdma link delete rxe1
ip link delete other0
clean_kernel_log
engines=(rootless rootless_hca) modes=(host)
table
finish
