#!/bin/bash
# What rdmactl writes for engines, read by the engines themselves: CDI devices under Podman and Docker, and the files of
# `rdmactl runtime configure`.
#   tests/lab/run --kernel 7.3 --timeout 900 tests/lab/scenarios/engines.sh [--brief]
# --brief: each engine reads its file, and does once what it says. What rdmactl writes, and refuses, is in unit tests.
source "${BASH_SOURCE[0]%/*}/engines-lib.sh"
source "${BASH_SOURCE[0]%/*}/tested-lib.sh"
engine=podman
brief=0
[[ ${1:-} != --brief ]] || brief=1
modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1
spec=/run/cdi/rdma-hook.json

# ---- CDI ---------------------------------------------------------------------------------------------------
given=(--device rdma-hook.org/hca=rxe0)
cdi_pod() { podman run --rm --timeout 60 --network host --ulimit memlock=-1:-1 "${with_perf[@]}" "$@"; }
pair_on_host() { # two containers of the host's network, with the host's device
    cdi_pod --name server "${given[@]}" --rootfs $rootfs rdma-perf serve --bind 192.0.2.1 --once >"$work/server" 2>&1 &
    local server=$! status
    wait_for 30 bash -c 'ss -Hltn "sport = :18600" | grep -q .'
    cdi_pod --name client "${given[@]}" --rootfs $rootfs rdma-perf run 192.0.2.1 --time 0.5s --size 4096
    status=$?
    wait $server
    cat "$work/server"
    return $status
}
given_by_podman() {
    # shellcheck disable=SC2016 # the container's
    equal "Podman gives the nodes and the environment, and the device opens" "rdma_cm uverbs0 rxe0 PORT_ACTIVE" \
        "$(cdi_pod "${given[@]}" --rootfs $rootfs bash -c 'ls /dev/infiniband; echo "$RDMA_DEVICE"; ibv_devinfo -d rxe0 | grep -o PORT_ACTIVE' | xargs)"
}
cdi() {
    check "without devices cdi generate writes nothing" rdmactl cdi generate
    refused "and there is no file" 'No such file' ls $spec
    check "an rxe of the host" rdma link add rxe0 type rxe netdev lab0
    check "cdi generate" rdmactl cdi generate
    equal "the version is the lowest that will do" 0.3.0 "$(jq -r .cdiVersion $spec)"
    equal "the second time nothing changes" false "$(rdmactl cdi generate --json | jq 'any(.files[]; .changed)')"
    equal "cdi list" rdma-hook.org/hca=rxe0 "$(rdmactl cdi list --json | jq -r '.devices[].name')"
    given_by_podman
    equal "hca=all" "rdma_cm uverbs0" "$(cdi_pod --device rdma-hook.org/hca=all --rootfs $rootfs ls /dev/infiniband | xargs)"
    refused "a device that is not there" 'nosuch' cdi_pod --device rdma-hook.org/hca=nosuch --rootfs $rootfs true
    check "rdma-perf passes between two containers of the host's network" pair_on_host
    attach one mode=softroce ip=10.9.0.1/24 >/dev/null
    equal "a container's own device is not for others" rdma-hook.org/hca=rxe0 "$(rdmactl cdi list --json | jq -r '.devices[].name')"
    drop one
}
cdi_in_brief() {
    check "an rxe of the host" rdma link add rxe0 type rxe netdev lab0
    pools
    given_by_podman
}
# A pool by its name: the whole attach, by the hooks that the device brings.
pool_pod() { podman run -d --name "$1" --tmpfs /run --device rdma-hook.org/pool=named "${with_perf[@]}" "${@:2}" --rootfs $rootfs sleep 100000; }
in_docker() { docker run -d --name "$1" --tmpfs /run --device "rdma-hook.org/pool=$2" "${with_perf[@]}" "${@:3}" "${docker_image[@]}" sleep 100000; }
pair_of_pool() { # ENGINE: a server in one, a client in two
    local engine=$1 server address
    address=$("$engine" exec one cat /run/rdma/attach.json | jq -r '.attachments[0].addresses[0]')
    "$engine" exec one timeout 60 rdma-perf serve --bind 0.0.0.0 --once >"$work/server" 2>&1 &
    server=$!
    wait_for 30 bash -c "$engine exec one ss -Hltn 'sport = :18600' | grep -q ."
    "$engine" exec two timeout 60 rdma-perf run "${address%/*}" --time 0.5s --size 4096 >"$work/out" 2>&1
    report $? "$engine: rdma-perf passes between two containers of the pool" "$work/out"
    wait $server
}
pools() {
    mkdir -p /etc/rdma-hook
    echo '{"pools": {"named": {"mode": "softroce", "parents": ["lab0"], "range": "10.9.4.10-10.9.4.20/24", "defaults": {"ip": "auto"}},
                     "other": {"mode": "softroce", "parents": ["lab0"], "defaults": {"ip": "auto"}, "range": "10.9.5.10-10.9.5.20/24"}}}' \
        >/etc/rdma-hook/config.json
    check "cdi generate, with pools" rdmactl cdi generate
    world >"$work/before-pools"
}
has_device() { # ENGINE: one, as of the pool
    equal "$1: it has one device, which it opens" 1 "$("${1,}" exec one bash -c 'exec 3<>/dev/infiniband/uverbs* && ibv_devices | grep -c rxe')"
}
pool_under_podman() {
    check "Podman: one of the pool" pool_pod one
    if ((brief)); then
        has_device Podman
        drop one
        same_world "Podman: nothing is left of the pool's" "$work/before-pools"
        return
    fi
    check "Podman: and another" pool_pod two
    pair_of_pool podman
    equal "Podman: each has one device" 1 "$(podman exec one ibv_devices | grep -c rxe)"
    refused "Podman: a second pool" 'exit code: 77' pool_pod three --device rdma-hook.org/pool=other
    drop three
    refused "Podman: the host's network" "exit code: 77" pool_pod three --network host
    drop one two three
    rdmactl gc >/dev/null
    same_world "Podman: nothing is left of the pool's" "$work/before-pools"
}
pool_under_docker() {
    world >"$work/before-pools"
    if ((brief)); then
        check "Docker: one of the pool, without a runtime, with an address of its own" in_docker one named --annotation rdma.ip=10.9.4.99/24
        equal "Docker: which it has" 10.9.4.99/24 "$(docker exec one cat /run/rdma/attach.json | jq -r '.attachments[0].addresses[0]')"
        has_device Docker
        docker rm -f one >/dev/null
        same_world "Docker: nothing is left of the pool's" "$work/before-pools"
        return
    fi
    check "Docker: one of the pool, without a runtime or an annotation" in_docker one named
    check "Docker: and another, with an address of its own" in_docker two named --annotation rdma.ip=10.9.4.99/24
    equal "Docker: which it has" 10.9.4.99/24 "$(docker exec two cat /run/rdma/attach.json | jq -r '.attachments[0].addresses[0]')"
    pair_of_pool docker
    docker rm -f one two >/dev/null
    same_world "Docker: nothing is left of the pool's" "$work/before-pools"
}
docker_has_cdi() {
    mkdir -p /etc/docker
    echo '{"features": {"cdi": true}}' >/etc/docker/daemon.json
    local before=$failed
    check "dockerd starts, with the runtime rdma too" docker_set_up
    equal "Docker gives the nodes, and the device opens" "rdma_cm uverbs0 PORT_ACTIVE" \
        "$(docker run --rm "${given[@]}" "${docker_image[@]}" bash -c 'ls /dev/infiniband; ibv_devinfo -d rxe0 | grep -o PORT_ACTIVE' \
            2>"$work/said" | xargs; head -n 3 "$work/said")"
    result host docker_hca "$before"
    before=$failed
    pool_under_docker
    result softroce docker_pool "$before"
    end_dockerd TERM
}
no_devices() {
    rdma link delete rxe0
    check "without devices there is no file" rdmactl cdi generate
    refused "none at all" 'No such file' ls $spec
    rm /etc/rdma-hook/config.json
    rdmactl cdi generate >/dev/null
    refused "and without pools none of theirs" 'No such file' ls ${spec/.json/-pool.json}
}

