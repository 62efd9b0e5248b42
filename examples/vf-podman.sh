#!/usr/bin/env bash
# Two containers, each with an SR-IOV virtual function of its own in one VLAN; verified, measured, and given back.
# Runs as root where rdma-hook and Podman are installed and VFs are there, down and without addresses.
#
# RDMA_PF      the PF whose VFs are taken, by netdev, RDMA device or PCI address
# RDMA_PF2     the PF of the second container (default: the same one)
# RDMA_IMAGE   an image with libibverbs and its providers; not needed in the lab
set -euo pipefail

pf=${RDMA_PF:?set RDMA_PF to a PF with VFs, for example enp1s0}
vf=(--annotation rdma.mode=vf --annotation rdma.vlan=7)
first=("${vf[@]}" --annotation "rdma.device=$pf" --annotation rdma.ip=10.9.0.1/24)
second=("${vf[@]}" --annotation "rdma.device=${RDMA_PF2:-$pf}" --annotation rdma.ip=10.9.0.2/24)
perf=(-v /usr/bin/rdma-perf:/usr/bin/rdma-perf:ro)
if [[ -n ${LAB_KERNEL:-} ]]; then
    image=(--rootfs /usr/lib/lab/rootfs:O)
else
    image=("${RDMA_IMAGE:?set RDMA_IMAGE to an image with libibverbs and its providers}")
fi

say() { printf '\n# %s\n' "$*"; }
show() { printf '$ %s\n' "$*" && "$@"; }
# The VFs as the PF and the host have them.
vfs() { ip -d link show dev "$pf" | grep -E '^ +vf ' || true; }
wait_for() { # COMMAND...: for at most 30 seconds
    local end=$((SECONDS + 30))
    until "$@"; do
        ((SECONDS < end)) || { echo "gave up after 30 s waiting for: $*" >&2; return 1; }
        read -rt 0.2 <> <(:) || true
    done
}
is_listening() { nsenter -t "$(podman inspect -f '{{.State.Pid}}' rdma-a)" -n ss -Hltn 'sport = :18600' | grep -q .; }
is_as_before() { [[ $(vfs) == "$before" ]]; }

clean_up() { podman rm -f -t 0 rdma-a rdma-b >/dev/null 2>&1 || true; }
trap clean_up EXIT
clean_up
before=$(vfs)

say "Show what the annotations would do, and change nothing."
show rdmactl plan "${first[@]}"

say "Start a container with a VF of its own. A server listens in it."
show podman run -d --name rdma-a "${first[@]}" "${perf[@]}" "${image[@]}" rdma-perf serve --bind 0.0.0.0
wait_for is_listening

say "Show what the container got, and how the PF reports it."
show rdmactl list
show podman exec rdma-a cat /run/rdma/attach.json
echo
vfs

say "Start a second container. It checks every byte between the two, then measures."
show podman run --rm --name rdma-b "${second[@]}" "${perf[@]}" "${image[@]}" rdma-perf run 10.9.0.1 --time 200ms

say "Remove the first container: rdma-hook gives the VF back as it was."
show podman rm -f -t 0 rdma-a
wait_for is_as_before
show rdmactl list
say "Nothing is left."
