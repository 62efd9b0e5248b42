# shellcheck shell=bash
# Containers under Podman, with the precreate hook: for what is Podman's. Sourced.
source "${BASH_SOURCE[0]%/*}/lib.sh"
engine=podman
runtime=crun
rootfs=/usr/lib/lab/rootfs:O
with_perf=(-v /usr/bin/rdma-perf:/usr/bin/rdma-perf:ro)
pod_options=()

pod() { podman --runtime "$runtime" "${pod_options[@]}" "$@"; }
pod_network=()         # (--network none): in an emulated guest Podman's own takes 2 s of a start's 5
pod_ids=$work/pods    # a file for each container, which Podman removes with it
podman_start() {
    split "$@"
    mkdir -p $pod_ids
    rm -f "$pod_ids/$1" # of one that another command removed
    pod run -d --name "$1" --cidfile "$pod_ids/$1" "${pod_network[@]}" "${words[@]}" "${with_perf[@]}" "${options[@]}" --rootfs $rootfs "${command[@]}"
}
# The runtime's own exec and records: Podman's commands take seconds each. podman.sh has those.
podman_id() { cat "$pod_ids/$1"; }
podman_inside() { "$runtime" exec "$(podman_id "$1")" "${@:2}"; }
podman_init() { "$runtime" state "$(podman_id "$1")" | jq -er '.pid | select(. > 0)'; }
podman_kill() { pod kill "$1"; }
podman_remove() { pod rm -f -t 0 "$@"; }