# ---- rdmactl runtime configure -----------------------------------------------------------------------------
docker_file() {
    echo '{"debug": true, "registry-mirrors": []}' >/etc/docker/daemon.json
    check "runtime configure --runtime=docker" rdmactl runtime configure --runtime=docker
    check "dockerd takes it" dockerd --validate --config-file /etc/docker/daemon.json
    equal "it has our runtime" /usr/bin/rdma-runtime "$(jq -r .runtimes.rdma.path /etc/docker/daemon.json)"
    check "and it is taken out" rdmactl runtime configure --runtime=docker --unset
    equal "the rest stays" '{"debug":true,"registry-mirrors":[]}' "$(jq -c . /etc/docker/daemon.json)"
}
plugin_is_ok() { ctr plugin ls | grep -E 'grpc.v1 +cri |cri.v1 +runtime ' | grep -q ' ok'; }
reads_our_runtime() {
    containerd config dump 2>/dev/null | tr "'" '"' >"$work/dump" # 2.x quotes otherwise than 1.x
    check "containerd reads our runtime" grep -q 'BinaryName = "/usr/bin/rdma-runtime"' "$work/dump"
}
containerd_starts() {
    check "containerd starts with it" start_containerd
    check "its plugin for Kubernetes, too" wait_for 30 plugin_is_ok
    end_containerd TERM
}
containerd_file_in_brief() {
    check "runtime configure --runtime=containerd" rdmactl runtime configure --runtime=containerd --starter-policy
    reads_our_runtime
    containerd_starts
    check "and it is taken out" rdmactl runtime configure --runtime=containerd --unset
    rm /etc/rdma-hook/config.json
}
containerd_file() {
    cp /etc/containerd/config.toml "$work/config.toml"
    refused "runtime configure --runtime=containerd wants a policy first" 'starter-policy' rdmactl runtime configure --runtime=containerd
    check "runtime configure --runtime=containerd, with one that allows nothing" \
        rdmactl runtime configure --runtime=containerd --starter-policy
    equal "which is written" '{"modes":[]}' "$(jq -c .policy /etc/rdma-hook/config.json)"
    equal "the doctor takes it" ok "$(rdmactl doctor --json | jq -r '.checks[] | select(.id == "kubernetes").status')"
    reads_our_runtime
    check "and has its runc still" grep -q 'containerd.runtimes.runc\]' "$work/dump"
    check "and what Debian set" grep -qE 'bin_dir(s = \[| = )"/usr/lib/cni"' "$work/dump" # 2.x has a list
    equal "the second time nothing changes" false "$(rdmactl runtime configure --runtime=containerd --json | jq .changed)"
    containerd_starts
    check "and it is taken out" rdmactl runtime configure --runtime=containerd --unset
    check "to the letter" cmp /etc/containerd/config.toml "$work/config.toml"
    check "the policy stays" rm /etc/rdma-hook/config.json
}
podman_file() {
    local file=/etc/containers/containers.conf.d/50-rdma-hook.conf
    equal "Podman's is as it is installed" false "$(rdmactl runtime configure --runtime=podman --json | jq .changed)"
    check "it is taken out" rdmactl runtime configure --runtime=podman --unset
    check "then nobody hears of a typing error" podman run --rm --annotation rdma.mod=softroce --rootfs $rootfs true
    check "and put back" rdmactl runtime configure --runtime=podman
    refused "then it is refused" "rdma.mod|exit status" podman run --rm --annotation rdma.mod=softroce --rootfs $rootfs true
    check "it is a file that the engine reads" grep -q hooks_dir "$file"
}

if ((brief)); then
    cdi_in_brief
    pool_under_podman
    docker_has_cdi
    rdma link delete rxe0
    rm /etc/rdma-hook/config.json
    rdmactl cdi generate >/dev/null # its files go with the devices
    containerd_file_in_brief
else
    before=$failed
    cdi
    result host podman_hca "$before"
    before=$failed
    pools
    pool_under_podman
    result softroce podman_pool "$before"
    docker_has_cdi
    no_devices
    docker_file
    containerd_file
    podman_file
fi
clean_kernel_log
engines=(podman_hca podman_pool docker_hca docker_pool) modes=(softroce host)
((brief)) || table
finish
