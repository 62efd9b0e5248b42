#!/bin/bash
# The tarball of a release: installed, and again under a running container; not taken off from under one; and gone without a trace,
# with all that programs wrote and an administrator enabled.
#   tests/lab/run --kernel 7.3 --tarball tests/lab/scenarios/tarball.sh
source "${BASH_SOURCE[0]%/*}/install-lib.sh"
tarball=(/lab/tarball/rdma-hook-*-linux-*.tar.xz)
[[ -f ${tarball[0]} ]] || { echo "tarball.sh: there is no tarball: use --tarball" >&2; exit 64; }

uninstall=/usr/share/rdma-hook/uninstall
dropin=/etc/containers/containers.conf.d/50-rdma-hook.conf
counters=/var/lib/prometheus/node-exporter/rdma-hook.prom
program=/etc/rdma-hook/rdma-runtime.d/rdma-crun
units=(rdma-hook-{vf,asap2}@enp1s0.service rdma-hook-stats.timer)
links=(/etc/systemd/system/{timers.target.wants/rdma-hook-gc.timer,multi-user.target.wants/rdma-hook-recover.service})
as_packed() { env -C / sha256sum --check --quiet --strict /usr/share/rdma-hook/installed.sha256; }
left() { files \( ! -type d -o -name '*rdma*' \); } # folders that are the system's may stay
same_files() { diff "$work/before" <(left); }
mkdir -p "${counters%/*}"
left >"$work/before"

# ---- installed, and again under a container ---------------------------------------------------------------
version=${tarball[0]##*/rdma-hook-}
version=${version%%-linux-*}
check "the tarball is unpacked" tar -xf "${tarball[0]}" -C "$work"
install=("$work"/rdma-hook-*-linux-*/install)
mkdir "$work/old"
printf '#!/bin/sh\necho podman version 4.3.1\n' >"$work/old/podman"
chmod +x "$work/old/podman"
PATH=$work/old:$PATH refused "it is not installed beside a Podman that cannot read its drop-in" 'podman version 4\.3\.1 is too old' "${install[0]}"
check "and left no file" same_files
check "it is installed" "${install[0]}"
check "every file is as it was packed" as_packed
for each in rdma-hook rdmactl rdma-perf; do equal "$each has the release's version" "$each $version" "$($each --version)"; done
check "the timer and the unit for the boot are enabled" ls "${links[@]}"

world >"$work/world"
check "a container gets RDMA" attach a mode=softroce ip=10.9.0.1/24
check "it has its device" test "$(devices a)" = "$(environment a RDMA_DEVICE)"
refused "rdma-hook is not taken off from under it" 'these containers have RDMA devices: end them' $uninstall
check "and is as before" as_packed
check "the container still has RDMA" lives a
systemctl disable rdma-hook-gc.timer >/dev/null 2>&1
echo '# mine' >>$dropin
check "it is installed once more" "${install[0]}"
cp "$work/out" "$work/again"
check "the changed drop-in is named" grep -F "$dropin was changed here and stays" "$work/again"
check "it is kept" grep -q '^# mine' $dropin
check "the container still has RDMA" lives a
check "and opens its device" inside a bash -c 'exec 3<>/dev/infiniband/uverbs*'
refused "a timer that was disabled stays so" disabled systemctl is-enabled rdma-hook-gc.timer
check "its counters are written for node_exporter" rdmactl stats --prometheus --output $counters
drop a
same_world "the hook installed later takes back its devices" "$work/world"

# ---- the end ----------------------------------------------------------------------------------------------
cdi
check "units of a PF and of counters are enabled" systemctl enable "${units[@]}" rdma-hook-gc.timer
check "Docker gets a runtime of another name" rdmactl runtime configure --runtime=docker --name rdma-crun --low-level crun
check "which is a program" test -x $program
check "what a removal has to take is there" ls "${cdi_files[@]}" "${cdi_links[@]}" "${links[@]}" $counters
check "nothing keeps it from being taken off" $uninstall
cp "$work/out" "$work/removal"
check "the removal names the files that still name rdma-runtime" grep 'warning: /etc/docker/daemon.json names rdma-runtime' "$work/removal"
check "and the drop-in, which stays" grep -F "$dropin was changed here, and stays" "$work/removal"
check "Podman starts containers with that" podman run --rm --rootfs $rootfs true
rm /etc/docker/daemon.json $dropin
check "no file is left" same_files
refused "there is nothing more to take off" 'nothing was installed' sh "${install[0]%/*}/uninstall"
clean_kernel_log
finish
