# shellcheck shell=bash
# What scenarios share: checks that print "ok N - what" or "not ok N - what", waiting for events with a
# limit, and the list of everything an attach may leave behind. Sourced.
[[ -z ${lab_lib:-} ]] || return 0 # another -lib.sh has had it sourced
lab_lib=1
set -u
work=$(mktemp -d)
count=0
failed=0

report() { # STATUS WHAT [FILE]: one line; the file's end if it failed
    count=$((count + 1))
    if [[ $1 == 0 ]]; then
        echo "ok $count - $2"
        return
    fi
    echo "not ok $count - $2"
    failed=$((failed + 1))
    [[ ! -e ${3:-} ]] || sed 's/^/# /' "$3" | tail -n 25
}

check() { # WHAT COMMAND...: the command must succeed
    local what=$1
    shift
    "$@" >"$work/out" 2>&1
    report $? "$what" "$work/out"
}

refused() { # WHAT TEXT COMMAND...: the command must fail and say TEXT (an extended regular expression)
    local what=$1 text=$2
    shift 2
    if "$@" >"$work/out" 2>&1; then
        echo "# it succeeded" >>"$work/out"
        report 1 "$what" "$work/out"
        return
    fi
    grep -qE -- "$text" "$work/out"
    report $? "$what" "$work/out"
}

equal() { # WHAT EXPECTED GOT
    printf 'expected: %s\ngot:      %s\n' "$2" "$3" >"$work/out"
    [[ $2 == "$3" ]]
    report $? "$1" "$work/out"
}

wait_for() { # SECONDS COMMAND...: until the command succeeds
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        ((SECONDS < end)) || return 1
        read -rt 0.1 <> <(:) || true
    done
}

now_ms() { date +%s%3N; }

# Everything of ours in the world: links, RDMA links, leases, journals, pins, namespaces.
world() {
    ip -br link | awk '{ sub(/@.*/, "", $1); print "link", $1 }' | grep -vE '^link (veth|podman|lab-net)' | sort
    rdma link show | awk '{ print "rdma", $2 }' | sort
    find /run/rdma-hook -type f ! -path '*/locks/*' ! -path '*/errors/*' 2>/dev/null | sort
    awk '$3 ~ "^/net" || $5 ~ "rdma-hook" { print "mount", $5 }' /proc/self/mountinfo | grep rdma-hook/netns/ | sort
    lsns -t net -n -o NS,NPROCS | awk '{ n++ } END { print "namespaces", n }'
    ! declare -F more_world >/dev/null || more_world # what a scenario wants to see beside that
}

# same_world WHAT FILE [SECONDS]: the world is as in FILE; waits at most SECONDS (30) and says how long it took.
same_world() {
    local what=$1 before=$2 limit=${3:-30} start
    start=$(now_ms)
    is_same() { [[ "$(world)" == "$(<"$before")" ]]; }
    if wait_for "$limit" is_same; then
        report 0 "$what (as before after $(($(now_ms) - start)) ms)"
    else
        diff "$before" <(world) >"$work/out"
        report 1 "$what" "$work/out"
    fi
}

clean_kernel_log() { # a kernel that was hurt says so
    dmesg | grep -E 'WARNING:|BUG:|Oops|unregister_netdevice: waiting|refcount_t' >"$work/out"
    [[ ! -s $work/out ]]
    report $? "the kernel's log is clean" "$work/out"
}

# ---- containers under Podman: for scenarios that set `runtime` ------------------------------------------
runtime=crun
rootfs=/usr/lib/lab/rootfs:O
with_perf=(-v /usr/bin/rdma-perf:/usr/bin/rdma-perf:ro)

command=(sleep 100000) # what containers run that wait
pod_options=()

pod() { podman --runtime "$runtime" "${pod_options[@]}" "$@"; }
drop() { podman rm -f -t 0 "$@" >/dev/null 2>&1; }

# split NAME KEY=VALUE... [-- OPTION...]: into keys, words (the annotations rdma.KEY=VALUE for an engine) and options.
split() {
    keys=() words=()
    shift
    while (($#)) && [[ $1 != -- ]]; do
        keys+=("$1")
        words+=(--annotation "rdma.$1")
        shift
    done
    options=("${@:2}")
}
# attach NAME KEY=VALUE... [-- OPTION...]: a container with these annotations.
attach() {
    split "$@"
    pod run -d --name "$1" "${words[@]}" "${with_perf[@]}" "${options[@]}" --rootfs $rootfs "${command[@]}"
}
# Of the container's own process: `podman exec` starts from the image's environment, not from config.json's.
environment() { podman exec "$1" cat /proc/1/environ | tr '\0' '\n' | sed -n "s/^$2=//p"; }
devices() { podman exec "$1" ibv_devices | awk 'NR > 2 { print $1 }' | xargs; }
listening() { podman exec "$1" ss -Hltn "sport = :$2" | grep -q .; }

# serve CONTAINER PORT SERVER...: in the background, once it listens; its output is in $work/server-CONTAINER.
declare -A served=()
serve() {
    podman exec "$1" timeout 1000 "${@:3}" >"$work/server-$1" 2>&1 &
    served[$1]=$!
    wait_for 30 listening "$1" "$2"
}
end_server() { # CONTAINER
    kill "${served[$1]}" 2>/dev/null
    wait "${served[$1]}"
}

# rping_passes CLIENT SERVER ADDRESS: no socket shows that a server of rdma_cm listens, so it is asked until it answers. A
# server for many clients (-P): one that is cut off on a busy machine would take any other with it.
rping_passes() {
    podman exec "$2" timeout 150 rping -s -P -a "$3" -C 3 >"$work/server-$2" 2>&1 &
    local server=$! status
    wait_for 90 podman exec "$1" timeout 20 rping -c -a "$3" -C 3
    status=$?
    pkill -f "rping -s -P -a $3 " # in the container
    wait "$server"
    return $status
}

# end_by WAY CONTAINER: as containers end.
end_by() {
    local init
    case $1 in
    stop) pod stop -t 0 "$2" ;;
    kill) # SIGKILL of the init; the engine learns of it by itself
        init=$(podman inspect -f '{{.State.Pid}}' "$2")
        is_exited() { [[ $(podman inspect -f '{{.State.Status}}' "$1") == exited ]]; }
        kill -9 "$init" && wait_for 30 is_exited "$2"
        ;;
    esac >/dev/null 2>&1
    drop "$2"
}

# The last line of a scenario, which test runners add up; and its status.
finish() {
    rm -rf "$work"
    echo "scenario ${0##*/}: $count checks, $failed failed"
    ((failed == 0))
}
