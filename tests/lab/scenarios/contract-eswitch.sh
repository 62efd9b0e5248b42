#!/bin/bash
# The contract tests of e-switches and tc offload, with the lab's netdevsim: what the fakes say of it is what it does. The fakes
# are asked outside.
#   tests/lab/run [--kernel SERIES] tests/lab/scenarios/contract-eswitch.sh [GoogleTest options]
# With --no-install --share BUILD/tests/contract those of a build folder.
set -u
modprobe -a netdevsim sch_ingress cls_flower cls_matchall act_gact act_police || exit 1
# The namespace of the host is the guest's own: nobody else is here.
export CONTRACT_ON_HOST=1
program=/data/contract_test
[[ -x $program ]] || program=/usr/libexec/rdma-hook/tests/contract_test
"$program" --gtest_brief=1 --gtest_filter='EswitchContract.*/Kernel*' "$@"
status=$?
# A kernel that was hurt says so.
if dmesg | grep -E 'WARNING:|BUG:|Oops|unregister_netdevice: waiting|refcount'; then
    echo "the kernel complains"
    status=1
fi
exit $status
