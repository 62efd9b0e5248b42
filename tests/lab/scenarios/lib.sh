# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # what an engine has, and what it is called with
# What scenarios share: checks that print "ok N - what" or "not ok N - what", waiting for events with a
# limit, and the list of everything an attach may leave behind. Sourced.
[[ -z ${lab_lib:-} ]] || return 0 # another -lib.sh has had it sourced
lab_lib=1
set -u
work=$(mktemp -d)
count=0
failed=0
reported=$SECONDS
# Engines' commands end before they need their memory again: an emulated podman is a fifth quicker.
export GOGC=off

report() { # STATUS WHAT [FILE]: one line; the file's end if it failed; and how long it took, if that was long
    local spent=$((SECONDS - reported))
    reported=$SECONDS
    ((spent < 10)) || echo "# $spent s:"
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

# add_netns NAME. An RDMA device that ends with its netdev is still being destroyed for a moment. The kernel makes no network namespace then
# (ENODEV, ib_core asks each device for its ports).
add_netns() { wait_for 10 ip netns add "$1"; }

# compiled SOURCE: the program of a C file beside this one, made once in a guest; it is /run/lab/NAME.
compiled() {
    local program=/run/lab/${1%.c} compilers=(/usr/bin/gcc-[0-9]*) # another number in each tree
    mkdir -p /run/lab && { [[ -x $program ]] || "${compilers[0]}" -O1 -Wall -Werror -o "$program" "${BASH_SOURCE[0]%/*}/$1"; }
}

now_ms() { date +%s%3N; }

# world: links, RDMA links, leases, journals, pins and namespaces. Scenarios call it often, so it starts few processes.
world() {
    local each mounts spaces
    {
        for each in /sys/class/net/*; do
            each=${each##*/}
            [[ $each =~ ^(veth|podman|lab-net|bonding_masters) ]] || echo "link $each"
        done
        rdma link show
        [[ ! -d /run/rdma-hook ]] || find /run/rdma-hook -type f ! -path '*/locks/*' ! -path '*/errors/*' ! -path '*/runtimes/*'
        mapfile -t mounts </proc/self/mountinfo
        for each in "${mounts[@]}"; do [[ $each != *rdma-hook/netns/* ]] || { read -r _ _ _ _ each _ <<<"$each" && echo "mount $each"; }; done
        lsns -t net -n -o NS | (mapfile -t spaces && echo "namespaces ${#spaces[@]}")
        ! declare -F more_world >/dev/null || more_world # what a scenario wants to see beside that
    } 2>/dev/null | sort
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

# ---- containers, of $engine -----------------------------------------------------------------------------
# bundles-lib.sh has engine `prepared`, podman-lib.sh `podman`, engines-lib.sh these and more; it says what an engine is.
command=(sleep 100000) # what containers run that wait

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
attach() { "${engine}_start" "$@"; } # NAME KEY=VALUE... [-- OPTION...]: a container with these annotations
inside() { "${engine}_inside" "$@"; }
init_of() { "${engine}_init" "$1"; }
id_of() { "${engine}_id" "$1"; } # for rdmactl
drop() { "${engine}_remove" "$@" >/dev/null 2>&1; } # NAME...

in_network() { nsenter --net="/proc/$(init_of "$1")/ns/net" "${@:2}"; } # NAME COMMAND...: of the host, in a container's network
cgroup_of() { echo "/sys/fs/cgroup$(sed -n 's/^0:://p' "/proc/$(init_of "$1")/cgroup")"; }
attach_json() { cat "/proc/$(init_of "$1")/root/run/rdma/attach.json"; }
devices() { inside "$1" ibv_devices | awk 'NR > 2 { print $1 }' | xargs; }
environment() { # NAME VARIABLE: of its init
    local each variables
    mapfile -td '' variables <"/proc/$(init_of "$1")/environ"
    for each in "${variables[@]}"; do [[ $each != "$2="* ]] || echo "${each#*=}"; done
}
listening() { # NAME PORT
    local pid each sockets
    pid=$(init_of "$1") || return
    for each in tcp tcp6; do
        mapfile -t sockets <"/proc/$pid/net/$each"
        printf -v each ':%04X [0-9A-F]*:0000 0A ' "$2"
        [[ ! ${sockets[*]} =~ $each ]] || return 0
    done
    return 1
}
is_gone() { # PID: a zombie is, too
    local state
    ! { read -r state <"/proc/$1/stat"; } 2>/dev/null || [[ $state == *') Z '* ]]
}

# serve CONTAINER PORT SERVER...: in the background, once it listens; its output is in $work/server-CONTAINER.
declare -A served=()
serve() {
    inside "$1" timeout 1000 "${@:3}" >"$work/server-$1" 2>&1 &
    served[$1]=$!
    wait_for 30 listening "$1" "$2"
}
served_once() { wait "${served[$1]}"; } # CONTAINER: its server ends by itself
end_server() { # CONTAINER
    kill "${served[$1]}" 2>/dev/null
    wait "${served[$1]}"
}

# rping_passes CLIENT SERVER ADDRESS: no socket shows that a server of rdma_cm listens, so it is asked until it answers. A
# server for many clients (-P): one that is cut off on a busy machine would take any other with it.
rping_passes() {
    inside "$2" timeout 150 rping -s -P -a "$3" -C 3 >"$work/server-$2" 2>&1 &
    local server=$! status
    wait_for 90 inside "$1" timeout 20 rping -c -a "$3" -C 3
    status=$?
    pkill -f "rping -s -P -a $3 " # in the container
    wait "$server"
    return $status
}

# end_by WAY CONTAINER: as containers end.
end_by() {
    local init
    case $1 in
    stop) "${engine}_kill" "$2" ;;
    kill) init=$(init_of "$2") && kill -9 "$init" && wait_for 30 is_gone "$init" ;;
    esac >/dev/null 2>&1
    drop "$2"
}

# The last line of a scenario, which test runners add up; and its status.
finish() {
    ! declare -F drop_bundles >/dev/null || drop_bundles
    rm -rf "$work"
    echo "scenario ${0##*/}: $count checks, $failed failed"
    ((failed == 0))
}
