#!/bin/bash
# The image of rdma-perf: made of what is installed, built without a network or loaded from an OCI archive, and run with an RDMA device
# of its own.
#   tests/lab/run --kernel 7.3 tests/lab/scenarios/image.sh
source "${BASH_SOURCE[0]%/*}/podman-lib.sh"
make=${BASH_SOURCE[0]%/tests/*}/packaging/image/make
modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1

perf() { timeout 200 podman run --rm --network none "${annotations[@]}" localhost/rdma-perf "$@"; }
annotations=()
check "its folder is made" "$make" "$work/image"
refused "it is not made over another" 'usage: ' "$make" "$work/image"
check "it is built without a network" podman build --network none --tag localhost/rdma-perf "$work/image"
equal "it runs" "$(rdma-perf --version)" "$(perf --version)"
check "without arguments it says what it can do" perf

check "it is an OCI archive without an engine, too" python3 -B "${make%/image/make}/oci.py" "$work/image" "$work/rdma-perf.oci.tar"
check "the built one goes" podman rmi -f localhost/rdma-perf
check "Podman loads the archive" podman load --input "$work/rdma-perf.oci.tar"
equal "its label has the version" "$(rdma-perf --version)" \
    "rdma-perf $(podman image inspect --format '{{index .Labels "org.opencontainers.image.version"}}' localhost/rdma-perf)"
equal "it runs as well" "$(rdma-perf --version)" "$(perf --version)"
world >"$work/before"
annotations=(--annotation rdma.mode=softroce --annotation rdma.ip=10.9.0.1/24)
check "its doctor finds nothing that keeps it from a device" perf doctor
check "it measures" perf loop --verb write --mode bw --size 64 --iterations 200
same_world "nothing is left of its containers" "$work/before"
check "the image goes" podman rmi -f localhost/rdma-perf
clean_kernel_log
finish
