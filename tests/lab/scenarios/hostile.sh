#!/bin/bash
# Hostile images: what their environment, programs, links and processes can do to the host when a container of theirs has
# RDMA, by Podman's precreate (crun), by plain hooks (crun) and by Docker's shim (runc). Each container starts attached or is
# refused with a line that says why; the host's files, mounts and processes are as before, while it runs and afterwards.
#   tests/lab/run --kernel 7.3 --timeout 900 tests/lab/scenarios/hostile.sh [--full|--brief] [WAY...]
# WAYs: podman, plain, docker; all of them unless given. --full: each kind of link under Docker, too, and plain hooks by runc. --brief:
# two kinds of links; tests/contract/placements_test.cc has each of them. Checks that begin with a CVE test the rule that it teaches; SECURITY.md has the
# table. Links below a container's own /dev, and a race for them, are in plain-hooks.sh and tests/contract/placements_test.cc.
source "${BASH_SOURCE[0]%/*}/podman-lib.sh"
full=0 brief=0 runtime=crun # of plain hooks
case ${1:-} in
--full) full=1 runtime=runc; shift ;;
--brief) brief=1; shift ;;
esac
(($#)) || set -- podman plain docker
image=/usr/lib/lab/rootfs
home=/hostile # the host's; no container has such a folder
modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1
mkdir -p $home/marks $home/etc

# ---- what the image has ------------------------------------------------------------------------------------
# It lies at the same place on the host, too: whoever looks it up there by the image's PATH or LD_PRELOAD, finds it.
evil=/evil
mkdir -p $evil/bin $evil/set
gcc-14 -shared -fPIC -x c -o $evil/evil.so - <<'C' || exit 1
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void loaded(void) {
    char path[256];
    int length = readlink("/proc/self/exe", path, sizeof path - 1);
    int fd = open("/hostile/marks/library", O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0 || length < 0)
        return;
    path[length] = 10;
    if (write(fd, path, length + 1) < 0)
        _exit(1);
}
unsigned la_version(unsigned version) { return version; } // for LD_AUDIT
C
for each in ip rdma devlink sh bash ldconfig modprobe jq runc crun; do
    printf '#!/usr/bin/env -S -i /usr/bin/bash\necho "%s $0 $*" >>%s/marks/program\n' $each $home >$evil/bin/$each
done
cp /usr/bin/{rdma-hook,rdma-runtime,rdmactl} $evil/set
cp /usr/bin/id $evil/set/root
chmod 755 $evil/bin/*
chmod 4755 $evil/set/*
printf '#!/proc/self/exe\n' >$evil/self
chmod 755 $evil/self
big() { printf '%*s' 60000 '' | tr ' ' "$1"; } # engines take an image's variable of 64 KiB
hostile_environment=("LD_PRELOAD=./evil/evil.so:$evil/evil.so" "LD_LIBRARY_PATH=$evil:." "LD_AUDIT=$evil/evil.so"
    "PATH=$evil/bin:/usr/bin:/usr/sbin:/bin" "BASH_ENV=$evil/bin/sh" "ENV=$evil/bin/sh" "GLIBC_TUNABLES=glibc.malloc.check=3"
    "RDMA_MODE=vf" "RDMA_DEVICE=../../etc" "RDMA_GID_INDEX=-1" "RDMA_HOOK_STATE=/etc" "RDMA_CONFIG=$evil/config.json"
    "XDG_RUNTIME_DIR=/etc" "TMPDIR=/etc" "LISTEN_PID=1" "LISTEN_FDS=9"
    "BIG1=$(big a)" "BIG2=$(big b)" "BIG3=$(big c)" "BIG4=$(big d)" "BIG5=$(big e)" "BIG6=$(big f)" "BIG7=$(big g)")

mark() { cat $home/marks/* 2>/dev/null; }
control() { # the traps work
    env "LD_PRELOAD=$evil/evil.so" true
    env -i "PATH=$evil/bin" ip
    mark >"$work/out"
    rm -f $home/marks/*
    grep -q /true "$work/out" && grep -q '^ip ' "$work/out"
}
check "the image's library and programs leave marks on the host if they are run there" control

# ---- what the host is like ---------------------------------------------------------------------------------
# Files by inode, mode and times of change; programs that run; mounts but for those of engines' containers and of ours.
host() {
    find /etc /root /usr/bin /usr/sbin /usr/libexec $evil $home/etc -xdev -printf 'file %p %i %M %U:%G %s %C@ %l\n' | sort
    find /dev -xdev ! -path '/dev/infiniband*' ! -path '/dev/char/*' ! -path '/dev/dma_heap*' -printf 'node %p %M %U:%G\n' | sort
    awk '{ print "mount", $5, $9 }' /proc/self/mountinfo |
        grep -vE '^mount /(var/lib/(docker|containers)|run/(docker|containerd|containers|netns|rdma-hook)|var/lib/containerd|hostile)/' | sort
}
programs() { # of the host: in its pid namespace, and no part of this script
    find /proc/[0-9]*/exe /proc/[0-9]*/ns/pid -maxdepth 0 -printf '%p %l\n' 2>/dev/null | awk -v own="$own_pids" '
        { split($1, part, "/"); sub(/^[^ ]* /, "") }
        part[4] == "exe" { program[part[3]] = $0 }
        $0 == own { here[part[3]] = 1 }
        END { for (pid in program) if (pid in here && program[pid] != "") print "program", program[pid] }' |
        grep -vE ' /usr/(local/)?s?bin/(bash|readlink|sort|grep|find|awk|mawk|conmon|containerd-shim-runc-v2|lab-relay|udevadm)| .*/systemd-udevd' | sort
}
own_pids=$(readlink /proc/self/ns/pid)
unchanged() { # WHAT: the host is as it was, and no trap has sprung
    { host; mark; } | diff "$work/host" - >"$work/out"
    report $? "$1" "$work/out"
}
ended() { # WHAT
    unchanged "$1: the host's files and mounts are as before"
    same_world "$1: nothing of rdma-hook is left" "$work/before"
    is_same_programs() { [[ "$(programs)" == "$(<"$work/programs")" ]]; }
    wait_for 30 is_same_programs
    report $? "$1: no program is left" <(programs | diff "$work/programs" -)
}
# It starts attached, or it is refused with a line that is meant to be read.
attached_or_refused() { # WHAT NAME COMMAND...
    local what=$1 name=$2
    shift 2
    if "$@" >"$work/out" 2>&1; then
        inside "$name" cat /run/rdma/attach.json >"$work/said" 2>&1 && grep -q '"attached":true' "$work/said"
        report $? "$what: it is attached" "$work/said"
    else
        tail -n 1 "$work/out" | cut -c1-200 | sed 's/^/# /'
        grep -qE '[a-z]+ [a-z]+' "$work/out"
        report $? "$what: it is refused, with the reason" "$work/out"
    fi
}

# ---- the three ways ----------------------------------------------------------------------------------------
asked=(--annotation rdma.mode=softroce --annotation rdma.ip=10.9.0.1/24)
way= # podman, plain or docker
# begin NAME [OPTION...]: a container of the hostile image, that waits.
begin() {
    local name=$1
    shift
    case $way in
    podman) podman --runtime crun run -d --name "$name" "${asked[@]}" -v $image/usr:/usr:ro "$@" hostile sleep 100000 ;;
    docker) docker run -d --runtime rdma --name "$name" "${asked[@]}" -v $image/usr:/usr:ro "$@" hostile sleep 100000 ;;
    plain) begin_plain "$name" "${1:-.}" ;;
    esac
}
inside() {
    local name=$1
    shift
    case $way in
    podman | docker) $way exec "$name" "$@" ;;
    plain) "$runtime" exec --env PATH=/usr/bin --env LD_PRELOAD= "$name" "$@" ;;
    esac
}
end() {
    case $way in
    podman) drop "$@" ;;
    docker) docker rm -f "$@" ;;
    plain)
        for each; do
            "$runtime" delete -f "$each"
            umount -l "$home/$each/rootfs"
            rm -rf "${home:?}/$each"
        done
        ;;
    esac >/dev/null 2>&1
    rdmactl gc >/dev/null # of a failed create nobody is told
}
init_of() {
    case $way in
    podman | docker) $way inspect -f '{{.State.Pid}}' "$1" ;;
    plain) echo "$(<"$home/$1/pid")" ;;
    esac
}
# A bundle on a writable copy of the root file system. JQ changes its config.json; `links` changes its root file system.
links=()
bundle() { # NAME JQ
    local dir=$home/$1 each
    mkdir -p "$dir"/{rootfs,upper,work}
    mount -t overlay overlay -o "lowerdir=$image,upperdir=$dir/upper,workdir=$dir/work" "$dir/rootfs"
    cp -a $evil "$dir/rootfs$evil"
    for each in "${links[@]}"; do # PLACE=TARGET
        rm -rf "$dir/rootfs${each%%=*}"
        mkdir -p "$(dirname "$dir/rootfs${each%%=*}")"
        ln -s "${each#*=}" "$dir/rootfs${each%%=*}"
    done
    local hook='["/usr/bin/rdma-hook", "createRuntime"]'
    [[ $1 != one ]] || hook='["/usr/bin/strace", "-f", "-o", "'$home'/trace", "-e", "trace=execve,execveat", "/usr/bin/rdma-hook", "createRuntime"]'
    printf '%s\0' "${hostile_environment[@]}" >"$dir/environment"
    (cd "$dir" && "$runtime" spec)
    jq --rawfile environment "$dir/environment" --argjson hook "$hook" '
        .process.capabilities |= map_values(. + ["CAP_MKNOD", "CAP_SETUID", "CAP_SETGID"]) | .process.noNewPrivileges = false
        | .annotations = {"rdma.mode": "softroce", "rdma.ip": "10.9.0.1/24"} | .process.terminal = false
        | .process.args = ["/usr/bin/sleep", "100000"] | .process.rlimits = [] | .root.readonly = false
        | .process.env = ($environment | split("\u0000") | map(select(. != "")))
        | .mounts += [{destination: "/run", type: "tmpfs", source: "tmpfs", options: ["nosuid", "mode=755"]}]
        | .hooks.createRuntime = [{path: $hook[0], timeout: 60, args: $hook}]
        | .hooks.poststop = [{path: "/usr/bin/rdma-hook", args: ["rdma-hook", "poststop"], timeout: 60}]
        | '"$2" "$dir/config.json" >"$dir/new" && mv "$dir/new" "$dir/config.json"
}
begin_plain() { # NAME JQ
    local status
    bundle "$1" "$2"
    (cd "$home/$1" && "$runtime" run -d --pid-file pid "$1" </dev/null >"$work/log" 2>&1)
    status=$?
    cat "$work/log"
    # The runtime tells of a hook that failed; why, the hook has told the log.
    ((!status)) || rdmactl list --failed --json | jq -r '[.failures | sort_by(.time)[].error] | last // empty'
    return $status
}

