#!/usr/bin/env bash
# Two containers, each with a VF that Open vSwitch steers, in one VLAN; measured, and shown where their packets go.
# Runs as root where rdma-hook, Podman, Open vSwitch and jq are installed, after `rdmactl asap2 enable`.
#
# RDMA_PF      the PF whose VFs are taken, by netdev, RDMA device or PCI address, and the bridge that its uplink is on;
# RDMA_BRIDGE  or neither, and pools of mode asap2 for the two containers in RDMA_POOL and RDMA_POOL2
# RDMA_IMAGE   an image with libibverbs and its providers; not needed in the lab
set -euo pipefail

asap2=(--annotation rdma.mode=asap2 --annotation rdma.vlan=7)
if [[ -n ${RDMA_POOL:-} ]]; then
    first=(--annotation "rdma.pool=$RDMA_POOL") second=(--annotation "rdma.pool=${RDMA_POOL2:-$RDMA_POOL}")
else
    first=(--annotation "rdma.device=${RDMA_PF:?set RDMA_PF to a PF in switchdev}"
        --annotation "rdma.bridge=${RDMA_BRIDGE:?set RDMA_BRIDGE to the bridge of its uplink}")
    second=("${first[@]}")
fi
perf=(-v /usr/bin/rdma-perf:/usr/bin/rdma-perf:ro)
if [[ -n ${LAB_KERNEL:-} ]]; then
    image=(--rootfs /usr/lib/lab/rootfs:O)
else
    image=("${RDMA_IMAGE:?set RDMA_IMAGE to an image with libibverbs and its providers}")
fi

say() { printf '\n# %s\n' "$*"; }
show() { printf '$ %s\n' "$*" && "$@"; }
is_listening() { nsenter -t "$(podman inspect -f '{{.State.Pid}}' rdma-a)" -n ss -Hltn 'sport = :18600' | grep -q .; }
wait_for() { # COMMAND...: for at most 30 seconds
    local end=$((SECONDS + 30))
    until "$@"; do
        ((SECONDS < end)) || { echo "gave up after 30 s waiting for: $*" >&2; return 1; }
        read -rt 0.2 <> <(:) || true
    done
}
clean_up() { podman rm -f -t 0 rdma-a rdma-b >/dev/null 2>&1 || true; }
trap clean_up EXIT
clean_up

say "Show what the host has for offload, and what is missing."
show rdmactl asap2 status

say "Start a server, and a client on the same VLAN."
podman run -d --name rdma-a "${asap2[@]}" "${first[@]}" --annotation rdma.ip=10.9.0.1/24 "${perf[@]}" "${image[@]}" \
    rdma-perf serve --bind 0.0.0.0 >/dev/null
wait_for is_listening
podman run --rm --name rdma-b "${asap2[@]}" "${second[@]}" --annotation rdma.ip=10.9.0.2/24 "${perf[@]}" "${image[@]}" \
    rdma-perf run 10.9.0.1 --verb write --mode bw --time 1s --size 4096

say "Show where the server's packets went: through hardware, or through software."
rdmactl show "$(podman inspect -f '{{.Id}}' rdma-a)" --json | jq '.offload'

clean_up
say "Both containers have ended: the bridge has no port of them."
ovs-vsctl --format=table --columns=name,tag,external_ids find Port external_ids:owner=rdma-hook
