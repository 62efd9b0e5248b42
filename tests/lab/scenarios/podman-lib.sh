# shellcheck shell=bash
# Containers under Podman, with the precreate hook: for what is Podman's. Sourced.
source "${BASH_SOURCE[0]%/*}/lib.sh"
engine=podman
runtime=crun
rootfs=/usr/lib/lab/rootfs:O
with_perf=(-v /usr/bin/rdma-perf:/usr/bin/rdma-perf:ro)
pod_options=()

pod() { podman --runtime "$runtime" "${pod_options[@]}" "$@"; }
podman_start() {
    split "$@"
    pod run -d --name "$1" "${words[@]}" "${with_perf[@]}" "${options[@]}" --rootfs $rootfs "${command[@]}"
}
podman_inside() { podman exec "$@"; }
podman_init() { podman inspect -f '{{.State.Pid}}' "$1"; }
podman_id() { podman inspect -f '{{.Id}}' "$1"; }
podman_kill() { pod kill "$1"; }
podman_remove() { pod rm -f -t 0 "$@"; }
