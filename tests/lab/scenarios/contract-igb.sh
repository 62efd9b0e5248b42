#!/bin/bash
# The contract tests of VFs, with QEMU's igb: what the fakes say of it is what it does. The fakes are asked outside.
#   tests/lab/run [--kernel SERIES] --nics igb tests/lab/scenarios/contract-igb.sh [GoogleTest options]
# With --no-install --share BUILD/tests/contract those of a build folder.
set -u
if [[ ${LAB_NICS:-} != igb ]]; then
    echo "this guest has no igb: tests/lab/run --nics igb"
    exit 1
fi
modprobe -a igbvf macvlan veth || exit 1
# The namespace of the host is the guest's own: nobody else is here.
export CONTRACT_ON_HOST=1
program=/data/contract_test
[[ -x $program ]] || program=/usr/libexec/rdma-hook/tests/contract_test
"$program" --gtest_brief=1 --gtest_filter='VfsContract.*/Kernel*' "$@"
status=$?
# The next scenario of this guest finds the PFs as at boot.
for each in /sys/bus/pci/devices/*/sriov_numvfs; do echo 0 >"$each"; done
for each in enp1s0 enp2s0; do ip link set $each down; done
# A kernel that was hurt says so.
if dmesg | grep -E 'WARNING:|BUG:|Oops|unregister_netdevice: waiting|refcount'; then
    echo "the kernel complains"
    status=1
fi
exit $status
