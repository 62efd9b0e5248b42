# shellcheck shell=bash
# The ways to run a container with annotations, one like the other. Sourced. For each ENGINE of
#   docker         rdma-runtime in the place of runc
#   docker28       rdma-runtime, called as Docker 28 and later call runc: the network comes between create and start
#   podman         the precreate hook
#   podman_hooks   a hook file of the stages createRuntime and poststop, and no other
#   runc, crun     a bare bundle with these hooks in its config.json
#   prepared       a bare bundle of crun, by the precreate hook (bundles-lib.sh)
#   containerd     ctr, with rdma-runtime in the place of runc
# there are
#   ENGINE_start NAME KEY=VALUE... [-- OPTION...]   with the annotations rdma.KEY=VALUE; it runs ${command[@]}
#   ENGINE_inside NAME COMMAND...
#   ENGINE_init NAME                                its init's pid; fails if there is no such container
#   ENGINE_kill NAME                                the engine's own SIGKILL
#   ENGINE_remove NAME                              in whatever state it is
# OPTIONs are words for the engine; for a bundle, one, a jq filter over its config.json.
source "${BASH_SOURCE[0]%/*}/podman-lib.sh"
source "${BASH_SOURCE[0]%/*}/bundles-lib.sh"

# ---- Docker -------------------------------------------------------------------------------------------------
docker_network=() # (--network none), as of Podman
docker_ids=$work/dockers
docker_image=(-v /usr/lib/lab/rootfs/usr:/usr:ro lab:1)

dockerd_came_or_died() { docker info || ! kill -0 "$dockerd"; }
# dockerd waits 15 s for its containerd, which a busy emulated machine exceeds while it reads the program: a later start finds it in memory.
start_dockerd() { # OPTION...
    local _
    for _ in 1 2 3 4; do
        GOGC=400 dockerd --iptables=false --ip6tables=false "$@" >>/tmp/dockerd.log 2>&1 &
        dockerd=$!
        wait_for 120 dockerd_came_or_died
        docker info >/dev/null 2>&1 && return
        grep -q 'timeout waiting for containerd to start' /tmp/dockerd.log || break
    done
    tail -n 20 /tmp/dockerd.log
    return 1
}
end_dockerd() { # SIGNAL
    kill "-$1" "$dockerd"
    wait "$dockerd" 2>/dev/null
}
# The runtime `rdma` and the image. What the mount of rdma-perf stands on must be there: /usr is read-only inside.
docker_set_up() { # OPTION...
    touch /usr/lib/lab/rootfs/usr/bin/rdma-perf
    mkdir -p /etc/docker
    rdmactl runtime configure --runtime=docker && start_dockerd "$@" && docker import /usr/lib/lab/image.tar lab:1
}
docker_start() {
    split "$@"
    mkdir -p $docker_ids
    rm -f "$docker_ids/$1"
    docker run -d --runtime rdma --name "$1" --cidfile "$docker_ids/$1" "${docker_network[@]}" "${words[@]}" "${with_perf[@]}" "${options[@]}" "${docker_image[@]}" "${command[@]}"
}
# The runtime's own exec and records, as of Podman (podman-lib.sh). docker.sh has Docker's.
docker_runc() { runc --root /run/docker/runtime-runc/moby "$@"; }
docker_id() { cat "$docker_ids/$1"; }
docker_inside() { docker_runc exec "$(docker_id "$1")" "${@:2}"; }
docker_init() { docker_runc state "$(docker_id "$1")" | jq -er '.pid | select(. > 0)'; }
docker_kill() { docker kill "$1"; }
docker_remove() { docker rm -f "$@"; }

# ---- Podman by hook files alone -------------------------------------------------------------------------------
hooks_dir=/run/lab-hooks.d
by_hooks() { # FUNCTION ARGUMENT...: with `pod` as it is for a user of that folder
    local pod_options=(--hooks-dir "$hooks_dir")
    "$@"
}
podman_hooks_start() {
    local stage
    mkdir -p "$hooks_dir"
    for stage in createRuntime poststop; do
        jq -n --arg stage $stage '{version: "1.0.0", hook: {path: "/usr/bin/rdma-hook", args: ["rdma-hook", $stage], timeout: 60},
            when: {annotations: {"^rdma\\.": ".*"}}, stages: [$stage]}' >"$hooks_dir/$stage.json"
    done
    split "$@"
    by_hooks podman_start "$1" "${keys[@]}" -- --tmpfs /run "${options[@]}"
}
podman_hooks_inside() { podman_inside "$@"; }
podman_hooks_init() { podman_init "$@"; }
podman_hooks_kill() { by_hooks podman_kill "$1"; }
podman_hooks_remove() { by_hooks podman_remove "$@"; }

# ---- bare bundles with plain hooks ------------------------------------------------------------------------------
of_runtime() { # RUNTIME FUNCTION ARGUMENT...
    local runtime=$1
    "${@:2}"
}
runc_start() { of_runtime runc bundle_start "$@"; }
runc_inside() { of_runtime runc bundle_inside "$@"; }
runc_init() { of_runtime runc bundle_init "$@"; }
runc_kill() { of_runtime runc bundle_kill "$@"; }
runc_remove() { of_runtime runc bundle_remove "$@"; }
crun_start() { of_runtime crun bundle_start "$@"; }
crun_inside() { of_runtime crun bundle_inside "$@"; }
crun_init() { of_runtime crun bundle_init "$@"; }
crun_kill() { of_runtime crun bundle_kill "$@"; }
crun_remove() { of_runtime crun bundle_remove "$@"; }

