#!/bin/bash
# The Debian packages: installed, upgraded under a running container, not removed from under one, and gone without a trace.
#   tests/lab/run --kernel 7.3 --nics igb --packages tests/lab/scenarios/package.sh [FOLDER]
# FOLDER has the packages, if it is not /lab/packages.
source "${BASH_SOURCE[0]%/*}/lib.sh"
packages=("${1:-/lab/packages}"/rdma-{hook,perf}_*.deb)
report_package=("${1:-/lab/packages}"/rdma-perf-report_*.deb)
[[ -f ${packages[0]} ]] || { echo "package.sh: there are no packages: use --packages" >&2; exit 64; }

modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1
# Podman makes its bridge and its own files with the first container: before we look what is there.
podman run --rm --rootfs $rootfs true

# The guest's dpkg leaves out documents unless it is told not to.
install_packages() { dpkg --path-include='/usr/share/man/*' --path-include='/usr/share/doc/*' -i "${packages[@]}"; }
files() { # what a package, its scripts and the programs may leave; not dpkg's and Podman's own
    find /usr /etc /var/lib /run -xdev \( -path /var/lib/dpkg -o -path /var/lib/containers -o -path /run/udev -o -path '/run/*containers*' \
        -o -path '/run/crun*' -o -path /run/libpod -o -path /run/netns -o -path '/run/lock*' -o -path /run/systemd -o -path /etc/ld.so.cache \) -prune -o -print | sort
}
installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' rdma-hook) == installed ]]; }
lives() { rdmactl list | grep -qE "^$(podman inspect -f '{{.Id}}' "$1" | cut -c1-12) +live "; }
unmanaged() { udevadm info -q property --property NM_UNMANAGED --value "/sys/class/net/$1"; }
nothing() { [[ -z $("$@" 2>&1 | tee /dev/stderr) ]]; }

install_and_look() {
    local version each
    check "the packages are installed" install_packages
    check "dpkg finds every file as it was packed" nothing dpkg --verify rdma-hook rdma-perf
    version=$(dpkg-query -W -f '${Version}' rdma-hook)
    for each in rdma-hook rdmactl rdma-perf; do equal "$each has the package's version" "$each ${version%-*}" "$($each --version)"; done
    check "the man pages are there" ls /usr/share/man/man8/{rdma-hook,rdmactl}.8.gz /usr/share/man/man1/rdma-perf.1.gz
    check "the timer and the unit for the boot are enabled" ls \
        /etc/systemd/system/{timers.target.wants/rdma-hook-gc.timer,multi-user.target.wants/rdma-hook-recover.service}
    check "systemd has nothing to say about the units" nothing systemd-analyze verify --man=no \
        /usr/lib/systemd/system/rdma-hook-{gc.service,gc.timer,recover.service,asap2@.service,vf@.service,cdi.path,cdi.service}
    check "rdmactl recover undoes nothing where there is nothing" rdmactl recover
    ! udevadm verify --help >/dev/null 2>&1 || check "udevadm verify takes the rules" udevadm verify /usr/lib/udev/rules.d/75-rdma-hook.rules
}

network_manager() {
    [[ $LAB_NICS == igb ]] || return
    ip link set enp1s0 up
    check "a VF is made" rdmactl vf enable enp1s0 1
    udevadm settle
    local vf
    vf=$(basename /sys/class/net/enp1s0/device/virtfn0/net/*)
    equal "without the file, VFs are NetworkManager's" '' "$(unmanaged "$vf")"
    mkdir -p /etc/rdma-hook && touch /etc/rdma-hook/vfs-unmanaged
    udevadm trigger --subsystem-match=net --action=change --settle
    equal "with it, a VF is not" 1 "$(unmanaged "$vf")"
    equal "but its PF is" '' "$(unmanaged enp1s0)"
    rm /etc/rdma-hook/vfs-unmanaged
    check "the VF is destroyed" rdmactl vf disable enp1s0
}

files >"$work/before"
install_and_look
network_manager

# ---- a container, the removal, the upgrade -----------------------------------------------------------------
world >"$work/world"
check "a container gets RDMA" attach a mode=softroce ip=10.9.0.1/24
check "it has its device" test "$(devices a)" = "$(environment a RDMA_DEVICE)"
refused "the package is not removed from under it" 'end them, then remove the package' dpkg --remove rdma-hook
check "and is as before" installed
check "the container still has RDMA" lives a
systemctl disable rdma-hook-gc.timer >/dev/null 2>&1
echo '# mine' >>/etc/containers/containers.conf.d/50-rdma-hook.conf
check "an upgrade goes through" install_packages
check "the container still has RDMA" lives a
check "data arrives in it" rdmactl verify "$(podman inspect -f '{{.Id}}' a)"
check "the administrator's drop-in is kept" grep -q mine /etc/containers/containers.conf.d/50-rdma-hook.conf
refused "a timer that was disabled stays so" disabled systemctl is-enabled rdma-hook-gc.timer
drop a
same_world "what it had is taken back by the upgraded hook" "$work/world"

# It stands beside the others and starts. Of what it depends on, the guest has no matplotlib: figures are for other machines.
check "rdma-perf-report is installed" dpkg --force-depends -i "${report_package[@]}"
check "it starts" rdma-perf-report --help
check "it is purged" dpkg --purge rdma-perf-report

# ---- the end -----------------------------------------------------------------------------------------------
check "nothing keeps the packages from being removed" dpkg --remove rdma-hook rdma-perf
check "Podman starts containers without them" podman run --rm --rootfs $rootfs true
check "and they are purged" dpkg --purge rdma-hook rdma-perf
files >"$work/after"
diff "$work/before" "$work/after" >"$work/out"
report $? "no file is left" "$work/out"
clean_kernel_log
finish
