# shellcheck shell=bash
# What both scripts of tests/bench/attach do once there is an rxe: wait for its GID, and declare device node,
# cgroup rule, variables and memlock limit in a config.json. Sourced.
declare_device() { # RDMA-NAME GID CONFIG.JSON'S-TEXT
    local name=$1 gid=$2 config=$3 found='' node='' number_of='' file folder line i major minor
    for ((i = 0; i < 500 && !${#found}; i++)); do
        for file in "/sys/class/infiniband/$name/ports/1/gids/"[0-7]; do
            read -r line <"$file" || continue
            [[ $line != "$gid" ]] || found=${file##*/}
        done
        ((${#found})) || sleep 0.01
    done
    ((${#found}))
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
}
