#!/bin/bash
# The contract tests with a kernel that has RDMA: what the fakes say of this kernel is what it does.
#   tests/lab/run [--kernel SERIES] [--exclusive] tests/lab/scenarios/contract.sh [--brief] [GoogleTest options]
# The fakes themselves are asked outside (`tests/run --rung contract`). --brief: the rooms that the machine's own kernel does not answer
# there, for it has no RDMA, no cgroup v2, no Open vSwitch and not each kind of link; with --exclusive those that this mode changes.
# With --no-install --share BUILD/tests/contract those of a build folder.
set -u
rooms=
if [[ ${1:-} == --brief ]]; then
    shift
    rooms='*Rdma*:*Hca*:*Statistics*:*Cgroups*:*Classes*:'
    ((LAB_EXCLUSIVE)) || rooms+='*GidEvents*:*Ovs*:*Children*:*Since6_15*:'
fi
modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth || exit 1
# The namespace of the host is the guest's own: nobody else is here.
export CONTRACT_ON_HOST=1
program=/data/contract_test
[[ -x $program ]] || program=/usr/libexec/rdma-hook/tests/contract_test
"$program" --gtest_brief=1 "--gtest_filter=$rooms-*/Fake*" "$@"
status=$?
# A kernel that was hurt says so.
if dmesg | grep -E 'WARNING:|BUG:|Oops|unregister_netdevice: waiting|refcount'; then
    echo "the kernel complains"
    status=1
fi
exit $status
