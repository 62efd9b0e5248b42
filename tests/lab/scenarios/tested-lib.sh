# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # engines and modes are the scenario's
# The table of engines and modes that a scenario has tried, which docs/tested reads. Sourced.
#   result MODE ENGINE FAILED   a cell: `pass`, if no check has failed since $failed was FAILED
#   table                       of ${engines[@]} and ${modes[@]}, in Markdown
declare -A cell=()
result() {
    cell[$1,$2]=pass
    ((failed == $3)) || cell[$1,$2]="FAIL ($((failed - $3)))"
}

# Versions as people call them: 28.5.2 of 28.5.2+dfsg4-5.
declare -A version=()
while read -r package number; do
    number=${number#*:}
    version[$package]=${number%%[-+~]*}
done < <(dpkg-query -W -f '${Package} ${Version}\n' docker.io containerd podman runc crun libc6 rdma-core openvswitch-switch 2>/dev/null)
runc="runc ${version[runc]:-}"
crun="crun ${version[crun]:-}"
docker="Docker ${version[docker.io]:-}, containerd ${version[containerd]:-}, $runc"
podman="Podman ${version[podman]:-}"
declare -A TITLES=(
    [docker]=$docker
    [docker28]="the order of Docker 28, $runc"
    [podman]="$podman, $crun"
    [podman_hooks]="$podman, plain hooks, $crun"
    [runc]="plain hooks, $runc"
    [crun]="plain hooks, $crun"
    [containerd]="containerd ${version[containerd]:-}, $runc"
    [rootless]="rootless $podman, $crun"
    [rootless_hca]="CDI \`hca=NAME\`: rootless $podman, $crun"
    [podman_hca]="CDI \`hca=NAME\`: $podman, $crun"
    [docker_hca]="CDI \`hca=NAME\`: $docker"
    [podman_pool]="CDI \`pool=NAME\`: $podman, $crun"
    [docker_pool]="CDI \`pool=NAME\`: $docker"
    [attach_docker]="\`rdmactl attach\`: $docker"
    [attach_podman]="\`rdmactl attach\`: $podman, $crun"
    [attach_crun]="\`rdmactl attach\`: bare $crun"
)
table() {
    local engine mode line
    echo "# tested on Linux $(uname -r | cut -d+ -f1), glibc ${version[libc6]}, rdma-core ${version[rdma-core]}, Open vSwitch ${version[openvswitch-switch]:-}"
    printf -v line '| %s ' engine "${modes[@]}"
    printf '# %s|\n# |%s\n' "$line" "$(printf -- '---|%.0s' engine "${modes[@]}")"
    for engine in "${engines[@]}"; do
        printf -v line '| %s ' "${TITLES[$engine]}"
        for mode in "${modes[@]}"; do line+="| ${cell[$mode,$engine]:-} "; done
        echo "# $line|"
    done
}
