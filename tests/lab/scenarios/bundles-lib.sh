# shellcheck shell=bash
# Containers without an engine: bare bundles of $runtime, which are a tenth of Podman's price. Sourced.
#   prepared   `rdma-hook precreate` reads and replaces config.json before $runtime does, as Podman has it done; with an id of
#              Podman's length, in a folder such as Podman's, from which precreate knows the id
#   bundle     config.json has the plain hooks
# OPTION is a jq filter over config.json.
source "${BASH_SOURCE[0]%/*}/lib.sh"
engine=prepared
runtime=crun
bundles=/run/lab-bundles
template=/run/lab-bundle.json

plain_hook() { printf '"%s":[{"path":"/usr/bin/rdma-hook","args":["rdma-hook","%s"],"timeout":60}]' "$1" "$1"; }
plain_hooks="{$(plain_hook createRuntime),$(plain_hook poststop)}"
hooks=$plain_hooks config=config.json

# Options, for scenarios.
# shellcheck disable=SC2034
net_admin='.process.capabilities |= map_values(. + ["CAP_NET_ADMIN"])'
in_netns() { echo "(.linux.namespaces[] | select(.type == \"network\")).path = \"$1\""; } # PATH

# One line for all bundles, with what Podman grants; words in capitals are each bundle's own.
make_template() {
    local dir
    dir=$(mktemp -d) && (cd "$dir" && crun spec) && jq -c '
        .annotations = "ANNOTATIONS" | .process.args = "ARGS" | .hooks = "HOOKS" | .linux.cgroupsPath = "/lab-NAME"
        | .process.terminal = false | .process.noNewPrivileges = false | .process.rlimits = [] | .root.readonly = false
        | .process.capabilities = (["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "NET_BIND_SERVICE", "SETFCAP", "SETGID",
            "SETPCAP", "SETUID", "SYS_CHROOT"] | map("CAP_" + .) | {bounding: ., effective: ., permitted: .})
        | .linux.sysctl["net.ipv4.ping_group_range"] = "0 0"
        | .mounts += [{destination: "/run", type: "tmpfs", source: "tmpfs", options: ["nosuid", "mode=755"]},
                      {destination: "/usr/bin/rdma-perf", type: "bind", source: "/usr/bin/rdma-perf", options: ["bind", "ro"]}]
        ' "$dir/config.json" >"$dir/new" && mv "$dir/new" $template && rm -r "$dir"
}
quoted() { # TEXT: as JSON, in `json`
    json=${1//\\/\\\\}
    json=${json//\"/\\\"}
    json="\"${json//$'\n'/\\n}\""
}
folder() { # NAME|ID: into `dir`
    dir=$bundles/$1
    ((${#1} < 64)) || dir=$bundles/overlay-containers/$1/userdata
}
# bundle NAME KEY=VALUE... [-- JQ]: with a root file system of its own; no process but for the first of a NAME, and for JQ.
bundle() {
    local dir annotations='' args='' each json text
    folder "$1"
    [[ -e $template ]] || make_template || return
    [[ -d $dir/rootfs/usr ]] || {
        mkdir -p "$dir/rootfs" "$dir/upper" "$dir/work"
        busybox mount -t overlay overlay -o "lowerdir=/usr/lib/lab/rootfs,upperdir=$dir/upper,workdir=$dir/work" "$dir/rootfs"
    } || return
    split "$@"
    for each in "${keys[@]}"; do
        quoted "rdma.${each%%=*}"
        annotations+=",$json"
        quoted "${each#*=}"
        annotations+=":$json"
    done
    for each in "${command[@]}"; do
        quoted "$each"
        args+=",$json"
    done
    read -r text <$template
    text=${text/'"ANNOTATIONS"'/"{${annotations#,}}"}
    text=${text/'"ARGS"'/"[${args#,}]"}
    text=${text/'"HOOKS"'/"$hooks"}
    text=${text/NAME/"$1"}
    if ((${#options[@]})); then jq "${options[0]}" <<<"$text"; else echo "$text"; fi >"$dir/$config"
    echo "$runtime $1" >"$dir/runtime"
}
# begin NAME: of its bundle. The container inherits its output: a file, so that nobody waits for its end.
begin() {
    local status dir
    folder "$1"
    (cd "$dir" && "$runtime" run -d --pid-file pid "$1" </dev/null >"$work/log-$1" 2>&1)
    status=$?
    echo "$(<"$work/log-$1")"
    return $status
}
bundle_start() { bundle "$@" && begin "$1"; }
bundle_inside() { "$runtime" exec "$@"; }
bundle_init() {
    local pid dir
    folder "$1"
    pid=$(<"$dir/pid") && [[ -n $pid && -d /proc/$pid ]] && echo "$pid"
} 2>/dev/null
bundle_kill() { "$runtime" kill "$1" KILL; }
bundle_remove() {
    local each dir
    for each; do
        folder "$each"
        "$runtime" delete -f "$each"
        [[ ! -e $dir ]] || : >"$dir/pid"
    done
}
drop_bundles() {
    local each runtime id
    for each in "$bundles"/{*,overlay-containers/*/userdata}/runtime; do
        [[ -e $each ]] || continue
        read -r runtime id <"$each"
        "$runtime" delete -f "$id" 2>/dev/null
        umount -l "${each%/*}/rootfs" 2>/dev/null
    done
    rm -rf "$bundles"
}

prepared_id() { # NAME
    local i id=
    for ((i = 0; i < ${#1}; i++)); do printf -v id '%s%02x' "$id" "'${1:i:1}"; done
    printf '%s%0*d\n' "$id" $((64 - ${#id})) 0
}
# From precreate to the runtime's end one process is the container's, as Podman's is.
prepared_start() {
    local hooks='{}' config=asked.json status dir id
    id=$(prepared_id "$1")
    bundle "$id" "${@:2}" || return
    folder "$id"
    : >"$work/log-$1"
    (
        cd "$dir" || exit
        exec >>"$work/log-$1" 2>&1
        rdma-hook precreate <asked.json >config.json && "$runtime" run -d --pid-file pid "$id" </dev/null
    )
    status=$?
    echo "$(<"$work/log-$1")"
    return $status
}
prepared_inside() { bundle_inside "$(prepared_id "$1")" "${@:2}"; }
prepared_init() { bundle_init "$(prepared_id "$1")"; }
prepared_kill() { bundle_kill "$(prepared_id "$1")"; }
prepared_remove() { # as Podman: what the container ran has ended when the runtime deletes it
    local each id init
    for each; do
        id=$(prepared_id "$each")
        ! init=$(bundle_init "$id") || { kill -9 "$init" && wait_for 30 is_gone "$init"; }
        bundle_remove "$id"
    done
}
