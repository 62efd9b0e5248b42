#!/bin/bash
# The job of rdma-hook by hand: what a careful shell script does with ip and rdma. For tests/bench/attach.
#   attach.sh NETNS PARENT ADDRESS/PREFIX RDMA-NAME GID
# Without subshells and pipes, so that the comparison is with a good script.
set -eu
netns=$1 parent=$2 address=$3 name=$4 gid=$5

ip link add rdma0 netns "$netns" link "$parent" type macvlan mode bridge
ip -n "$netns" address add "$address" dev rdma0
ip -n "$netns" link set rdma0 up
ip netns exec "$netns" rdma link add "$name" type rxe netdev rdma0
found=
for ((i = 0; i < 500 && !${#found}; i++)); do
    for file in "/sys/class/infiniband/$name/ports/1/gids/"[0-7]; do
        read -r line <"$file" || continue
        [[ $line != "$gid" ]] || found=$file
    done
    ((${#found})) || sleep 0.01
done
((${#found}))
node=
for folder in /sys/class/infiniband_verbs/uverbs*; do
    read -r line <"$folder/ibdev"
    [[ $line != "$name" ]] || node=${folder##*/}
done
[[ -c /dev/infiniband/$node && -c /dev/infiniband/rdma_cm ]]

rdma link delete "$name"
ip -n "$netns" link delete rdma0
