#!/bin/bash
# SELinux: a confined container may read what it is shown, because that has the container's own label.
#   LAB_APPEND=security=selinux tests/lab/run --kernel 7.3 --debs secilc tests/lab/scenarios/selinux.sh
# Debian's kernels have SELinux. Its whole policy takes minutes to build in an emulated guest, so selinux.cil is a policy for this one
# question: it enforces container_t, and nothing else.
source "${BASH_SOURCE[0]%/*}/engines-lib.sh"
[[ -d /lab/debs && "$(cat /sys/kernel/security/lsm)" == *selinux* ]] || { echo "selinux.sh: see its head for how it is run" >&2; exit 64; }
modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay || exit 1
sysctl -qw kernel.printk_ratelimit=0
policy=/run/selinux-policy
domain=system_u:system_r:container_t
label=system_u:object_r:container_file_t
enforce() {
    dpkg -i /lab/debs/*.deb && secilc -c 33 -f /dev/null -o $policy "${BASH_SOURCE[0]%/*}/selinux.cil" || return
    mount -t selinuxfs selinuxfs /sys/fs/selinux
    # In one write.
    python3 -c 'import os, sys; os.write(os.open("/sys/fs/selinux/load", os.O_WRONLY), open(sys.argv[1], "rb").read())' $policy &&
        echo 1 >/sys/fs/selinux/enforce
}
# By a pipe: our own files have none of the container's labels.
in_a() {
    inside a "$@" 2>&1 | cat
    return "${PIPESTATUS[0]}"
}
denied() { dmesg | grep -a 'avc: *denied' | grep -aF "scontext=$domain"; }
none_denied() { # WHAT
    denied >"$work/out"
    [[ ! -s $work/out ]]
    report $? "$1: SELinux has denied nothing" "$work/out"
    dmesg -C
}

check "SELinux enforces" enforce
dmesg -C
world >"$work/before"
# Half 1 shows a container files, folders and links; plain hooks a file.
for engine in prepared bundle; do
    check "$engine: a container starts" attach a mode=softroce ip=10.9.0.1/24 -- \
        ".process.selinuxLabel = \"$domain\" | .linux.mountLabel = \"$label\""
    equal "$engine: it is confined" "$domain" "$(tr -d '\0' <"/proc/$(init_of a)/attr/current")"
    check "$engine: it reads attach.json" in_a cat /run/rdma/attach.json
    check "$engine: and what /sys/class has" in_a ls -lL /sys/class/infiniband /sys/class/infiniband_verbs
    check "$engine: its libraries find the device" in_a ibv_devinfo
    none_denied "$engine"
    # That it was looked at: with another label the same is denied.
    python3 -c 'import os, sys; os.setxattr(sys.argv[1], "security.selinux", b"system_u:object_r:var_run_t\0")' /run/rdma-hook/attach/*.json
    refused "$engine: a file with another label is not for it" 'Permission denied' in_a cat /run/rdma/attach.json
    said() { denied >"$work/denied" && grep '[.]json"' "$work/denied"; } # by its name on the host
    wait_for 10 said # the kernel's thread prints it
    report $? "$engine: which SELinux says" "$work/denied"
    drop a
    same_world "$engine: nothing is left" "$work/before"
    dmesg -C
done
clean_kernel_log
finish
