#!/bin/bash
# Open MPI over UCX, Debian's, in two containers: examples/openmpi.
#   tests/lab/run --kernel 7.3 --debs openmpi-bin,libopenmpi-dev tests/lab/scenarios/openmpi.sh
source "${BASH_SOURCE[0]%/*}/podman-lib.sh"
examples=${BASH_SOURCE[0]%/tests/*}/examples
[[ -d /lab/debs ]] || { echo "openmpi.sh: use --debs: see its head" >&2; exit 64; }
modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1

install_mpi() {
    dpkg -i /lab/debs/*.deb && OMPI_CC=gcc-14 mpicc -O2 -Wall -Werror -o /usr/local/bin/rdma-exchange "$examples/openmpi/exchange.c"
}
run_example() { timeout 400 "$examples/openmpi/run" >"$work/said" 2>&1; }

check "Open MPI's packages, and the program" install_mpi
podman run --rm --rootfs $rootfs true
world >"$work/before"
run_example
report $? "examples/openmpi/run" "$work/said"
equal "messages of five sizes were verified" 5 "$(grep -c ' 100 messages verified' "$work/said")"
# A megabyte goes in 256 packets of the greatest RoCE MTU there is (4096); 50 of them each way.
packets=$(sed -n 's/^packets that .*: //p' "$work/said")
check "and went by RDMA: ${packets:-no} packets" test "${packets:-0}" -ge $((50 * 256))
sed 's/^/# /' "$work/said"
same_world "nothing is left of it" "$work/before"
clean_kernel_log
finish
