#!/bin/bash
# The evaluation of examples/, as an operator runs it: containers (Podman) against the host's own namespaces, SoftRoCE beside
# Soft-iWARP, TCP beside RDMA; and its page. The guest has no matplotlib: the page has tables here, and
# figures where /data (tests/lab/run --share DIR) is seen by a machine that has it.
#   tests/lab/run --kernel 7.3 tests/lab/scenarios/evaluation.sh [--full]
# --full: its profile full, over ssh, and interrupted in between.
source "${BASH_SOURCE[0]%/*}/podman-lib.sh"
examples=${BASH_SOURCE[0]%/tests/*}/examples
profile=quick checked=25 # answers about data, at least
[[ ${1:-} != --full ]] || { profile=full checked=50; }
out=$work/evaluation
((!LAB_SHARE)) || out=/data/evaluation-$profile
plan=$work/plan.json

# The plan is the example's, with the guest's root file system for an image; with --full, both sides by ssh. Without, each system
# once, and by those suites that ask what another has not asked already.
make_plan() {
    jq --arg emulation "Two cores that QEMU emulates in software, kernel $(uname -r), no hardware for RDMA: ratios within this one boot \
may be compared, absolute numbers say nothing about any machine." '
        .emulation = $emulation | .deadline_s = 900
        | (.systems[] | select(.kind == "container") | .image) = ["--rootfs", "/usr/lib/lab/rootfs:O"]' \
        "$examples/evaluation/softroce.json" >"$plan"
    if [[ $profile == quick ]]; then
        jq '.systems[0].suites -= ["cpu", "multi_qp"] | del(.profiles.quick.suites | .cpu, .multi_qp)
            | .profiles.quick.repetitions = 1' "$plan" >"$plan.quick" &&
            mv "$plan.quick" "$plan"
        return
    fi
    jq '.nodes = {here: {ssh: "root@127.0.0.1", identity: "/root/.ssh/id_ed25519"}}
        | .systems[] |= (.server.node = "here" | .client.node = "here")' "$plan" >"$plan.ssh" && mv "$plan.ssh" "$plan"
}
start_sshd() {
    mkdir -p /run/sshd /root/.ssh
    ssh-keygen -q -A && ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519 &&
        cp /root/.ssh/id_ed25519.pub /root/.ssh/authorized_keys &&
        printf 'StrictHostKeyChecking accept-new\n' >/root/.ssh/config &&
        /usr/sbin/sshd -o PermitRootLogin=prohibit-password
}
evaluate() { timeout 2400 "$examples/evaluation/evaluate" "$plan" --profile $profile --out "$out" --no-report; }
kept() { find "$out/raw" -name '*.json' 2>/dev/null | wc -l; }
some_kept() { (($(kept) >= 3)); }
interrupted() { # after three runs; its containers go with it
    evaluate >"$work/first" 2>&1 &
    local pid=$!
    wait_for 900 some_kept || { kill $pid; wait $pid; return 1; }
    pkill -TERM -P $pid
    wait $pid
    [[ $? == 130 ]] && [[ -z $(podman ps -aq) ]]
}
holds() { # WHAT JQ-FILTER: over all runs as a list
    jq -es "$2" "$out"/raw/*.json >"$work/ignored"
    report $? "$1" "$work/ignored"
}
report_page() { rdma-perf-report --no-figures --html "$out/report.html" "$out"; }

modprobe -a rdma_rxe siw ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1
podman run --rm --rootfs $rootfs true
world >"$work/before"
check "two namespaces" "$examples/evaluation/namespaces.sh" lab0
[[ $profile == quick ]] || check "sshd" start_sshd
make_plan
begin=$(now_ms)
if [[ $profile == full ]]; then
    interrupted >"$work/out" 2>&1
    report $? "an evaluation that is interrupted takes its containers along" "$work/first"
fi
before=$(kept)
evaluate >"$work/said" 2>&1
report $? "an evaluation comes to its end: $before runs were there, $(kept) are now, $((($(now_ms) - begin) / 1000)) s in all" "$work/said"
sed 's/^/# /' "$work/said"
[[ $before == 0 ]] || check "those that were there were kept" grep -q "^$before of .* are there already" "$work/said"
check "nothing is left to do" evaluate
holds "path MTU is the same in all, and recorded" \
    '[.[].mtu.path_bytes] | unique | length == 1 and .[0] == 4096'
holds "all data was right" '[.. | .data_ok? | select(. != null)] | length > '$checked' and all'
[[ $profile == quick ]] || holds "host and container alternate" '[.[] | select(.suite == "basic")] | sort_by(.position) | [.[0:4][].system.name]
    == ["host", "container", "container", "host"]'
holds "one and four transfers, over TCP and RDMA" '[.[] | select(.suite == "transfers") | .report.results[].point | [.clients, .transport]]
    | unique == [[1, "rc"], [1, "tcp"], [4, "rc"], [4, "tcp"]]'
holds "two devices together" '[.[] | select(.suite == "multi_dev") | .report.results[].point.clients] | unique == [1, 2]'
holds "Soft-iWARP beside SoftRoCE" '[.[] | select(.suite == "software") | .system.mode] | unique == ["softiwarp", "softroce"]'
holds "environment and command are in every file" 'all(.[]; (.command | length) > 4 and .environment.client.processors != null and
    .environment.server.system != null and (.report.env | .client.kernel != null and .server.kernel != null))'
check "the page" report_page
check "it is labelled" grep -q '<strong>Emulation.</strong> Two cores that QEMU emulates' "$out/report.html"
check "it compares container and host" grep -q 'container against host' "$out/report.html"
check "it shows what the thesis compared" grep -q 'unequal MTU, SR-IOV' "$out/report.html"
check "the namespaces go" "$examples/evaluation/namespaces.sh" --remove
same_world "nothing is left" "$work/before"
clean_kernel_log
finish
