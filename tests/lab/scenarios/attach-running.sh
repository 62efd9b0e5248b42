#!/bin/bash
# rdmactl attach and detach of containers that run without RDMA: Docker's by its own runc, some by rdma-runtime, Podman's, and bare ones
# of crun. Traffic between two, what exec needs, refusals, every end, and SIGKILL of rdmactl at its calls that change something.
#   tests/lab/run --kernel 7.3 --timeout 900 tests/lab/scenarios/attach-running.sh [--full]
# DEATHS of each verb, spread over its calls; --full: at every call.
source "${BASH_SOURCE[0]%/*}/engines-lib.sh"
source "${BASH_SOURCE[0]%/*}/killer-lib.sh"
source "${BASH_SOURCE[0]%/*}/tested-lib.sh"
engine=docker
deaths=${DEATHS:-4}
[[ ${1:-} != --full ]] || deaths=all

modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1

docker_inside() { docker exec "$@"; }
run() { # NAME [OPTION...]: a container that nobody gives RDMA
    mkdir -p "$docker_ids"
    rm -f "$docker_ids/$1"
    docker run -d --name "$1" --cidfile "$docker_ids/$1" "${with_perf[@]}" "${@:2}" "${docker_image[@]}" "${command[@]}"
}
give() { rdmactl attach "$(id_of "$1")" -a rdma.mode=softroce -a "rdma.ip=$2/24" "${@:3}"; } # NAME ADDRESS [OPTION...]
take() { rdmactl detach "$(id_of "$1")"; }
opens() { inside "$1" bash -c 'exec 3<>/dev/infiniband/uverbs*'; }

# What containers that run have, beside what `world` sees of the host: links, nodes, mounts, limits, device programs.
more_world() {
    local each pid program
    for each in one two; do
        pid=$(init_of "$each" 2>/dev/null) || continue
        awk -v name="$each" -F: 'NR > 2 { gsub(/ /, "", $1); print name, "link", $1 }' "/proc/$pid/net/dev"
        awk -v name="$each" '{ print name, "mount", $5, $9 }' "/proc/$pid/mountinfo"
        find "/proc/$pid/root/dev" -printf "$each node %P %M %l\n"
        sed -n "s/^Max locked memory/$each &/p" "/proc/$pid/limits"
        for program in $(bpftool -j cgroup show "$(cgroup_of "$each")" | jq '.[]?.id'); do
            echo "$each program $(bpftool prog dump xlated id "$program" | sha256sum)"
        done
    done
}

traffic() {
    check "one is attached" give one 10.9.0.1
    check "two is attached" give two 10.9.0.2
    equal "rdmactl shows it by Docker's id" live "$(rdmactl show "$(id_of one)" --json | jq -r .container.state)"
    equal "one has its own nodes and no other" "rdma_cm uverbs" "$(inside one ls /dev/infiniband | sed 's/[0-9]*$//' | xargs)"
    check "rdma-perf passes, verified" talk docker one two 18600 rdma-perf serve --bind 0.0.0.0 --once -- rdma-perf run 10.9.0.1 --time 0.5s --size 4096
    refused "no other device is opened" 'not permitted' inside one bash -c 'mknod /dev/other c 10 229 && exec 3<>/dev/other'
    inside one rm -f /dev/other
    check "the same again is nothing more" give one 10.9.0.1
    refused "other RDMA is refused" 'rdmactl detach' give one 10.9.0.3
    check "one is detached" take one
    check "two is detached" take two
    same_world "nothing is left after detach" "$work/running"
}

# What is printed is what docker exec takes.
exec_sees() {
    give one 10.9.0.1 --json | jq -r '.environment | to_entries[] | "\(.key)=\(.value)"' >"$work/env"
    check "exec finds the device by its variables" docker exec --env-file "$work/env" one bash -c 'ibv_devinfo -d "$RDMA_DEVICE" | grep -q PORT_ACTIVE'
    take one
}

in_use() {
    give one 10.9.0.1 >/dev/null
    inside one bash -c 'exec 3<>/dev/infiniband/uverbs*; exec sleep 100001' &
    wait_for 30 pgrep -fx 'sleep 100001' # in the container, and not its docker exec
    refused "a device that is open is not taken" "is open in process $(pgrep -fx 'sleep 100001')" take one
    check "and works" opens one
    pkill -fx 'sleep 100001'
    wait_for 30 bash -c '! pgrep -fx "sleep 100001"'
    check "it is taken when it is closed" take one
    same_world "nothing is left after that" "$work/running"
}

refusals() {
    check "a container with annotations starts" docker_start with mode=softroce ip=10.9.0.9/24
    refused "it gets no other RDMA" 'was started with rdma' give with 10.9.0.1
    refused "and loses nothing" 'since its start' take with
    check "and has its device" opens with
    docker rm -f with >/dev/null
    mkdir -p /etc/rdma-hook
    echo '{"policy": {"modes": ["shared"]}}' >/etc/rdma-hook/config.json
    refused "the policy decides" 'rdma.mode' give one 10.9.0.1
    rm /etc/rdma-hook/config.json
    run hosts --network host >/dev/null
    refused "the host's network" 'network host' give hosts 10.9.0.1
    docker rm -f hosts >/dev/null
    refused "a pid that is another's" 'host.s network namespace' rdmactl attach "$(id_of one)" -a rdma.mode=softroce --pid $$ \
        --bundle "$(docker_runc state "$(id_of one)" | jq -r .bundle)"
    same_world "nothing is left after refusals" "$work/running"
}

