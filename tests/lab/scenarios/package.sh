#!/bin/bash
# The Debian packages: installed, upgraded under a running container, not removed from under one nor from under an engine that
# needs them, and gone without a trace.
#   tests/lab/run --kernel 7.3 --nics igb --packages tests/lab/scenarios/package.sh [FOLDER]
# FOLDER has the packages, and a later one of rdma-hook in later/, if it is not /lab/packages.
source "${BASH_SOURCE[0]%/*}/install-lib.sh"
folder=${1:-/lab/packages}
packages=("$folder"/rdma-{hook,perf}_*.deb)
report_package=("$folder"/rdma-perf-report_*.deb)
later=("$folder"/later/rdma-hook_*.deb)
[[ -f ${packages[0]} && -f ${later[0]} ]] || { echo "package.sh: there are no packages: use --packages" >&2; exit 64; }

# The guest's dpkg leaves out documents unless it is told not to.
install_packages() { dpkg --path-include='/usr/share/man/*' --path-include='/usr/share/doc/*' -i "$@"; } # FILE...
installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' rdma-hook) == installed ]]; }
unmanaged() { udevadm info -q property --property "${2:-NM_UNMANAGED}" --value "/sys/class/net/$1"; }
nothing() { [[ -z $("$@" 2>&1 | tee /dev/stderr) ]]; }

old_podman() {
    mkdir "$work/old"
    printf '#!/bin/sh\necho podman version 4.3.1\n' >"$work/old/podman"
    chmod +x "$work/old/podman"
    PATH=$work/old:$PATH refused "the package is not installed beside a Podman that cannot read its drop-in" \
        'podman version 4\.3\.1 is too old: install 4\.8 or later' install_packages "${packages[0]}"
    files >"$work/after"
    check "and left no file" diff "$work/before" "$work/after"
}

install_and_look() {
    local version each units=/usr/lib/systemd/system
    check "the packages are installed" install_packages "${packages[@]}"
    check "dpkg finds every file as it was packed" nothing dpkg --verify rdma-hook rdma-perf
    version=$(dpkg-query -W -f '${Version}' rdma-hook)
    for each in rdma-hook rdmactl rdma-perf; do equal "$each has the package's version" "$each ${version%-*}" "$($each --version)"; done
    check "the man pages are there" ls /usr/share/man/man8/{rdma-hook,rdmactl}.8.gz /usr/share/man/man1/rdma-perf.1.gz
    check "the timer and the unit for the boot are enabled" ls \
        /etc/systemd/system/{timers.target.wants/rdma-hook-gc.timer,multi-user.target.wants/rdma-hook-recover.service}
    check "systemd has nothing to say about the units" nothing systemd-analyze verify --man=no \
        $units/rdma-hook-{gc.service,gc.timer,recover.service,asap2@.service,vf@.service,cdi.path,cdi.service,stats.service,stats.timer}
    check "units that come before engines come before Podman's restarts, too" nothing grep -LE '^Before=.* podman-restart\.service' \
        $units/rdma-hook-{recover,asap2@,vf@,cdi}.service
    check "units that need a PF are tried again" nothing grep -L '^Restart=on-failure' $units/rdma-hook-{asap2@,vf@}.service
    check "no unit counts on one that nobody starts" nothing grep -l systemd-udev-settle $units/rdma-hook-*
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
    equal "nor is it systemd-networkd's" rdma-hook "$(unmanaged "$vf" ID_NET_MANAGED_BY)"
    equal "nor an older systemd-networkd's, by our file" 1 "$(unmanaged "$vf" ID_RDMA_HOOK)"
    equal "but its PF is" '' "$(unmanaged enp1s0)"
    rm /etc/rdma-hook/vfs-unmanaged
    check "the VF is destroyed" rdmactl vf disable enp1s0
}

engines() {
    # As containerd's shim writes it for each container; that it does is for docker.sh to say.
    local task=/run/containerd/io.containerd.runtime.v2.task daemon=/etc/docker/daemon.json
    mkdir -p $task/moby/plain
    printf /usr/bin/rdma-runtime >$task/moby/plain/runtime
    refused "the package is not removed from under a container without RDMA" 'run under rdma-runtime: end them' dpkg --remove rdma-hook
    check "and is as before" installed
    printf runc >$task/moby/plain/runtime
    echo '{"default-runtime": "mine", "runtimes": {"mine": {"path": "/usr/bin/rdma-runtime"}}}' >$daemon
    refused "nor from under Docker's default runtime" 'is the default runtime: set another one' dpkg --remove rdma-hook
    check "and is as before" installed
    rm -r $task
    echo '{"default-runtime": "runc", "runtimes": {"mine": {"path": "/usr/bin/rdma-runtime"}}}' >$daemon
    echo "default_runtime_name = 'rdma'" >/etc/containerd/conf.d/default.toml
    refused "nor from under containerd's, whichever its quotes" '^/etc/containerd/conf\.d/default\.toml$' dpkg --remove rdma-hook
    rm /etc/containerd/conf.d/default.toml
}

files >"$work/before"
old_podman
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
check "an upgrade of rdma-hook goes through" install_packages "${later[0]}"
equal "to the next revision" 2 "$(dpkg-query -W -f '${Version}' rdma-hook | sed 's/.*-//')"
check "the container still has RDMA" lives a
check "and opens its device" inside a bash -c 'exec 3<>/dev/infiniband/uverbs*'
check "the administrator's drop-in is kept" grep -q mine /etc/containers/containers.conf.d/50-rdma-hook.conf
refused "a timer that was disabled stays so" disabled systemctl is-enabled rdma-hook-gc.timer
drop a
same_world "the upgraded hook takes back its devices" "$work/world"

# It stands beside the others and starts. Of what it depends on, the guest has no matplotlib: figures are for other machines.
check "rdma-perf-report is installed" dpkg --force-depends -i "${report_package[@]}"
check "it starts" rdma-perf-report --help
check "it is purged" dpkg --purge rdma-perf-report

# ---- the end -----------------------------------------------------------------------------------------------
cdi
engines
check "nothing keeps the packages from being removed" dpkg --remove rdma-hook rdma-perf
cp "$work/out" "$work/removal"
check "the removal names the files that still name rdma-runtime" grep 'warning: /etc/docker/daemon.json names rdma-runtime' "$work/removal"
rm /etc/docker/daemon.json
refused "CDI's files have gone" 'No such file' ls "${cdi_files[0]}"
refused "both of them" 'No such file' ls "${cdi_files[1]}"
check "Podman starts containers without them" podman run --rm --rootfs $rootfs true
check "and they are purged" dpkg --purge rdma-hook rdma-perf
refused "links to CDI's units have gone" 'No such file' ls -d "${cdi_links[0]}"
refused "both of them" 'No such file' ls -d "${cdi_links[1]}"
files >"$work/after"
diff "$work/before" "$work/after" >"$work/out"
report $? "no file is left" "$work/out"
clean_kernel_log
finish
