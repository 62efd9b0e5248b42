# shellcheck shell=bash
# shellcheck disable=SC2154,SC2086 # from common.sh
# Debian packages that few scenarios want: not in the tree, which every machine builds. Sourced, after common.sh, mirror.sh
# and tree.sh.

# fetch_debs FOLDER PACKAGE...: the packages, and all they need that the tree does not have, into FOLDER.
fetch_debs() {
    local folder=$1 kept
    shift
    kept=$(keep_debs "$@") || exit
    cp -al "$kept" "$folder"
}

# keep_debs PACKAGE...: fetches them for this tree, unless they are there. Prints the folder.
keep_debs() {
    local key kept
    key=$(printf '%s\n' "$(tree_key)" "$@" | sha256sum | cut -c1-16)
    kept=$cache/debs/$key
    mkdir -p "$cache/debs"
    (
        exec 5>"$kept.lock"
        flock 5
        [[ -d $kept ]] || download_debs "$kept.part" "$@" >"$kept.log" 2>&1 || {
            tail -n 20 "$kept.log" >&2
            die $EXIT_UNAVAILABLE "cannot fetch the packages $* (all of it: $kept.log)"
        }
        [[ -d $kept ]] || mv "$kept.part/debs" "$kept"
        rm -rf "$kept.part"
    ) || exit
    echo "$kept"
}

# An apt that knows the tree's sources and what is installed there, and nothing of this machine's.
download_debs() {
    local work=$1 root=$tree/root
    shift
    rm -rf "$work"
    mkdir -p "$work"/{lists/partial,cache/archives/partial}
    machine_apt_settings >"$work/apt.conf"
    local apt=(
        -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$root/etc/apt/sources.list.d"
        -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts="$root/etc/apt/preferences.d"
        -o Dir::State::lists="$work/lists" -o Dir::State::status="$root/var/lib/dpkg/status" -o Dir::Cache="$work/cache"
        -o APT::Sandbox::User=root -o APT::Architecture=amd64 -o Acquire::Languages=none -o Acquire::Retries=3
    )
    APT_CONFIG=$work/apt.conf apt-get "${apt[@]}" -q update --error-on=any &&
        APT_CONFIG=$work/apt.conf apt-get "${apt[@]}" -q -y --no-install-recommends --download-only install "$@" &&
        mkdir "$work/debs" && mv "$work"/cache/archives/*.deb "$work/debs/"
}
