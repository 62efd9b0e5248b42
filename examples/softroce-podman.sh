#!/usr/bin/env bash
# Two containers, each with an RDMA device of its own; verified, measured, and taken back.
# Runs as root where rdma-hook and Podman are installed. examples/quickstart prepares such a place.
#
# RDMA_IMAGE   an image with libibverbs and its providers; not needed in the lab
# RDMA_PARENT  the host's interface that carries the traffic (default: the default route's)
set -euo pipefail

softroce=(--annotation rdma.mode=softroce)
[[ -z ${RDMA_PARENT:-} ]] || softroce+=(--annotation "rdma.parent=$RDMA_PARENT")
perf=(-v /usr/bin/rdma-perf:/usr/bin/rdma-perf:ro)
if [[ -n ${LAB_KERNEL:-} ]]; then
    image=(--rootfs /usr/lib/lab/rootfs:O)
    modprobe -a veth overlay bridge nf_tables # what Podman needs; the lab loads nothing by itself
else
    image=("${RDMA_IMAGE:?set RDMA_IMAGE to an image with libibverbs and its providers}")
fi

say() { printf '\n# %s\n' "$*"; }
show() { # COMMAND...: printed in lines of at most 100 columns, then run
    local line='$' word
    for word in "$@"; do
        if ((${#line} + ${#word} > 97)); then
            printf '%s \\\n' "$line"
            line='   '
        fi
        line+=" $word"
    done
    printf '%s\n' "$line"
    "$@"
}
readable() { if command -v jq >/dev/null; then jq .; else python3 -m json.tool; fi; }
# What an attach makes on the host.
traces() {
    rdma link show | awk '{ print $2 }'
    find /run/rdma-hook -type f ! -path '*/locks/*' ! -path '*/errors/*' 2>/dev/null || true
}
wait_for() { # COMMAND...: for at most 30 seconds
    local end=$((SECONDS + 30))
    until "$@"; do
        ((SECONDS < end)) || { echo "gave up after 30 s waiting for: $*" >&2; return 1; }
        read -rt 0.2 <> <(:) || true
    done
}
is_listening() { nsenter -t "$(podman inspect -f '{{.State.Pid}}' rdma-a)" -n ss -Hltn 'sport = :18600' | grep -q .; }
is_as_before() { [[ $(traces) == "$before" ]]; }

clean_up() { podman rm -f -t 0 rdma-a rdma-b >/dev/null 2>&1 || true; }
trap clean_up EXIT
clean_up

say "Load the kernel's modules for SoftRoCE, verbs and macvlan."
show modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan
before=$(traces)

say "Show what two annotations would do, and change nothing."
show rdmactl plan "${softroce[@]}" --annotation rdma.ip=10.9.0.1/24

say "Start a container with an RDMA device of its own. A server listens in it."
show podman run -d --name rdma-a "${softroce[@]}" --annotation rdma.ip=10.9.0.1/24 "${perf[@]}" "${image[@]}" \
    rdma-perf serve --bind 0.0.0.0
wait_for is_listening

say "Show what the container got."
show rdmactl list
echo "$ podman exec rdma-a cat /run/rdma/attach.json | jq ."
podman exec rdma-a cat /run/rdma/attach.json | readable

say "Start a second container. It checks every byte between the two, then measures."
show podman run --rm --name rdma-b "${softroce[@]}" --annotation rdma.ip=10.9.0.2/24 "${perf[@]}" "${image[@]}" \
    rdma-perf run 10.9.0.1 --time 200ms

say "Remove the first container: rdma-hook takes everything back."
show podman rm -f -t 0 rdma-a
wait_for is_as_before
show rdmactl list
show rdma link show
say "Nothing is left."
