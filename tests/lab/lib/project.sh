# shellcheck shell=bash
# shellcheck disable=SC2154,SC2086 # from common.sh
# Builds the project and installs it into a folder. Sourced, after common.sh.

# install_project FOLDER: what `cmake --install` of the release build puts on a machine, and the contract tests, under
# FOLDER.
#
# The build folder is the lab's own, one for each checkout, kept for the next run; a lock lets one run at a time use it.
# Each run installs to a folder of its own, so that a later build does not change what a guest is about to copy.
install_project() {
    local folder=$1 build
    [[ -e $repository/CMakePresets.json ]] ||
        die $EXIT_UNAVAILABLE "$repository has no CMakePresets.json, so there is nothing to install: use --no-install"
    command -v cmake >/dev/null ||
        die $EXIT_UNAVAILABLE "cmake is missing: install what CONTRIBUTING.md lists for building, or use --no-install"
    build=$cache/project/$(printf '%s' "$repository" | sha256sum | cut -c1-16)
    mkdir -p "$build"
    (
        exec 5>"$build.lock"
        flock -n 5 || {
            say "waiting for another build of the project"
            flock 5
        }
        if ! (cd "$repository" && cmake --preset release -DBUILD_TESTING=ON -B "$build" &&
            cmake --build "$build" --parallel "$(nproc)" --target guest && DESTDIR=$folder cmake --install "$build" &&
            DESTDIR=$folder cmake --install "$build" --component guest) >"$build.log" 2>&1; then
            tail -n 40 "$build.log" >&2
            exit 1
        fi
    ) || die $EXIT_UNAVAILABLE "the release build of the project failed (all of it: $build.log)"
}
