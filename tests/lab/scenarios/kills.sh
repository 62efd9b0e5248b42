#!/bin/bash
# SIGKILL of rdma-hook, rdma-runtime and rdmactl at the very end of a call that changes something: a file of our state, a netlink
# request, a mount, a line of sysfs, a request to Open vSwitch. Then what an operator does, remove the container and `rdmactl recover`,
# and the host is as it was before: all of it, not only what is ours (snapshot-lib.sh).
#   tests/lab/run --kernel 7.3 --hca --nics igb --timeout 7200 tests/lab/scenarios/kills.sh [--full] [MODE[:ENGINE...]...]
# For each mode and engine the calls of a start, of a removal and of a recover are counted in a run without a death; then as many
# of them as KILLS says are each the last one of a run, spread over all, from a random one on. KILLS=all: every one. SEED repeats a run.
source "${BASH_SOURCE[0]%/*}/every-mode-lib.sh"
source "${BASH_SOURCE[0]%/*}/engines-lib.sh"
source "${BASH_SOURCE[0]%/*}/snapshot-lib.sh"
source "${BASH_SOURCE[0]%/*}/killer-lib.sh"
wanted=0 # deaths
engines=(crun prepared docker28) # the three ways in, each by what is quickest
cells=(softroce shared:crun vf:prepared asap2:docker28 softiwarp:crun)
if [[ ${1:-} == --full ]]; then
    shift
    KILLS=${KILLS:-16}
    engines=(crun runc prepared podman podman_hooks docker28 docker)
    cells=(softroce shared vf asap2 softiwarp)
    (($#)) || wanted=300
fi
KILLS=${KILLS:-3}
(($# == 0)) || cells=("$@")
SEED=${SEED:-$RANDOM}
RANDOM=$SEED
used=(crun) # which use_once wants
for each in "${cells[@]}"; do
    IFS=: read -ra chosen <<<"$each"
    ((${#chosen[@]} > 1)) || chosen+=("${engines[@]}")
    for engine in "${chosen[@]:1}"; do [[ " ${used[*]} " == *" $engine "* ]] || used+=("$engine"); done
done
kills=0 differences=0 later=0 missed=0

start() { # the container, in $mode and under $engine
    local keys
    read -ra keys <<<"$("${mode}_keys" 1)"
    "${engine}_start" c1 "${keys[@]}" ip=10.9.0.1/24
}
remove() { "${engine}_remove" c1 >/dev/null 2>&1; }

# points N COUNT: that many of 1..N, evenly spread.
points() {
    local count=$2 first i
    [[ $count != all ]] && ((count < $1)) || count=$1
    ((count)) || return
    first=$((RANDOM % $1))
    for ((i = 0; i < count; i++)); do echo $(((first + i * $1 / count) % $1 + 1)); done | sort -nu
}
share() { if [[ $KILLS == all ]]; then echo all; else echo $(((KILLS * $1 + 50) / 100)); fi; } # PERCENT of $KILLS

# ---- one death ----------------------------------------------------------------------------------------------
die_at() { # STAGE K: somebody dies at his Kth call of that stage
    case $1 in
    start)
        arm "$2"
        start
        ;;
    stop)
        start
        arm "$2"
        remove
        ;;
    recover)
        arm "$calls_of_start"
        start
        remove
        arm "$2" rdmactl
        rdmactl recover
        ;;
    esac >"$work/output" 2>&1
}
recovered() { # as an operator would have it
    remove
    rdmactl recover >"$work/recover" 2>&1 || return
    [[ $engine != docker28 ]] || remove # its namespace stays mounted as long as there is something of ours in it
    as_in "$work/before" 5 && return
    # Whom the engine left dying was alive still: the timer's next look.
    later=$((later + 1))
    cp "$work/difference" "$work/first"
    rdmactl recover >>"$work/recover" 2>&1 && as_in "$work/before" 15
}
back() { # WHAT
    recovered
    report $? "$1" "$work/difference"
}
kill_at() { # STAGE K
    local begin=$SECONDS what
    die_at "$@"
    seen
    disarm
    what="$mode, $engine: SIGKILL at call $2 of $1 ($victim)"
    if [[ $victim == - ]]; then
        missed=$((missed + 1))
    else
        kills=$((kills + 1))
    fi
    local before=$later
    if recovered; then
        ((later == before)) || { echo "# $what: as before only after a second recover:"; sed 's/^/#   /' "$work/first" | head -n 5; }
        return
    fi
    differences=$((differences + 1))
    cat "$work/output" "$work/recover" "$work/difference" >"$work/all"
    report 1 "$what, after $((SECONDS - begin)) s" "$work/all"
    rdmactl recover >/dev/null 2>&1
    rested "$work/before" 20 # each difference is told once
}

# ---- a mode under an engine -----------------------------------------------------------------------------------
# Without a death: nothing is left either, and these are the calls.
count_calls() {
    arm 0
    check "$mode, $engine: it starts" start
    seen
    calls_of_start=$calls
    echo "# calls of a start: $(order calls | xargs -n 1 | sort | uniq -c | awk '{ print $1, $2 }' | paste -sd, )"
    arm 0
    remove
    seen
    calls_of_stop=$calls
    back "$mode, $engine: nothing is left without a death"
    [[ $calls_of_start != 0 && $(share 10) != 0 ]] || return
    arm "$calls_of_start"
    start >/dev/null 2>&1
    remove
    arm 0 rdmactl
    rdmactl recover >/dev/null 2>&1
    seen
    calls_of_recover=$calls
    disarm
    back "$mode, $engine: nothing is left"
}
cell() {
    local k before=$kills bad=$differences begin=$SECONDS
    local calls_of_start=0 calls_of_stop=0 calls_of_recover=0
    count_calls
    for k in $(points $calls_of_start "$(share 65)"); do kill_at start "$k"; done
    ((!calls_of_stop)) || for k in $(points $calls_of_stop "$(share 25)"); do kill_at stop "$k"; done
    ((!calls_of_recover)) || for k in $(points $calls_of_recover "$(share 10)"); do kill_at recover "$k"; done
    ((differences == bad && kills > before))
    report $? "$mode, $engine: $((kills - before)) deaths in $((SECONDS - begin)) s, calls: $calls_of_start of a start, $calls_of_stop of a removal, $calls_of_recover of a recover"
}
# Each engine makes what it keeps with the first container; ours comes with the first look.
first_containers() {
    for engine in "${used[@]}"; do
        check "$engine: a container without us" "${engine}_start" c1
        remove
    done
    rdmactl gc >/dev/null
}

echo "# seed $SEED, $KILLS deaths a cell"
modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1
check "the killer" start_killer
[[ " ${used[*]} " != *" podman "* ]] || podman run --rm --rootfs $rootfs true
[[ " ${used[*]} " != *" docker "* ]] || check "dockerd" docker_set_up
first_containers
for each in "${cells[@]}"; do
    IFS=: read -ra chosen <<<"$each"
    mode=${chosen[0]}
    ((${#chosen[@]} > 1)) || chosen+=("${engines[@]}")
    mode_up || { echo "# $mode: not here ($reason)"; continue; }
    use_once
    check "the host is at rest" rested "$work/before" 30
    for engine in "${chosen[@]:1}"; do cell; done
    mode_down
done
drop_bundles
[[ " ${used[*]} " != *" docker "* ]] || end_dockerd TERM
clean_kernel_log
((!wanted)) || { ((kills >= wanted)); report $? "$kills deaths, of $wanted at least"; }
echo "# $kills deaths, $differences differences; $later of them were as before only after a second recover; $missed runs came to their end"
finish
