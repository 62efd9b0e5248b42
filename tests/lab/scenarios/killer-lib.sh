# shellcheck shell=bash
# SIGKILL of a program of ours at the very end of its Kth call that changes something (killer.c). Sourced.
source "${BASH_SOURCE[0]%/*}/lib.sh"

start_killer() {
    compiled killer.c || return
    coproc killer { exec /run/lab/killer 2>"$work/killer.err"; }
    # Of the names that bash makes, as functions in the background do not have them.
    exec {killer_in}>&"${killer[1]}" {killer_out}<&"${killer[0]}"
    [[ $(order_reply) == ready ]] || { cat "$work/killer.err"; return 1; }
}
order_reply() { local reply; read -rt 60 reply <&"$killer_out" && echo "$reply"; }
order() { echo "$*" >&"$killer_in" && order_reply; }

# arm K [NAME...]: SIGKILL at the Kth call from now on, of rdma-hook and rdma-runtime if no NAME is given; K 0: counts only.
arm() {
    local at=$1
    shift
    (($#)) || set -- rdma-hook rdma-runtime
    order arm "$at" "$@" >/dev/null
}
disarm() { arm 0 nobody; }
# Sets calls, how many there were, and victim, the call of the one that died, or -.
# shellcheck disable=SC2034
seen() { read -r calls victim <<<"$(order seen)"; }
