# shellcheck shell=bash
# shellcheck disable=SC2154 # from podman-lib.sh
# For scenarios that install rdma-hook and take it off: what that may leave behind, and what a removal has to take. Sourced.
source "${BASH_SOURCE[0]%/*}/podman-lib.sh"

modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1
# Podman makes its bridge and its own files with the first container: before we look what is there.
podman run --rm --rootfs $rootfs true
# What engines have of it: folders of theirs, which stay.
mkdir -p /etc/docker /etc/containerd/conf.d /run/cdi /run/containerd

files() { # [TEST...]: what an installation, its scripts and the programs may leave, as find tests it; not dpkg's and Podman's own
    find /usr /etc /var/lib /run -xdev \( -path /var/lib/dpkg -o -path /var/lib/containers -o -path /run/udev -o -path '/run/*containers*' \
        -o -path '/run/crun*' -o -path /run/libpod -o -path /run/netns -o -path '/run/lock*' -o -path /run/systemd -o -path /etc/ld.so.cache \) \
        -prune -o "$@" -print | sort
}
lives() { rdmactl list | grep -qE "^$1 +podman +[0-9]+ [a-z]+ +live "; }

cdi_files=(/run/cdi/rdma-hook.json /run/cdi/rdma-hook-pool.json)
cdi_units=(rdma-hook-cdi.path rdma-hook-cdi.service)
cdi_links=("${cdi_units[@]/#//etc/systemd/system/multi-user.target.wants/}")
cdi() { # both files, and the units that keep them true
    check "an rxe of the host" rdma link add rxe0 type rxe netdev lab0
    mkdir -p /etc/rdma-hook
    echo '{"pools": {"named": {"mode": "softroce", "parents": ["lab0"], "range": "10.9.4.10-10.9.4.20/24", "defaults": {"ip": "auto"}}}}' \
        >/etc/rdma-hook/config.json
    check "CDI's files are written" rdmactl cdi generate
    check "a device's and a pool's" ls "${cdi_files[@]}"
    rm /etc/rdma-hook/config.json
    check "the rxe goes" rdma link delete rxe0
    check "CDI's units are enabled" systemctl enable "${cdi_units[@]}"
    check "by these links" ls "${cdi_links[@]}"
}