# ---- the order of Docker 28, without Docker ----------------------------------------------------------------
# Its interface is eth0, and the namespace stays mounted until the container has been deleted.
docker28() { rdma-runtime --root /run/lab-docker28 "$@"; }
docker28_network() { # NAME PID: answers if the container's eth0 works
    local file=/run/lab-docker28-$1 subnet=172.30.${1//[^0-9]/}
    touch "$file" && mount --bind "/proc/$2/ns/net" "$file" &&
        ip link add "veth28-$1" type veth peer name eth0 netns "$2" && ip address add "$subnet.1/24" dev "veth28-$1" &&
        ip link set "veth28-$1" up && nsenter --net="$file" ip address add "$subnet.2/24" dev eth0 &&
        nsenter --net="$file" ip link set eth0 up && nsenter --net="$file" ip route add default via "$subnet.1" &&
        wait_for 30 nsenter --net="$file" ping -c 1 -W 1 "$subnet.1"
}
docker28_start() { # NAME has a digit
    local runtime=runc hooks='{}' status
    bundle "$@" || return
    docker28 create --bundle "$bundles/$1" --pid-file "$work/pid-$1" "$1" </dev/null >"$work/log-$1" 2>&1
    status=$?
    cat "$work/log-$1"
    ((status == 0)) && docker28_network "$1" "$(<"$work/pid-$1")" && docker28 start "$1"
}
docker28_inside() { docker28 exec "$@"; }
docker28_init() { docker28 state "$1" | jq -er .pid; }
docker28_kill() { docker28 kill "$1" KILL; }
docker28_remove() {
    local file=/run/lab-docker28-$1
    docker28 delete --force "$1"
    # With our interface in it still, the namespace stays for all to see.
    [[ ! -e $file ]] || { ! nsenter --net="$file" ip link show rdma0 && umount "$file" && rm "$file"; }
    ip link delete "veth28-$1" || ! ip link show "veth28-$1" # it may have gone with its namespace
}

# ---- containerd ---------------------------------------------------------------------------------------------
# In places of its own: a dockerd that finds a containerd in the usual one takes it for its own, also in the middle of its
# containers' lives, and knows those no more.
export CONTAINERD_ADDRESS=/run/lab-containerd/containerd.sock # of ctr, too
start_containerd() {
    GOGC=400 containerd --address $CONTAINERD_ADDRESS --state /run/lab-containerd --root /var/lib/lab-containerd >>/tmp/containerd.log 2>&1 &
    containerd=$!
    wait_for 60 ctr version
}
end_containerd() { # SIGNAL
    kill "-$1" "$containerd"
    wait "$containerd" 2>/dev/null
}
rootfs_of() { # NAME: a writable layer on the lab's root file system
    local dir=/tmp/rootfs/$1
    mountpoint -q "$dir/root" || {
        mkdir -p "$dir"/{root,upper,work}
        busybox mount -t overlay overlay -o "lowerdir=/usr/lib/lab/rootfs,upperdir=$dir/upper,workdir=$dir/work" "$dir/root"
    }
    echo "$dir/root"
}
# Without an image nobody says what PATH is.
by_shim=(--env PATH=/usr/sbin:/usr/bin:/sbin:/bin --runtime io.containerd.runc.v2 --runc-binary /usr/bin/rdma-runtime)
containerd_start() {
    split "$@"
    ctr run -d "${by_shim[@]}" --mount 'type=bind,src=/usr/bin/rdma-perf,dst=/usr/bin/rdma-perf,options=bind:ro' "${words[@]}" \
        "${options[@]}" --rootfs "$(rootfs_of "$1")" "$1" "${command[@]}"
}
execs=0
containerd_inside() {
    execs=$((execs + 1))
    ctr task exec --exec-id "e$BASHPID-$execs" "$@"
}
containerd_init() { ctr task ls | awk -v id="$1" '$1 == id { print $2; found = 1 } END { exit !found }'; }
containerd_kill() { ctr task kill -s KILL "$1"; }
containerd_remove() { # the container goes, whether there is a task or not
    ctr task delete --force "$1"
    ctr container delete "$1"
}

# ---- all of them --------------------------------------------------------------------------------------------
# talk ENGINE SERVER CLIENT PORT SERVER-COMMAND... -- CLIENT-COMMAND...: in the containers SERVER and CLIENT.
talk() {
    local engine=$1 server=$2 client=$3 port=$4 words=() status
    shift 4
    while [[ $1 != -- ]]; do words+=("$1"); shift; done
    shift
    serve "$server" "$port" "${words[@]}"
    inside "$client" timeout 100 "$@"
    status=$?
    served_once "$server"
    cat "$work/server-$server"
    return $status
}

# The kernel's own killer: with nothing allowed, and nothing else in its cgroup, it is the init that goes.
runs_out_of_memory() { # PID
    echo 0 >"/sys/fs/cgroup$(sed -n 's/^0:://p' "/proc/$1/cgroup")/memory.max"
    wait_for 30 bash -c "dmesg | grep -q 'Memory cgroup out of memory: Killed process $1 '"
}