# The hostile image for engines: without /usr, which is mounted (docs/dev/lab.md).
make_image() { # TAG [PLACE=TARGET...]
    local tree=$work/tree each changes=()
    mkdir -p "$tree"
    tar -C "$tree" -xf ${image%/*}/image.tar
    cp -a $evil "$tree$evil"
    for each in "${@:2}"; do
        rm -rf "$tree${each%%=*}"
        mkdir -p "$(dirname "$tree${each%%=*}")"
        ln -s "${each#*=}" "$tree${each%%=*}"
    done
    for each in "${hostile_environment[@]}"; do changes+=(--change "ENV $each"); done
    tar -C "$tree" -cf "$work/image.tar" .
    rm -rf "$tree"
    $way import "${changes[@]}" "$work/image.tar" "$1"
}

# ---- what is done in each way ------------------------------------------------------------------------------
environment() {
    local options=(--cap-add MKNOD)
    [[ $way != plain ]] || options=()
    check "$way: with the hostile environment it starts" begin one "${options[@]}"
    inside one cat /proc/1/environ 2>"$work/out" | tr '\0' '\n' >"$work/environ"
    check "$way: which is the container's own" grep -q '^LD_PRELOAD=./evil' "$work/environ"
    check "$way: all 400 KiB of it" test "$(wc -c <"$work/environ")" -gt 400000
    check "$way: it is attached" inside one grep -q '"attached":true' /run/rdma/attach.json
    unchanged "CVE-2025-23266: $way: nothing of its environment reaches the host"
}
descriptors() {
    equal "CVE-2024-21626: $way: the container has no descriptor of the host's" "" \
        "$(find "/proc/$(init_of one)/fd" -lname '/*' ! -lname /dev/null ! -lname "$work/log" -printf '%f %l\n' 2>&1)"
    equal "CVE-2024-21626: $way: nor is it in a folder of the host's" / "$(readlink "/proc/$(init_of one)/cwd")"
}
devices() {
    local node rule
    node=$(inside one ls /dev/infiniband | grep uverbs)
    equal "CVE-2021-1056: $way: one verbs node, a device of root's" "character special file 0" \
        "$(inside one stat -c '%F %u' "/dev/infiniband/$node")"
    rdma link add rxe_host type rxe netdev lab0
    rule=$(cat "$(dirname "$(grep -lx rxe_host /sys/class/infiniband_verbs/uverbs*/ibdev)")/dev")
    # The container may make nodes, as engines let it; what decides is who may open them.
    refused "CVE-2024-0136: $way: it does not open the host's own RDMA device" 'not permitted' \
        inside one /usr/bin/bash -c "mknod /dev/theirs c ${rule/:/ } && exec 3<>/dev/theirs"
    refused "CVE-2024-0136: $way: nor its memory" 'not permitted' inside one /usr/bin/bash -c 'mknod /dev/memory c 1 1 && exec 3<>/dev/memory'
    rdma link delete rxe_host
}
setuid() {
    # By nobody, so that the bit is what makes them root; of the container's, which has no way out.
    inside one setpriv --reuid 65534 --clear-groups /evil/set/root -u >"$work/out" 2>&1
    equal "$way: its program with the setuid bit is root inside" 0 "$(tail -n 1 "$work/out")"
    local program
    for program in "rdma-hook poststop --state /etc --container x --attach y" "rdma-hook createRuntime" "rdmactl gc" \
        "rdma-runtime run --bundle /evil x" "rdma-runtime state x"; do
        # shellcheck disable=SC2086 # words
        inside one setpriv --reuid 65534 --clear-groups /evil/set/$program >"$work/out" 2>&1
        sed "s|^|# $program: |" "$work/out" | head -n 1 | cut -c1-160
    done
    unchanged "CVE-2024-0135: $way: copies of our programs with the setuid bit change nothing outside"
    check "$way: nor take its device" inside one /usr/bin/bash -c 'ibv_devices | grep -q rxe'
}
# What stands in for the attack: a process that tries to write to the program of whatever comes into its sight.
overwrite() {
    # shellcheck disable=SC2016 # the container's
    inside one /usr/bin/bash -c 'while :; do for p in /proc/[0-9]*; do e=$(readlink $p/exe); case $e in
        /usr/bin/bash | /usr/bin/sleep | /usr/bin/readlink | "") ;; *) echo "$e" >>/tmp/seen; echo x 2>/dev/null >>$p/exe ;; esac
        done; : >/tmp/round; done' >/dev/null 2>&1 &
    local attacker=$!
    wait_for 30 inside one test -e /tmp/round
    rdmactl show "$(rdmactl list --json | jq -r '.containers[0].id')" >/dev/null
    rdmactl gc --regrant >/dev/null
    inside one rm /tmp/round
    wait_for 30 inside one test -e /tmp/round
    equal "CVE-2019-5736: $way: no program of rdma-hook is ever in its sight" "" "$(inside one cat /tmp/seen 2>/dev/null | grep rdma)"
    unchanged "CVE-2019-5736: $way: no program of the host is written"
    end one
    wait "$attacker" 2>/dev/null
    ended "$way: after it"
}

