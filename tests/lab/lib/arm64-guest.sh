# shellcheck shell=bash
# shellcheck disable=SC2154 # from common.sh, mirror.sh and chroot.sh
# An emulated machine for arm64 with Debian testing and its kernel: a disk with the packages that were built, an initrd that mounts it, and
# QEMU of the chroot, which needs e2fsprogs, kmod, cpio and qemu-system-arm. Sourced, after chroot.sh.

# What a scenario of bare bundles needs.
arm64_packages=bash,busybox-static,coreutils,crun,findutils,gawk,grep,ibverbs-providers,ibverbs-utils,iproute2,jq,kmod,libc-bin
arm64_packages+=,libmd0,librdmacm1t64,libseccomp2,libstdc++6,linux-image-arm64,mount,procps,sed,util-linux

# make_arm64_guest PACKAGE.deb...: in the chroot's /guest. Nothing for arm64 runs before the guest does: packages are unpacked, and what
# their scripts would do beyond that is done here.
make_arm64_guest() {
    local guest=$root/guest keyring=/usr/share/keyrings/debian-archive-keyring.gpg each release number=100
    local system=$guest/system first=$guest/first modules
    mkdir "$guest"
    mmdebstrap --mode=root --variant=extract --architectures=arm64 --include="$arm64_packages" --aptopt='Acquire::Languages "none"' \
        --aptopt="$work/apt.conf" testing "$system" "deb [signed-by=$keyring] $mirror testing main" || return
    for each; do dpkg-deb --extract "$each" "$system" || return; done
    rm -rf "$system"/usr/share/{doc,locale,man}
    ln -s gawk "$system/usr/bin/awk"
    echo 'root:x:0:0::/root:/bin/bash' >"$system/etc/passwd"
    mkdir -p "$system"/{dev,proc,run,sys,tmp,root,src/{packaging,tests/lab},usr/lib/lab/rootfs}
    cp -r "$lab/scenarios" "$system/src/tests/lab/"
    cp -r "$repository"/packaging/{debian,image,LGPL-2.1,project.json} "$system/src/packaging/"
    install -m 755 "$lab/guest/arm64" "$system/init"
    release=$(cd "$system/usr/lib/modules" && echo *)
    cp "$system/usr/lib/modules/$release"/vmlinuz* "$guest/kernel" || return
    inside depmod -b /guest/system "$release" || return

    mkdir -p "$first"/{bin,modules,dev,root}
    cp "$system/usr/bin/busybox" "$first/bin/"
    modules=$(for each in virtio_blk ext4; do inside modprobe -d /guest/system -S "$release" --show-depends "$each" || exit; done) || return
    while read -r each; do # in their order
        number=$((number + 1))
        xz -dc "$root$each" >"$first/modules/$number.ko" || return
    done < <(awk '$1 == "insmod" && !seen[$2]++ { print $2 }' <<<"$modules")
    cat >"$first/init" <<'INIT'
#!/bin/busybox sh
b=/bin/busybox
$b mount -t devtmpfs dev /dev
for module in /modules/*; do $b insmod "$module"; done
# A shell without udev gets no event of a new disk, so it looks ten times a second, for ten seconds.
tries=0
until [ -b /dev/vda ] || [ $tries -ge 100 ]; do
    tries=$((tries + 1))
    $b usleep 100000
done
$b mount -t ext4 /dev/vda /root || exec $b poweroff -f
$b mount --move /dev /root/dev
exec $b switch_root /root /init
INIT
    chmod 755 "$first/init"
    inside sh -c 'cd /guest/first && find . | cpio --quiet -o -H newc >../initrd' || return
    inside mke2fs -q -t ext4 -d /guest/system -F /guest/disk 4G
}

# boot_arm64_guest SECONDS: what its scenario says; false if a check failed, or none came to its end.
boot_arm64_guest() {
    inside timeout "$1" qemu-system-aarch64 -M virt -cpu cortex-a72 -accel tcg,thread=multi -smp 2 -m 2048 -nodefaults -display none \
        -no-reboot -kernel /guest/kernel -initrd /guest/initrd -append "console=ttyAMA0 quiet panic=-1" -serial file:/guest/console \
        -drive if=none,id=disk,format=raw,file=/guest/disk,cache=unsafe -device virtio-blk-pci,drive=disk </dev/null
    tr -d '\r' <"$root/guest/console"
    grep -qE '^scenario .*: [0-9]+ checks, 0 failed' "$root/guest/console"
}
