#!/bin/bash
# The contract tests with a kernel that has RDMA: what the fakes say of this kernel is what it does.
#   tests/lab/run --no-install [--kernel SERIES] [--exclusive] --share BUILD/tests/contract tests/lab/scenarios/contract.sh [GoogleTest options]
set -u
modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth || exit 1
# The namespace of the host is the guest's own: nobody else is here.
export CONTRACT_ON_HOST=1
/data/contract_test --gtest_brief=1 "$@"
status=$?
# A kernel that was hurt says so.
if dmesg | grep -E 'WARNING:|BUG:|Oops|unregister_netdevice: waiting|refcount'; then
    echo "the kernel complains"
    status=1
fi
exit $status
