# shellcheck shell=bash
# shellcheck disable=SC2154,SC2086 # from common.sh
# Builds the project, and installs or packs it into a folder. Sourced, after common.sh.
#
# The build is the checkout's own, of the preset `check`, which the unit tests use as well; a lock lets one run at a time use it.
# Each run installs to a folder of its own, so that a later build does not change what a guest is about to copy.

# show_build LOG: keeps what a build prints in LOG. Every five seconds it says how far ninja or make is: on a terminal in one line.
show_build() {
    local line part='' at='' said=$SECONDS status end=$'\n'
    [[ ! -t 2 ]] || end=$'\r'
    while :; do
        status=0
        IFS= read -r -t 5 line || status=$?
        part+=$line
        if ((status == 0)); then
            printf '%s\n' "$part" >&3
            [[ ! $part =~ ^\[\ *([0-9]+(/[0-9]+|%))\] ]] || at=${BASH_REMATCH[1]}
            part=''
        elif ((status < 128)); then # the end
            printf '%s' "$part" >&3
            break
        fi
        if [[ -n $at ]] && ((SECONDS - said >= 5)); then
            printf 'lab: [%3d s] building rdma-hook: %-9s%s' $SECONDS "${at/\// of }" "$end" >&2
            said=$SECONDS
        fi
    done 3>"$1"
}

# build_project TARGETS COMMAND...: the release build of TARGETS, then COMMAND with the build folder as its last word. Only the
# target `guest` needs GoogleTest.
build_project() {
    local targets=$1 build tests=ON
    shift
    [[ $targets == guest ]] || pkg-config --exists gtest gmock || tests=OFF
    [[ -e $repository/CMakePresets.json ]] ||
        die $EXIT_UNAVAILABLE "$repository has no CMakePresets.json, so there is nothing to install: use --no-install"
    command -v cmake >/dev/null ||
        die $EXIT_UNAVAILABLE "cmake is missing: install what CONTRIBUTING.md lists for building, or use --no-install"
    build=$repository/build/check
    mkdir -p "$build"
    (
        export CCACHE_BASEDIR=$repository CCACHE_NOHASHDIR=1
        exec 5>"$build.lock"
        flock -n 5 || {
            say "waiting for another build of the project"
            flock 5
        }
        if ! (cd "$repository" &&
            cmake --preset check -DBUILD_TESTING=$tests -DRDMA_CONFINE="${LAB_CONFINE:-kill}" &&
            cmake --build "$build" --parallel "$(nproc)" --target $targets && "$@" "$build") 2>&1 | show_build "$build.log"; then
            tail -n 40 "$build.log" >&2
            exit 1
        fi
    ) || die $EXIT_UNAVAILABLE "the release build of the project failed (all of it: $build.log)"
}

# install_project FOLDER [programs]: what `cmake --install` puts on a machine, and the contract tests, under FOLDER. With
# `programs` without the tests. LAB_PROJECT is a folder that has it all already.
install_project() {
    local target=${2:-guest}
    if [[ -n ${LAB_PROJECT:-} ]]; then
        cp -al "$LAB_PROJECT" "$1" 2>/dev/null || cp -a "$LAB_PROJECT" "$1"
        return
    fi
    # shellcheck disable=SC2317 # called by build_project
    put() { DESTDIR=$1 cmake --install "$2" && { [[ $target != guest ]] || DESTDIR=$1 cmake --install "$2" --component guest; }; }
    build_project "$target" put "$1"
}

# pack_project FOLDER: its Debian packages, in FOLDER.
pack_project() {
    # shellcheck disable=SC2317 # called by build_project
    pack() { rm -rf "$2/packages" && (cd "$2" && cpack -G DEB -B "$2/packages") && mkdir -p "$1" && cp "$2"/packages/*.deb "$1"; }
    build_project programs pack "$1"
}

# later_revision FOLDER [ARCHITECTURE]: of rdma-hook's package there the next revision, in FOLDER/later: so that dpkg upgrades, and does
# not install the same again. Not compressed.
later_revision() {
    local opened=$1/later/opened
    mkdir "$1/later"
    dpkg-deb --raw-extract "$1"/rdma-hook_*"${2:-}".deb "$opened"
    sed -i '/^Version: /s/-[^-]*$/-2/' "$opened/DEBIAN/control"
    dpkg-deb -Znone --root-owner-group --build "$opened" "$1/later" >/dev/null
    rm -r "$opened"
}

# pack_tarball FOLDER: the tarball of a release, in FOLDER.
pack_tarball() {
    # shellcheck disable=SC2317 # called by build_project
    pack() { SOURCE_DATE_EPOCH=$(date +%s) python3 -B "$repository/packaging/release" tarball "$1" --of "$2"; }
    build_project programs pack "$1"
}

# project_files: the files of the work tree, committed or not, a NUL after each. Without a usable repository all but what is built.
project_files() {
    git -C "$repository" ls-files -z -co --exclude-standard 2>/dev/null ||
        (cd "$repository" && find . \( -path ./build -o -name .git -o -name __pycache__ \) -prune -o \( -type f -o -type l \) -print0)
}

# copy_project FOLDER: the files of the work tree in FOLDER; with new times, and modes by the mask.
copy_project() {
    mkdir -p "$1"
    # shellcheck disable=SC2016 # for sh
    project_files |
        (cd "$repository" && xargs -0 sh -c 'for file; do [ ! -e "$file" ] && [ ! -L "$file" ] || printf "%s\0" "$file"; done' _) |
        tar --create --directory "$repository" --null --files-from - | tar --extract --touch --no-same-permissions --directory "$1"
}

# commit_project FOLDER: the same, as the one commit of a repository, of the time SOURCE_DATE_EPOCH.
commit_project() {
    local when="@${SOURCE_DATE_EPOCH:-$(date +%s)} +0000"
    copy_project "$1" && (cd "$1" && git init --quiet && git add --all &&
        GIT_AUTHOR_DATE=$when GIT_COMMITTER_DATE=$when git -c user.name=test -c user.email=test commit --quiet --message=copy)
}