# No engine tells of these ends: the timer's gc does, which is not started here. Under rdma-runtime its `delete` does at once.
ends() {
    local way verb
    for way in "kill one" "rm -f one" "restart -t 0 one"; do
        give one 10.9.0.1 >/dev/null
        read -ra verb <<<"$way"
        docker "${verb[@]}" >/dev/null
        wait_for 30 bash -c "[[ \$(docker inspect -f '{{.State.Status}}' one 2>&1) != removing ]]"
        check "gc after docker $way" rdmactl gc
        equal "docker $way: no record is left" 0 "$(rdmactl list --json | jq '.containers | length')"
        docker rm -f one >/dev/null 2>&1
        run one >/dev/null
        same_world "nothing is left after docker $way" "$work/running"
    done
    docker rm -f one >/dev/null
    run one --runtime rdma >/dev/null
    give one 10.9.0.1 >/dev/null
    docker rm -f one >/dev/null
    equal "rdma-runtime takes it back at once" 0 "$(rdmactl list --json | jq '.containers | length')"
    run one >/dev/null
    same_world "nothing is left of it" "$work/running"
}

points() { # COUNT of calls: those at which to die
    local i
    if [[ $deaths == all ]]; then seq "$1"; else for ((i = 1; i <= deaths; i++)); do echo $((1 + (i - 1) * ($1 - 1) / (deaths > 1 ? deaths - 1 : 1))); done; fi
}
dies() {
    local calls_of_attach calls_of_detach k differences=0
    check "the killer" start_killer
    arm 0 rdmactl
    give one 10.9.0.1 >/dev/null
    seen
    calls_of_attach=$calls
    arm 0 rdmactl
    take one >/dev/null
    seen
    calls_of_detach=$calls
    echo "# calls: $calls_of_attach of an attach, $calls_of_detach of a detach"
    for k in $(points "$calls_of_attach"); do death give "$k" one 10.9.0.1; done
    for k in $(points "$calls_of_detach"); do give one 10.9.0.1 >/dev/null && death take "$k" one; done
    disarm
    equal "deaths after which the container or the host is another" 0 "$differences"
}
death() { # VERB K ARGUMENT...: rdmactl dies, and then there is what the timer does, and what an operator would
    arm "$2" rdmactl
    "$1" "${@:3}" >/dev/null 2>&1
    disarm
    rdmactl gc >/dev/null
    take one >/dev/null 2>&1
    is_same() { [[ "$(world)" == "$(<"$work/running")" ]]; }
    wait_for 20 is_same && return
    differences=$((differences + 1))
    echo "# $1, SIGKILL at call $2:"
    diff "$work/running" <(world) | sed 's/^/#   /'
}

# One of each other engine, from the states that their runtimes keep.
podmans() {
    local id runtime=crun
    pod run -d --name p --network none --cidfile "$work/p" --tmpfs /run --rootfs $rootfs sleep 100000 >"$work/out" 2>&1 || report 1 "Podman runs one" "$work/out"
    id=$(<"$work/p")
    check "Podman's is attached" rdmactl attach "${id:0:12}" -a rdma.mode=softroce -a rdma.ip=10.9.0.1/24
    check "Podman's opens its device" crun exec "$id" bash -c 'exec 3<>/dev/infiniband/uverbs*'
    check "Podman's has attach.json: its /run is a tmpfs" crun exec "$id" grep -q '"attached":true' /run/rdma/attach.json
    check "Podman's is detached" rdmactl detach "${id:0:12}"
    pod rm -f -t 0 p >/dev/null
    same_world "nothing is left of Podman's" "$work/running"
}
bare() {
    local runtime=crun hooks='{}'
    bundle b
    check "a bare bundle of crun starts" begin b
    check "it is attached by pid and bundle" rdmactl attach b -a rdma.mode=softroce -a rdma.ip=10.9.0.1/24 --pid "$(bundle_init b)" --bundle "$bundles/b"
    check "it opens its device" bundle_inside b bash -c 'exec 3<>/dev/infiniband/uverbs*'
    check "it is detached" rdmactl detach b
    bundle_remove b
    drop_bundles
    same_world "nothing is left of a bare one" "$work/running"
}

check "dockerd starts" docker_set_up
podman run --rm --rootfs $rootfs true >/dev/null 2>&1
rdmactl gc >/dev/null
run one >/dev/null || exit 1
run two >/dev/null || exit 1
world >"$work/running"
before=$failed
traffic
exec_sees
in_use
refusals
ends
dies
result softroce attach_docker "$before"
before=$failed
podmans
result softroce attach_podman "$before"
before=$failed
bare
result softroce attach_crun "$before"
docker rm -f one two >/dev/null
((!failed)) || tail -n 40 /tmp/dockerd.log | sed 's/^/# /'
clean_kernel_log
end_dockerd TERM
engines=(attach_docker attach_podman attach_crun) modes=(softroce)
table
finish
