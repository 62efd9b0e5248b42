#!/bin/bash
# Plain OCI hooks: bare runc and crun bundles whose config.json names rdma-hook at createRuntime and poststop, and Podman with
# a hook file of those two stages only. Traffic between two containers, every way to end, hostile root file systems, programs of the
# cgroup that come back.
#   tests/lab/run --kernel 7.3 --timeout 900 tests/lab/scenarios/plain-hooks.sh [--full|--brief] [RUNTIME...]
# RUNTIMEs: crun and runc unless given. All of it is done with the first, with others traffic and ends; --full: all with each. --brief:
# others only start and end. Hostile root file systems are hostile.sh's then, and programs of the cgroup the contract's.
source "${BASH_SOURCE[0]%/*}/engines-lib.sh"
full=0 brief=0 engine=bundle stages=(prestart createRuntime)
case ${1:-} in
--full) full=1; shift ;;
--brief) brief=1 pod_network=(--network none) stages=(createRuntime); shift ;; # prestart is Docker's own
esac
runtimes=("$@")
[[ $# -gt 0 ]] || runtimes=(crun runc)

modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1
((brief)) || podman run --rm --rootfs $rootfs true

end() { bundle_remove "$1"; }
last_failure() { rdmactl list --failed --json | jq -r '.failures[].error' 2>/dev/null || rdmactl list --failed; }
perf_passes() {
    talk "$runtime" a b 18600 rdma-perf serve --bind 0.0.0.0 --once -- rdma-perf run 10.9.0.1 --verb write,send --mode bw --time 0.2s --size 4096
}
opens() { bundle_inside "$1" bash -c 'exec 3<>/dev/infiniband/uverbs*'; }

traffic() {
    bundle a mode=softroce ip=10.9.0.1/24
    bundle b mode=softroce ip=10.9.0.2/24
    check "$runtime: a starts" begin a
    check "$runtime: b starts" begin b
    equal "$runtime: a has its own nodes and no other" "rdma_cm uverbs" "$(bundle_inside a ls /dev/infiniband | sed 's/[0-9]*$//' | xargs)"
    check "$runtime: attach.json is there" bundle_inside a grep -q '"attached":true' /run/rdma/attach.json
    check "$runtime: it may lock memory" bundle_inside a bash -c '[[ $(sed -n "s/^Max locked memory *\([^ ]*\).*/\1/p" /proc/1/limits) == unlimited ]]'
    check "$runtime: rdma-perf passes, verified" perf_passes
    refused "$runtime: no other device is opened" 'not permitted' bundle_inside a bash -c 'mknod /dev/other c 10 229 && exec 3<>/dev/other'
}

starts_and_ends() {
    bundle a mode=softroce ip=10.9.0.1/24
    check "$runtime: a starts" begin a
    check "$runtime: it opens its device" opens a
    end a
    same_world "$runtime: nothing is left after delete -f" "$work/before"
}

ends() {
    end a
    end b
    same_world "$runtime: nothing is left after delete -f" "$work/before"
    begin a >/dev/null
    kill -9 "$(bundle_init a)"
    is_stopped() { [[ $("$runtime" state a | jq -r .status) == stopped ]]; }
    wait_for 30 is_stopped
    "$runtime" delete a
    same_world "$runtime: nothing is left after SIGKILL and delete" "$work/before"
    bundle c mode=softroce ip=10.9.0.1/24 -- '.process.args = ["/no/such/command"]'
    refused "$runtime: a command that does not exist" . begin c
    end c 2>/dev/null
    rdmactl gc >/dev/null
    same_world "$runtime: nothing is left after a failed create" "$work/before"
}

# What systemd does at daemon-reload: a program that knows nothing of our device comes to the cgroup; here that of d.
reload() {
    local program
    begin a >/dev/null
    check "$runtime: a opens its device" opens a
    bundle d
    check "$runtime: a container without rdma.* starts beside the hooks" begin d
    program=$(bpftool -j cgroup show "$(cgroup_of d)" | jq '.[0].id')
    check "$runtime: its device program comes to a's cgroup" bpftool cgroup attach "$(cgroup_of a)" cgroup_device id "$program" multi
    refused "$runtime: a does not open its device any more" 'not permitted' opens a
    check "$runtime: gc --regrant" rdmactl gc --regrant
    check "$runtime: a opens its device again" opens a
    refused "$runtime: and still no other" 'not permitted' bundle_inside a bash -c 'mknod /dev/other c 10 229 && exec 3<>/dev/other'
    end a
    end d
    same_world "$runtime: nothing is left after that" "$work/before"
}

hostile() {
    local what
    mkdir -p "$work/outside"
    bundle h mode=softroce ip=10.9.0.3/24 -- '.mounts |= map(select(.destination | startswith("/dev") | not))'
    rm -rf "$bundles/h/rootfs/dev"
    ln -s "$work/outside" "$bundles/h/rootfs/dev"
    refused "$runtime: a /dev that is a link" . begin h
    last_failure | tail -n 1 | sed 's/^/# /'
    # The runtime itself may make its own nodes below: none of them is ours.
    equal "$runtime: nothing of rdma-hook is where it leads" "" "$(find "$work/outside" -path '*infiniband*')"
    end h 2>/dev/null
    bundle i mode=softroce ip=10.9.0.3/24 -- ".hooks.createRuntime |= [{path: \"$work/link\", args: [\"link\"]}] + ."
    # Before us, somebody puts a link into the container's own /dev.
    cat >"$work/link" <<EOF
#!/bin/bash
root=/proc/\$(jq -r .pid)/root
[[ ! -d \$root$bundles/i/rootfs/dev ]] || root+=$bundles/i/rootfs # not yet its root
ln -s "$work/outside" "\$root/dev/infiniband"
EOF
    chmod 755 "$work/link"
    refused "CVE-2025-23359: $runtime: a /dev/infiniband that is a link" . begin i
    last_failure | tail -n 1 | sed 's/^/# /'
    equal "$runtime: nothing is where it leads" "" "$(find "$work/outside" -path '*infiniband*' -o -name 'uverbs*')"
    end i 2>/dev/null
    rdmactl gc >/dev/null
    what=$(find "$bundles/i/upper/dev" -path '*infiniband*' 2>/dev/null)
    equal "$runtime: nothing is in the image" "" "$what"
    same_world "$runtime: nothing is left of the hostile" "$work/before"
}

users() {
    bundle u mode=softroce ip=10.9.0.4/24 -- '.linux.namespaces += [{type: "user"}]
        | .mounts |= map(select(.destination != "/usr/bin/rdma-perf")) # it could not make the place for it
        | .linux.uidMappings = [{containerID: 0, hostID: 100000, size: 65536}] | .linux.gidMappings = .linux.uidMappings'
    chown 100000:100000 "$bundles/u/rootfs"
    check "$runtime: a container with a user namespace starts" begin u
    check "$runtime: it has its node" bundle_inside u ls /dev/infiniband/rdma_cm
    check "$runtime: it opens its device" opens u
    end u
    same_world "$runtime: nothing is left of it" "$work/before"
}

# Docker's network by its own hook, as up to Docker 27: at prestart; and at createRuntime, where it comes before ours.
network_by_hook() {
    local stage runtime=rdma-runtime
    cat >"$work/network" <<'EOF'
#!/bin/bash
ip link add veth-late type veth peer name eth0 netns "$(jq .pid)" && ip address add 172.30.9.1/24 dev veth-late && ip link set veth-late up
EOF
    chmod 755 "$work/network"
    for stage in "${stages[@]}"; do
        of_runtime runc bundle n mode=softroce ip=10.9.0.5/24 -- "del(.hooks) | .hooks.$stage = [{path: \"$work/network\"}]"
        check "$runtime: with another's hook at $stage" begin n
        equal "$runtime: both interfaces are there" "eth0 lo rdma0" "$(bundle_inside n ls /sys/class/net | sort | xargs)"
        check "$runtime: the device opens" opens n
        bundle_remove n
        same_world "$runtime: nothing is left of it" "$work/before"
    done
}

podman_by_hooks() {
    check "$runtime: podman with hooks.d only" podman_hooks_start p mode=softroce ip=10.9.0.1/24
    check "$runtime: its device opens" podman_hooks_inside p bash -c 'exec 3<>/dev/infiniband/uverbs*'
    check "$runtime: its attach.json is there" podman_hooks_inside p grep -q '"attached":true' /run/rdma/attach.json
    podman_hooks_remove p >/dev/null 2>&1
    same_world "$runtime: nothing is left of it" "$work/before"
    ((!brief)) || return
    check "$runtime: beside precreate it passes through" podman --runtime "$runtime" --hooks-dir /usr/share/rdma-hook/hooks.d --hooks-dir "$hooks_dir" run --rm --annotation rdma.mode=softroce --annotation rdma.ip=10.9.0.1/24 --rootfs $rootfs bash -c 'ibv_devices | grep -q rxe && [[ -n $RDMA_DEVICE ]]'
    same_world "$runtime: nothing is left of that" "$work/before"
}

world >"$work/before"
for runtime in "${runtimes[@]}"; do
    if ((brief)) && [[ $runtime != "${runtimes[0]}" ]]; then
        starts_and_ends
        drop_bundles
        continue
    fi
    traffic
    ends
    [[ $full == 1 || $runtime == "${runtimes[0]}" ]] || { drop_bundles && continue; }
    if ((!brief)); then
        reload
        hostile
    fi
    users
    podman_by_hooks
    drop_bundles # so that the next runtime has bundles of its own
done
network_by_hook
clean_kernel_log
finish
