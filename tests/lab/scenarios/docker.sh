#!/bin/bash
# softroce under Docker by rdma-runtime, end to end: annotation in, verified RDMA out, everything taken back.
#   tests/lab/run --kernel 7.3 --timeout 900 tests/lab/scenarios/docker.sh [RUNTIME...]
# RUNTIMEs: what rdma-runtime calls: runc and crun unless given.
source "${BASH_SOURCE[0]%/*}/lib.sh"
runtimes=("${@:-runc}")
[[ $# -gt 0 ]] || runtimes=(runc crun)
readme=${BASH_SOURCE[0]%/tests/*}/runtime-config/README.md

modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1

# What the README says of Docker: the file, and the lines to be typed.
of_readme() { sed -n '/^## Docker/,/^## [^D]/s/^    //p' "$readme"; }
mkdir -p /etc/docker /etc/rdma-hook
of_readme | sed -n '/^{/,/^}/p' >/etc/docker/daemon.json

start_dockerd() { # OPTION...
    dockerd --iptables=false --ip6tables=false "$@" >>/tmp/dockerd.log 2>&1 &
    dockerd=$!
    wait_for 120 docker info
}
container_id() { docker inspect -f '{{.Id}}' "$1"; }
init_of() { docker inspect -f '{{.State.Pid}}' "$1"; }
is_status() { [[ $(docker inspect -f '{{.State.Status}}' "$1") == "$2" ]]; }

softroce=(--runtime rdma --annotation rdma.mode=softroce)
start() { # NAME ADDRESS [OPTION...]: a container that waits
    docker run -d --name "$1" "${softroce[@]}" --annotation "rdma.ip=$2/24" "${with_perf[@]}" "${@:3}" lab:1 sleep 100000
}
is_listening() { docker exec "$1" ss -Hltn "sport = :$2" | grep -q .; }
pair() { # WHAT PORT SERVER... -- CLIENT...: a server in `one`, a client in `two`
    local what=$1 port=$2 server=()
    shift 2
    while [[ $1 != -- ]]; do server+=("$1"); shift; done
    shift
    docker exec one timeout 100 "${server[@]}" >"$work/server" 2>&1 &
    wait_for 30 is_listening one "$port"
    docker exec two timeout 100 "$@" >"$work/out" 2>&1
    local status=$?
    wait $!
    cat "$work/server" >>"$work/out"
    report $status "$what" "$work/out"
}

traffic() {
    check "$runtime: one starts" start one 10.9.0.1
    check "$runtime: two starts" start two 10.9.0.2
    check "$runtime: Docker's own interface is there too" docker exec one bash -c 'ip -br address show eth0 | grep -q UP'
    check "$runtime: and works" docker exec one ping -c 1 -W 5 "$(docker inspect -f '{{.NetworkSettings.Gateway}}' one)"
    equal "$runtime: rdmactl shows the container by Docker's id" live "$(rdmactl show "$(container_id one)" --json | jq -r .container.state)"
    equal "$runtime: ibv_devices lists one device" 1 "$(docker exec one ibv_devices | grep -c rxe)"
    equal "$runtime: one verbs node" 1 "$(docker exec one bash -c 'ls /dev/infiniband' | grep -c uverbs)"
    check "$runtime: attach.json" docker exec one grep -q '"attached":true' /run/rdma/attach.json
    check "$runtime: nobody of the host holds the namespace by a descriptor" no_descriptors
    pair "$runtime: rdma-perf passes, verified" 18600 rdma-perf serve --bind 0.0.0.0 --once -- rdma-perf run 10.9.0.1 --time 0.5s --size 4096
    pair "$runtime: ib_write_bw passes unchanged" 18515 ib_write_bw -n 200 -- ib_write_bw -n 200 10.9.0.1
    docker rm -f one two >/dev/null
    same_world "$runtime: nothing is left after traffic" "$work/before"
}

# A descriptor of a container's namespace in a process that is not in it would outlive the container.
no_descriptors() {
    local namespace
    namespace=$(readlink "/proc/$(init_of one)/ns/net" | sed 's/[][]/\\&/g') # -lname takes a pattern
    find "/proc/$(init_of one)/ns/net" -lname "$namespace" | grep -q . || return 1
    ! find /proc/[0-9]*/fd -lname "$namespace" 2>/dev/null | grep .
}

ends() { # ways to die, each with a fresh container
    local way
    for way in stop kill "rm -f" init restart twice; do
        start one 10.9.0.1 >"$work/out" 2>&1 || report 1 "$runtime: start before $way" "$work/out"
        case $way in
        stop) docker stop -t 0 one ;;
        kill) docker kill one ;;
        "rm -f") docker rm -f one ;;
        init) kill -9 "$(init_of one)" && wait_for 30 is_status one exited ;;
        restart)
            check "$runtime: restart" docker restart -t 0 one
            check "$runtime: and it has its device again" docker exec one bash -c 'ibv_devices | grep -q rxe'
            docker stop -t 0 one
            ;;
        twice) docker stop -t 0 one && docker start one && docker stop -t 0 one ;;
        esac >"$work/end" 2>&1
        grep -E '^(not )?ok' "$work/end"
        same_world "$runtime: nothing is left after $way" "$work/before"
        docker rm -f one >/dev/null 2>&1
    done
}

