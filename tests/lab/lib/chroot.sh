# shellcheck shell=bash
# shellcheck disable=SC2154 # from common.sh and mirror.sh
# A build of the project in a chroot with another Debian, which goes when the script ends. Sourced, after common.sh and mirror.sh.

# enter_namespaces COMMAND...: goes on as COMMAND in namespaces of its own. Whatever ends that process, nothing stays mounted, and
# nothing that it started goes on.
enter_namespaces() {
    [[ ${CHROOT_INSIDE:-} != yes ]] || return 0
    CHROOT_INSIDE=yes exec setpriv --pdeathsig KILL unshare --mount --propagation private --pid --fork --kill-child \
        --mount-proc -- "$@"
}

# make_chroot NAME MEGABYTES SUITE PACKAGES [OPTION...]: SUITE with PACKAGES (a,b,...) in $root, the project read-only in its /src.
# OPTION is one of mmdebstrap's. Needs so many MEGABYTES of disk.
make_chroot() {
    local name=$1 megabytes=$2 suite=$3 packages=$4 free keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    shift 4
    mkdir -p "$cache"
    free=$(df --output=avail -BM "$cache" | tail -1 | tr -dc 0-9)
    ((free >= megabytes)) || die $EXIT_UNAVAILABLE "$cache has $free MB free and this needs $megabytes: make room, or set LAB_CACHE"
    work=$(mktemp -d "$cache/$name.XXXXXX")
    root=$work/root
    trap remove_chroot EXIT
    find_mirror
    machine_apt_settings >"$work/apt.conf"
    progress "installing $suite from $mirror"
    mmdebstrap --mode=root --variant=apt --include="$packages" \
        --aptopt='Acquire::Languages "none"' --aptopt="$work/apt.conf" --dpkgopt=force-unsafe-io \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
        --dpkgopt='path-include=/usr/share/doc/*/copyright' \
        --setup-hook="install -D -m 755 '$lab/recipe/policy-rc.d' \"\$1/usr/sbin/policy-rc.d\"" "$@" \
        "$suite" "$root" "deb [signed-by=$keyring] $mirror $suite main" >"$work/out" 2>&1 || {
        tail -n 25 "$work/out" >&2
        die $EXIT_UNAVAILABLE "cannot install $suite (is $mirror a Debian mirror, and within reach?)"
    }
    mount --bind "$root" "$root" # programs that make all mounts private want / to be one
    mkdir -p "$root/src"
    mount --bind -o ro "$repository" "$root/src"
    mount --rbind /dev "$root/dev"
    mount -t proc proc "$root/proc"
}
# shellcheck disable=SC2317 # called by the trap
remove_chroot() {
    umount -R "$root" 2>/dev/null || true
    rm -rf --one-file-system "$work"
}

# inside COMMAND...: in the chroot, with a network of its own, which has lo: nothing here is about the machine's.
clean=(env -i PATH=/usr/bin:/usr/sbin HOME=/root LC_ALL=C.UTF-8)
# shellcheck disable=SC2016 # for the shell inside
inside() { unshare --net -- sh -ec 'ip link set lo up; exec "$@"' sh chroot "$root" "${clean[@]}" "$@"; }

# translated COMMAND...: as inside, and the kernel has QEMU run programs for arm64. A user namespace has a binfmt_misc of its own
# since Linux 6.7, so the machine's stays as it is.
translated() {
    local magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
    local mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
    # shellcheck disable=SC2016 # for the shell inside
    unshare --net --user --map-root-user --mount -- sh -ec '
        mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
        printf %s "$1" >/proc/sys/fs/binfmt_misc/register
        ip link set lo up
        shift
        exec "$@"' sh ":arm64:M::$magic:$mask:$root/usr/bin/qemu-aarch64:PF" chroot "$root" "${clean[@]}" "$@"
}

# listed PART...: Debian's names of the packages that these parts of .ci/packages must have, one in a line.
listed() {
    local part
    for part; do sed -nE "/^\[$part\]/,/^\$/ { /^[a-z]/ { s/ .*//; p } }" "$repository/.ci/packages"; done
}

count=0 failed=0
report() { # STATUS WHAT: what is in $work/out is shown if it failed
    local outcome=ok
    (($1 == 0)) || outcome='not ok' failed=$((failed + 1))
    count=$((count + 1))
    echo "$outcome $count - $2"
    [[ $outcome == ok ]] || tail -n 40 "$work/out" | sed 's/^/# /'
}
check() { # WHAT COMMAND...
    local what=$1 status=0
    shift
    "$@" >"$work/out" 2>&1 || status=$?
    report $status "$what"
}

# tell_skips FOLDER: why unit tests of the build in the chroot's FOLDER were left out, a line each; nothing if none ran.
tell_skips() {
    sed -nE 's/.*<skipped message="[^"&]*&#x0A;([^"]+)".*/skipped: \1/p' "$root$1"/Testing/gtest/unit/*.xml 2>/dev/null || true
}
