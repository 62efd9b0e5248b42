#!/bin/bash
# `srun --container` with examples/slurm/oci.conf: a cluster of two nodes, a step of two containers that measure each other
# across the wire; steps that fail, are cancelled, and are not root's; and another user who waits for root's bundle.
#   tests/lab/pair --kernel 7.3 --timeout 900 --debs slurmd,slurmctld,slurm-client,munge tests/lab/scenarios/slurm.sh
# The first guest is the controller and a node, the second a node; each gives a status.
source "${BASH_SOURCE[0]%/*}/engines-lib.sh"
examples=${BASH_SOURCE[0]%/tests/*}/examples
((LAB_PEER)) || exit 0 # Slurm needs no hand from outside
[[ -d /lab/debs ]] || { echo "slurm.sh: use --debs: see its head" >&2; exit 64; }
node=node$LAB_PEER address=198.51.100.$LAB_PEER
runtime=runc
command=(true)

# ---- both nodes --------------------------------------------------------------------------------------------
install_slurm() {
    dpkg -i /lab/debs/*.deb || return
    printf '198.51.100.%d node%d\n' 1 1 2 2 >>/etc/hosts
    # The guests are of one image and so have one host key: it makes the secret that both know.
    sha512sum </etc/ssh/ssh_host_ed25519_key >/etc/munge/munge.key
    chown munge: /etc/munge/munge.key
    chmod 400 /etc/munge/munge.key
    install -d -o munge -g munge -m 755 /run/munge /var/log/munge /var/lib/munge
    install -d -m 755 /etc/slurm /var/spool/slurmd /var/spool/slurmctld
    cp "$examples/slurm/oci.conf" "$examples/slurm/rdma-spool" /etc/slurm/
    echo CgroupPlugin=disabled >/etc/slurm/cgroup.conf
    cat >/etc/slurm/slurm.conf <<'CONF'
ClusterName=lab
SlurmctldHost=node1(198.51.100.1)
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
MpiDefault=none
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmdLogFile=/run/slurmd.log
SlurmdDebug=debug
SlurmctldLogFile=/run/slurmctld.log
ReturnToService=2
SlurmdTimeout=900
Prolog=/etc/slurm/rdma-spool
Epilog=/etc/slurm/rdma-spool
KillWait=5
NodeName=node1 NodeAddr=198.51.100.1 CPUs=2
NodeName=node2 NodeAddr=198.51.100.2 CPUs=2
PartitionName=all Nodes=ALL Default=YES State=UP
CONF
}
start_slurm() {
    setpriv --reuid munge --regid munge --clear-groups munged || return
    ((LAB_PEER == 2)) || slurmctld || return
    slurmd -N "$node"
}

modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan overlay || exit 1
hostname "$node"
check "Slurm's packages" install_slurm
ip address show dev peer0 | grep -q "$address/" || report 1 "$node has its address"
# What the epilog is to remove.
more_world() { find /run/slurm-oci -mindepth 2 -printf 'spool %P\n'; }
# What Slurm adds is Slurm's: hooks and a group by path are none of the bundle's.
plain='del(.hooks) | del(.linux.cgroupsPath) | del(.mounts[] | select(.destination == "/run"))'
bundle rdma mode=softroce parent=peer0 "ip=10.9.0.$LAB_PEER/24" -- "$plain"
bundle plain -- "$plain"
world >"$work/before"
check "munged, slurmd" start_slurm

if ((LAB_PEER == 2)); then
    check "the controller is done with this node" wait_for 800 test -e /run/lab-slurm-done
    # Slurm kills all processes of a step that is cancelled: what a timer does on other machines.
    check "gc" rdmactl gc
    same_world "nothing is left on $node" "$work/before"
    clean_kernel_log
    ((!failed)) || tail -n 40 /run/slurmd.log | sed 's/^/# /'
    finish
    exit
fi

# ---- the controller ----------------------------------------------------------------------------------------
idle() { [[ $(sinfo -h -o %D -t idle) == 2 ]]; }
step() { timeout 200 srun --quiet --kill-on-bad-exit "$@"; }
contained() { step --container="$bundles/rdma" "$@"; }

# A step of two tasks, one on each node: the first serves, and the second asks until it does.
measure() {
    contained -N2 -n2 --label bash -c '
        if ((SLURM_PROCID == 0)); then
            rdma-perf serve --bind 0.0.0.0 --once
            exit
        fi
        for try in {1..60}; do
            rdma-perf run 10.9.0.1 --time 0.5s --size 4096 >/tmp/out 2>&1 && break
            read -rt 1 <> <(:)
        done
        cat /tmp/out
        ((try < 60))'
}

check "both nodes are idle" wait_for 120 idle
check "an ordinary step runs on both" step -N2 -n2 hostname
check "a bundle without rdma.* runs" step -N2 -n2 --container="$bundles/plain" true
contained -w node1 -N1 -n1 env >"$work/env" 2>&1
report $? "a container by srun --container" "$work/env"
check "it has its environment" grep -q '^RDMA_DEVICE=rxe' "$work/env"
equal "and its own nodes" "rdma_cm uverbs" "$(contained -w node1 -N1 -n1 ls /dev/infiniband | sed 's/[0-9]*$//' | xargs)"
same_world "nothing is left of it" "$work/before"
check "rdma-perf passes across the wire, in a step of two nodes" measure
same_world "nothing is left of the step" "$work/before"

refused "a command that does not exist" . contained -w node1 -N1 -n1 /no/such/command
same_world "nothing is left of that" "$work/before"
as_nobody() { setpriv --reuid nobody --regid nogroup --clear-groups srun --quiet --chdir=/ --container="$bundles/rdma" -N1 -n1 true; }
refused "another user's step is refused, with the reason" 'rdma-runtime: .*root' as_nobody

# ---- another user of the node, who waits for root's bundle -------------------------------------------------
# He makes the folders of root's next jobs before Slurm does, if he can, and puts a config.json of his own in the place of Slurm's.
# What that one says runs as root.
cat >/run/lab-attack.py <<'PYTHON'
import os, sys
own, places = open(sys.argv[1]).read(), []
os.umask(0)
for place in sys.argv[2:]:
    try:
        os.makedirs(place)
        open(place + "/own", "w").write(own)
        places.append(place)
    except OSError:
        pass
print(len(places), flush=True)
while places:
    for place in places:
        try:
            os.rename(place + "/config.json", place + "/theirs")
            os.rename(place + "/own", place + "/config.json")
            sys.exit()
        except FileNotFoundError:
            pass
PYTHON
attack() { # leaves his pid in `attacker`, and how many folders he has in $work/attack
    local next path places=() each
    next=$(($(step -w node1 -N1 -n1 printenv SLURM_JOB_ID) + 1))
    path=$(sed -n 's/^ContainerPath=//p' /etc/slurm/oci.conf)
    for ((each = next; each < next + 3; each++)); do
        places+=("$(sed "s/%U/0/; s/%j/$each/; s/%[st]/0/g" <<<"$path")")
    done
    jq --arg root "$bundles/plain/rootfs" '.root.path = $root
        | .hooks = {createRuntime: [{path: "/usr/bin/touch", args: ["touch", "/run/lab-attacked"]}]}' "$bundles/plain/config.json" >/run/lab-attack.json
    setpriv --reuid nobody --regid nogroup --clear-groups python3 /run/lab-attack.py /run/lab-attack.json "${places[@]}" >"$work/attack" 2>&1 &
    attacker=$!
    wait_for 60 grep -q . "$work/attack"
}
check "another user prepares an attack on root's next step" attack
check "root's step runs" step -w node1 -N1 -n1 --container="$bundles/plain" true
equal "he could make none of its folders" 0 "$(<"$work/attack")"
check "and nothing of his ran as root" test ! -e /run/lab-attacked
kill "$attacker" 2>/dev/null
wait "$attacker"

# A folder that belongs to him all the same, after the prolog.
in_his_folder() {
    salloc --quiet -w node1 -N1 -n1 bash -c "
        srun --quiet true && chown nobody /run/slurm-oci/0 || exit 64
        srun --quiet --kill-on-bad-exit --container='$bundles/plain' true
        status=\$?
        chown root /run/slurm-oci/0
        exit \$status"
}
refused "a step in a folder that belongs to another user is refused, with the command that removes it" \
    'rdma-spool: /run/slurm-oci/0 .*rm -r /run/slurm-oci/0' timeout 200 bash -c "$(declare -f in_his_folder); bundles=$bundles; in_his_folder"
same_world "nothing is left of these" "$work/before" 90

running() { [[ $(rdmactl list --json | jq '.containers | length') == 1 ]]; }
contained --job-name=long -w node1 -N1 -n1 sleep 100000 >"$work/long" 2>&1 &
step=$!
check "a long step has its attachment" wait_for 60 running
check "scancel" scancel --name=long
wait $step
check "gc, which a timer runs on other machines" rdmactl gc
same_world "nothing is left after scancel" "$work/before" 90
step -w node2 -N1 touch /run/lab-slurm-done
clean_kernel_log
((!failed)) || tail -n 60 /run/slurmd.log | sed 's/^/# /'
finish
