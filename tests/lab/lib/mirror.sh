# shellcheck shell=bash
# shellcheck disable=SC2154,SC2086 # from common.sh
# Finds Debian's mirror among the machine's apt sources. Sourced, after common.sh.
#
# apt itself reads the sources, in whatever form they are written, and says for each whose they are (Origin in the signed
# Release file): third parties may use the same suite names, and stand before Debian's.

# Lines of "CODENAME LABEL URI", Debian's own only.
debian_sources() {
    apt-get indextargets --format "\$(ORIGIN)|\$(CODENAME)|\$(LABEL)|\$(REPO_URI)" "Created-By: Packages" 2>/dev/null |
        awk -F'|' '$1 == "Debian" { print $2, $3, $4 }' | sort -u
}

# Sets mirror and security (which stays empty where none is known).
find_mirror() {
    security=${LAB_SECURITY_MIRROR:-}
    if [[ -n ${LAB_MIRROR:-} ]]; then
        mirror=${LAB_MIRROR%/}
    else
        command -v apt-get >/dev/null ||
            die $EXIT_UNAVAILABLE "no apt here to read a Debian mirror from: set LAB_MIRROR to the address of one"
        local sources
        sources=$(debian_sources)
        if [[ -z $sources ]]; then # a fresh image has no lists: then apt does not know yet whose a source is
            apt-get update -q >/dev/null 2>&1 || true
            sources=$(debian_sources)
        fi
        mirror=$(choose_source Debian <<<"$sources")
        [[ -n $mirror ]] ||
            die $EXIT_UNAVAILABLE "the machine's apt sources name no Debian mirror: set LAB_MIRROR to the address of one"
        [[ -n $security ]] || security=$(choose_source Debian-Security <<<"$sources")
    fi
    # By custom security lies beside the archive.
    [[ -n $security || $mirror != */debian ]] || security=$mirror-security
}

# choose_source LABEL: the address for LABEL among the lines of debian_sources; one already used for trixie is preferred.
choose_source() {
    awk -v label="$1" '$2 == label { any = any ? any : $3; if ($1 ~ /^trixie/) exact = exact ? exact : $3 }
                       END { print exact ? exact : any }' | sed 's:/*$::'
}

# The machine's way to the network (proxies and the like), for an apt that does not read the machine's configuration.
machine_apt_settings() {
    command -v apt-config >/dev/null || return 0
    apt-config dump | grep -E '^Acquire::(https?::|ftp::|Check-|Retries|ForceIPv|AllowInsecure)' || true
}