failing() {
    refused "$runtime: a command that does not exist" 'no/such/command' docker run --rm --name one "${softroce[@]}" --annotation rdma.ip=10.9.0.1/24 lab:1 /no/such/command
    same_world "$runtime: nothing is left after it" "$work/before"
    equal "$runtime: nor in the list" 0 "$(rdmactl list --json | jq '.containers | length')"
    refused "$runtime: a typing error is shown to the person" 'did you mean rdma.mode' docker run --rm --runtime rdma --annotation rdma.mod=softroce lab:1 true
    refused "$runtime: --network host is refused" 'leave out --network host' docker run --rm "${softroce[@]}" --network host lab:1 true
    refused "$runtime: a taken address is refused" 'rdma-runtime: create: .*10.9.0.1' two_of_one_address
    docker rm -f one >/dev/null 2>&1
    same_world "$runtime: nothing is left after refusals" "$work/before"
}
two_of_one_address() {
    start one 10.9.0.1 >/dev/null && docker run --rm "${softroce[@]}" --annotation rdma.ip=10.9.0.1/24 lab:1 true
}

sharing() {
    start one 10.9.0.1 >/dev/null 2>&1
    check "$runtime: an equal request joins the container's network" start two 10.9.0.1 --network container:one
    docker rm -f two >/dev/null 2>&1
    check "$runtime: the joined one's end takes nothing" docker exec one bash -c 'ibv_devices | grep -q rxe'
    docker rm -f one >/dev/null 2>&1
    check "$runtime: --network none" start one 10.9.0.1 --network none
    check "$runtime: lo is up there" docker exec one bash -c 'ip -br link show lo | grep -q UP'
    docker rm -f one >/dev/null 2>&1
    same_world "$runtime: nothing is left after sharing" "$work/before"
}

dies() { # dockerd, and comes back
    start one 10.9.0.1 >/dev/null 2>&1
    kill -9 $dockerd
    wait $dockerd 2>/dev/null
    check "$runtime: dockerd comes back after SIGKILL" start_dockerd
    docker rm -f one >"$work/out" 2>&1
    report $? "$runtime: and removes the container" "$work/out"
    same_world "$runtime: nothing is left of it" "$work/before" 60
    check "$runtime: the next container starts" start one 10.9.0.1
    docker rm -f one >/dev/null 2>&1
    same_world "$runtime: and ends" "$work/before"
    kill $dockerd
    wait $dockerd 2>/dev/null
    start_dockerd --live-restore
    start one 10.9.0.1 >/dev/null 2>&1
    kill -9 $dockerd
    wait $dockerd 2>/dev/null
    check "$runtime: --live-restore: dockerd comes back" start_dockerd --live-restore
    check "$runtime: and the container has gone on with its device" docker exec one bash -c 'ibv_devices | grep -q rxe'
    docker rm -f one >/dev/null 2>&1
    same_world "$runtime: and is taken back" "$work/before" 60
}

# Podman's precreate hook has done it all when rdma-runtime is called.
under_podman() {
    check "$runtime: as Podman's runtime, after its hook" podman --runtime /usr/bin/rdma-runtime run --rm --network none \
        --annotation rdma.mode=softroce --rootfs $rootfs bash -c '[[ $(ibv_devices | grep -c rxe) == 1 ]]'
    same_world "$runtime: nothing is left of it" "$work/before"
}

bystanders() {
    local state text kept
    kept=$(<"/etc/rdma-hook/config.json")
    for state in as-it-is broken unreadable missing; do
        case $state in
        as-it-is) ;;
        broken) echo '{"polls":' >/etc/rdma-hook/config.json ;;
        unreadable) echo "$kept" >/etc/rdma-hook/config.json; chmod 666 /etc/rdma-hook/config.json ;;
        missing) rm -f /etc/rdma-hook/config.json ;;
        esac
        check "$runtime: a container without rdma.*, configuration $state" docker run --rm --runtime rdma lab:1 true
        [[ $state == broken || $state == unreadable ]] || continue
        refused "$runtime: one with rdma.* is refused then" 'config.json' docker run --rm "${softroce[@]}" lab:1 true
    done
    rm -f /etc/rdma-hook/config.json
    text=$(docker run --rm --runtime rdma lab:1 sh -c 'ls /dev; ls /run; env | cut -d= -f1; ulimit -l')
    equal "$runtime: it is what it is without us" "$(docker run --rm lab:1 sh -c 'ls /dev; ls /run; env | cut -d= -f1; ulimit -l')" "$text"
    equal "$runtime: its status is its own" 7 "$(docker run --rm --runtime rdma lab:1 sh -c 'exit 7'; echo $?)"
    same_world "$runtime: nothing is left after bystanders" "$work/before"
}

examples() { # the lines of the README, with an image that there is
    local line
    while read -r line; do
        line=${line//IMAGE/lab:1}
        check "README: $line" bash -c "$line"
    done < <(of_readme | grep '^docker run')
    same_world "README: nothing is left" "$work/before"
}

check "dockerd starts with the README's daemon.json" start_dockerd || exit 1
tar -C "${rootfs%:O}" -cf - . | docker import - lab:1 >"$work/out" 2>&1 || report 1 "an image" "$work/out"
docker run --rm lab:1 true >"$work/out" 2>&1 || report 1 "a container without us" "$work/out"
world >"$work/before"
for runtime in "${runtimes[@]}"; do
    printf '{"runtime": "%s"}\n' "$(command -v "$runtime")" >/etc/rdma-hook/config.json
    traffic
    ends
    failing
    [[ $runtime == "${runtimes[0]}" ]] || continue
    sharing
    dies
    under_podman
    bystanders
done
examples
((!failed)) || tail -n 40 /tmp/dockerd.log | sed 's/^/# /'
clean_kernel_log
kill $dockerd
wait $dockerd
finish
