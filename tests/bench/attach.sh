#!/bin/bash
# The job of rdma-hook by hand: what a careful shell script does with jq, ip and rdma, called by an
# engine at the same stages. For tests/bench/attach.
#   attach.sh precreate NETNS RDMA-NAME GID STATE <config.json >config.json.new
#   attach.sh poststop STATE <state.json
# Without subshells and pipes but for jq, so that the comparison is with a good script: one jq reads
# the annotations, one declares device node, cgroup rule, variables and memlock limit in config.json,
# one reads the container's id at the end. It checks little, locks nothing, remembers two words.
set -eu

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
found=
for ((i = 0; i < 500 && !${#found}; i++)); do
    for file in "/sys/class/infiniband/$name/ports/1/gids/"[0-7]; do
        read -r line <"$file" || continue
        [[ $line != "$gid" ]] || found=${file##*/}
    done
    ((${#found})) || sleep 0.01
done
((${#found}))
node=
for folder in /sys/class/infiniband_verbs/uverbs*; do
    read -r line <"$folder/ibdev"
    [[ $line != "$name" ]] || node=${folder##*/} number_of=$folder/dev
done
IFS=: read -r major minor <"$number_of"
[[ -c /dev/infiniband/$node && -c /dev/infiniband/rdma_cm ]]
jq -c --arg node "/dev/infiniband/$node" --arg name "$name" --arg gid "$gid" --arg index "$found" \
    --argjson major "$major" --argjson minor "$minor" '
    .linux.devices += [{path: $node, type: "c", major: $major, minor: $minor, fileMode: 438, uid: 0, gid: 0}]
    | .linux.resources.devices += [{allow: true, type: "c", major: $major, minor: $minor, access: "rw"}]
    | .process.env += ["RDMA_DEVICE=\($name)", "RDMA_NETDEV=rdma0", "RDMA_GID=\($gid)", "RDMA_GID_INDEX=\($index)"]
    | .process.rlimits = ((.process.rlimits // []) | map(select(.type != "RLIMIT_MEMLOCK"))
        + [{type: "RLIMIT_MEMLOCK", soft: -1, hard: -1}])' <<<"$config"
