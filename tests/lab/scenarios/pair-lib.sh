# shellcheck shell=bash
# Two hosts (tests/lab/pair) and a controller outside, which reaches them by ssh. Sourced.
source "${BASH_SOURCE[0]%/*}/lib.sh"
# All guests are of one image, as is the controller, and so have one host key. By the same they let it in.
key=/etc/ssh/ssh_host_ed25519_key
hosts=(node1 node2)

# A host's part, before and after the controller's.
let_controller_in() {
    install -d -m 700 /root/.ssh
    cp $key.pub /root/.ssh/authorized_keys
    check "sshd starts" /usr/sbin/sshd
    check "the controller is done with this host" wait_for 7000 test -e /run/lab-pair-done
}

# The controller's. One connection for all commands: each of its own costs an emulated host a second.
connect() { ssh -fNM -S "/root/.ssh/$1" -i $key -p "220${1#node}" -o BatchMode=yes -o ConnectTimeout=60 root@127.0.0.1 >/dev/null 2>&1 </dev/null; }
reach_hosts() {
    local host
    install -d -m 700 /root/.ssh
    for host in "${hosts[@]}"; do echo "[127.0.0.1]:220${host#node} $(cut -d' ' -f1,2 $key.pub)"; done >/root/.ssh/known_hosts
    for host in "${hosts[@]}"; do check "$host answers" wait_for 600 connect "$host"; done
}
on() { # HOST COMMAND...
    local host=$1
    shift
    # shellcheck disable=SC2029 # expanded here
    ssh -S "/root/.ssh/$host" -o BatchMode=yes root@127.0.0.1 "$(printf '%q ' "$@")"
}
let_hosts_go() {
    local host
    for host in "${hosts[@]}"; do check "$host knows that it is done" on "$host" touch /run/lab-pair-done; done
}