links_to() { # CVEs WHAT PLACE=TARGET...
    local cve=$1 what=$2
    shift 2
    if [[ $way == plain ]]; then
        links=("$@")
    else
        make_image "hostile-links" "$@" >"$work/out" 2>&1 || report 1 "an image" "$work/out"
    fi
    attached_or_refused "$cve: $way: $what" two begin_links two
    unchanged "$cve: $way: $what: nothing of the host is mounted on or written"
    end two
    links=()
}
begin_links() {
    case $way in
    plain) begin "$1" ;;
    podman) podman --runtime crun run -d --name "$1" "${asked[@]}" -v $image/usr:/usr:ro hostile-links sleep 100000 ;;
    docker) docker run -d --runtime rdma --name "$1" "${asked[@]}" -v $image/usr:/usr:ro hostile-links sleep 100000 ;;
    esac
}
all_links() {
    local cve=$1
    if ((brief)); then
        links_to "$cve" "/dev/infiniband is a link" /dev/infiniband=$home/etc
        links_to "$cve" "/run, /dev and /sys are links" /run=$home/etc /dev=$home/etc /sys=$home/etc
        ended "$way: after links"
        return
    fi
    links_to "$cve" "attach.json is a link" /run/rdma/attach.json=/etc/shadow
    if [[ $way == docker ]] && ((!full)); then
        ended "$way: after links"
        return
    fi
    # $home/etc stands for any folder that an image would like to see changed, and has names that a link can hit.
    links_to "$cve" "/dev/infiniband is a link" /dev/infiniband=$home/etc
    links_to "$cve" "so are nodes" /dev/infiniband/uverbs0=/etc/shadow /dev/infiniband/uverbs1=/etc/shadow /dev/infiniband/rdma_cm=/etc/shadow
    links_to "$cve" "/run/rdma is a link" /run/rdma=$home/etc
    links_to "$cve" "/run, /dev and /sys are links" /run=$home/etc /dev=$home/etc /sys=$home/etc
    ended "$way: after links"
}
everything() {
    environment
    descriptors
    devices
    setuid
    overwrite
}

