#!/bin/bash
# The job of rdma-hook in mode asap2 by hand: what a careful shell script does with jq, devlink, ip, rdma and
# ovs-vsctl, called by an engine at the same stages. For tests/bench/attach.
#   attach-asap2.sh precreate NETNS RDMA-NAME GID STATE NETDEV ESWITCH PORT BRIDGE <config.json >config.json.new
#   attach-asap2.sh poststop STATE <state.json
# As attach.sh, without subshells and pipes but for jq. It waits for ovs-vswitchd, as ovs-vsctl does.
set -eu
# shellcheck source=declare.sh
source "${BASH_SOURCE[0]%/*}/declare.sh"

if [[ $1 == poststop ]]; then
    read -r id < <(jq -r .id)
    read -r netns name netdev representor bridge <"$2.$id"
    rdma link delete "$name"
    ip -n "$netns" link set rdma0 down
    ip -n "$netns" link set rdma0 name "$netdev" netns 1
    ovs-vsctl --no-wait del-port "$bridge" "$representor"
    ip link set "$representor" down
    rm "$2.$id"
    exit
fi

netns=$2 name=$3 gid=$4 netdev=$6 eswitch=$7 port=$8 bridge=$9
read -r -d '' config || true
read -r mode address < <(jq -r '.annotations | "\(.["rdma.mode"]) \(.["rdma.ip"])"' <<<"$config")
[[ $mode == asap2 ]]
read -r switch < <(devlink -j dev eswitch show "$eswitch" | jq -r '.dev[].mode')
[[ $switch == switchdev ]]
read -r representor < <(devlink -j port show | jq -r --arg e "$eswitch/" --argjson vf "${port##*vf}" \
    '.port | to_entries[] | select(.key | startswith($e)) | .value | select(.flavour == "pcivf" and .vfnum == $vf) | .netdev')
echo "$netns $name $netdev $representor $bridge" >"$5.bench"
ip link set "$representor" up
ovs-vsctl add-port "$bridge" "$representor" -- set Port "$representor" external_ids:owner=script external_ids:container=bench
[[ $(ovs-vsctl get Interface "$representor" error) == "[]" ]]
ip link set "$netdev" name rdma0 netns "$netns"
ip -n "$netns" address add "$address" dev rdma0
ip -n "$netns" link set rdma0 up
ip netns exec "$netns" rdma link add "$name" type rxe netdev rdma0
declare_device "$name" "$gid" "$config"
