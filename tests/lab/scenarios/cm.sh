#!/bin/bash
# rdma_cm between two network namespaces, over Soft-RoCE and Soft-iWARP: the room perf/verbs/cm/ with librdmacm and this kernel.
#   tests/lab/run [--kernel SERIES] tests/lab/scenarios/cm.sh
# With --no-install --share BUILD/tests/contract those of a build folder.
set -u
. "$(dirname "$(readlink -f "$0")")/lib.sh"
program=/data/cm_contract_test
[[ -x $program ]] || program=/usr/libexec/rdma-hook/tests/cm_contract_test

make_side() { # NAME HOST TYPE: at 10.9.0.HOST and fd09::HOST
    add_netns "cm-$1"
    ip link add "mv-$1" link lab0 type macvlan mode bridge
    ip link set "mv-$1" netns "cm-$1" name rdma0
    ip -n "cm-$1" link set lo up
    ip -n "cm-$1" addr add "10.9.0.$2/24" dev rdma0
    ip -n "cm-$1" addr add "fd09::$2/64" dev rdma0 nodad
    ip -n "cm-$1" link set rdma0 up
    ip netns exec "cm-$1" rdma link add "$3$1" type "$3" netdev rdma0
}
drop_side() { # NAME TYPE: the device before its netdev
    rdma link delete "$2$1"
    ip netns delete "cm-$1"
}
has_gid() { grep -qi "$2" "/sys/class/infiniband/$1/ports/1/gids/"[0-9] 2>/dev/null; }

# run_tests TYPE NET [NAME=VALUE]... PROGRAM [OPTION]...: a line for each test of the program.
run_tests() {
    local type=$1 net=$2 status failures=$failed line lines
    shift 2
    env CM_SERVER="/run/netns/cm-a ${net}1 ${type}a" CM_CLIENT="/run/netns/cm-b ${net}2 ${type}b" "$@" >"$work/$type" 2>&1
    status=$?
    mapfile -t lines <"$work/$type"
    for line in "${lines[@]}"; do
        case $line in
        '[       OK ] '*) report 0 "$type: ${line#*] }" ;;
        '[  FAILED  ] '*' ms)') report 1 "$type: ${line#*] }" ;;
        '# '*) echo "$line" ;;
        esac
    done
    ((status == 0 || failed > failures)) || report 1 "$type: the test program ended with status $status"
    ((failed == failures)) || sed 's/^/# /' "$work/$type"
}

modprobe -a ib_uverbs rdma_ucm macvlan || exit 1
for type in rxe siw; do
    module=$type
    [[ $type == siw ]] || module=rdma_$type
    if ! modprobe "$module"; then
        echo "skipped: this kernel has no $module"
        continue
    fi
    make_side a 1 $type
    make_side b 2 $type
    if [[ $type == rxe ]] && ! ip netns exec cm-a grep -q ':12B7 ' /proc/net/udp; then
        echo "skipped: rxe of this kernel does not work in a network namespace"
        drop_side a $type
        drop_side b $type
        continue
    fi
    if [[ $type == rxe ]]; then
        for gid in a/0a09:0001 a/fd09.*:0001 b/0a09:0002 b/fd09.*:0002; do
            check "rxe: device and GID $gid" wait_for 20 has_gid "rxe${gid%/*}" "${gid#*/}"
        done
    fi
    run_tests $type 10.9.0. "$program"
    run_tests $type fd09:: "$program" --gtest_filter='*Messages*:*Strangers*:*AnAddress*'
    for side in a b; do
        ip netns exec "cm-$side" nft 'add table inet quiet; add chain inet quiet in { type filter hook input priority 0; };
            add rule inet quiet in udp dport 4791 drop; add rule inet quiet in meta l4proto tcp drop'
    done
    run_tests $type 10.9.0. CM_SILENT=1 "$program"
    drop_side a $type
    drop_side b $type
    gone() { ! rdma link show | grep -q "${type}[ab]/"; }
    check "$type: nothing keeps its devices" wait_for 20 gone
done
clean_kernel_log
finish