world >"$work/before"
touch $home/etc/{attach.json,infiniband,rdma,class}

by_podman() {
    make_image hostile >"$work/out" 2>&1 || report 1 "an image" "$work/out"
    podman --runtime crun run --rm -v $image/usr:/usr:ro hostile true >"$work/out" 2>&1 || report 1 "a container without us" "$work/out"
    programs >"$work/programs"
    host >"$work/host"
    everything
    all_links "CVE-2024-0132, CVE-2026-47766, CVE-2026-30892"
    check "$way: RDMA_MODE of an image asks for nothing" podman --runtime crun run --rm -v $image/usr:/usr:ro hostile /usr/bin/bash -c '! test -e /dev/infiniband'
    podman --runtime crun run --rm "${asked[@]}" -v $image/usr:/usr:ro hostile $evil/self >"$work/out" 2>&1
    ended "CVE-2019-5736: $way: a command that is /proc/self/exe"
}
by_plain() {
    programs >"$work/programs"
    host >"$work/host"
    everything
    equal "CVE-2025-23267: $way: the hook starts no program" 1 "$(grep -c 'execve' $home/trace)"
    all_links "CVE-2025-23359, CVE-2026-41579"
    local descriptors=(3 7 8)
    ((!brief)) || descriptors=(7)
    for each in "${descriptors[@]}"; do
        attached_or_refused "CVE-2024-21626: $way: its folder is /proc/self/fd/$each" two begin two ".process.cwd = \"/proc/self/fd/$each\""
        end two
    done
    ended "CVE-2024-21626: $way: after that"
}
by_docker() {
    mkdir -p /etc/docker
    echo '{"runtimes": {"rdma": {"path": "/usr/bin/rdma-runtime"}}}' >/etc/docker/daemon.json
    dockerd --iptables=false --ip6tables=false >/tmp/dockerd.log 2>&1 &
    dockerd=$!
    check "dockerd starts" wait_for 120 docker info
    make_image hostile >"$work/out" 2>&1 || report 1 "an image" "$work/out"
    docker run --rm -v $image/usr:/usr:ro hostile true >"$work/out" 2>&1 || report 1 "a container without us" "$work/out"
    programs >"$work/programs"
    host >"$work/host"
    world >"$work/before"
    everything
    all_links "CVE-2024-0132, CVE-2026-41579"
    kill $dockerd
    wait $dockerd 2>/dev/null
    ((!failed)) || tail -n 20 /tmp/dockerd.log | sed 's/^/# /'
}

for way in "$@"; do
    "by_$way"
done
clean_kernel_log
finish
