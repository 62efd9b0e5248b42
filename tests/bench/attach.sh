#!/bin/bash
# The job of rdma-hook by hand: what a careful shell script does with jq, ip and rdma, called by an
# engine at the same stages. For tests/bench/attach.
#   attach.sh precreate NETNS RDMA-NAME GID STATE <config.json >config.json.new
#   attach.sh poststop STATE <state.json
# Without subshells and pipes but for jq, so that the comparison is with a good script: one jq reads
# the annotations, one declares device node, cgroup rule, variables and memlock limit in config.json,
# one reads the container's id at the end. It checks little, locks nothing, remembers two words.
set -eu
# shellcheck source=declare.sh
source "${BASH_SOURCE[0]%/*}/declare.sh"

if [[ $1 == poststop ]]; then
    read -r id < <(jq -r .id)
    read -r netns name <"$2.$id"
    rdma link delete "$name"
    ip -n "$netns" link delete rdma0
    rm "$2.$id"
    exit
fi

netns=$2 name=$3 gid=$4
read -r -d '' config || true
read -r mode address parent < <(jq -r '.annotations | "\(.["rdma.mode"]) \(.["rdma.ip"]) \(.["rdma.parent"])"' <<<"$config")
[[ $mode == softroce ]]
echo "$netns $name" >"$5.bench"
ip link add rdma0 netns "$netns" link "$parent" type macvlan mode bridge
ip -n "$netns" address add "$address" dev rdma0
ip -n "$netns" link set rdma0 up
ip netns exec "$netns" rdma link add "$name" type rxe netdev rdma0
declare_device "$name" "$gid" "$config"
