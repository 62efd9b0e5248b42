# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # snapshot is for run; the rest from common.sh and tree.sh
# Snapshots of booted guests: a boot takes an emulated machine ten seconds, going on from a snapshot one.
# Sourced, after common.sh.
#
# A snapshot is three files in $tree/snapshots/KEY: `memory`, which a guest maps privately, so that it reads no more of it than
# it uses and all guests share one copy in the page cache; `state`, what QEMU's migration has besides; and `disk`, what the guest
# had written to its root disk. It is made when the guest's init says that it is ready (guest/init), before it has seen the project.

# snapshot_key WORD...: WORDs are all that QEMU and the kernel are told. A snapshot holds the guest's init as well.
snapshot_key() { { printf '%s\n' "$@" && cat "$lab/guest/init"; } | sha256sum | cut -c1-16; }

# find_snapshot KEY MAKE...: sets `snapshot` to its folder; MAKE makes it, in the folder that it is given, if it is not there.
# Without one the guest boots: a snapshot that cannot be made costs time, and no more.
find_snapshot() {
    local folder=$tree/snapshots/$1
    shift
    mkdir -p "$tree/snapshots"
    exec 5>"$folder.lock"
    flock 5
    if [[ ! -d $folder && ! -e $folder.failed ]]; then
        rm -rf "$folder.part"
        mkdir "$folder.part"
        if "$@" "$folder.part" 2>"$folder.log"; then
            mv "$folder.part" "$folder"
        else
            rm -rf "$folder.part"
            mv "$folder.log" "$folder.failed"
            say "no snapshot of this guest can be made, so it boots each time: see $folder.failed"
        fi
    fi
    exec 5>&-
    snapshot=''
    [[ ! -d $folder ]] || snapshot=$folder
}
