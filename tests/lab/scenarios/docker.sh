#!/bin/bash
# softroce under Docker by rdma-runtime, end to end: annotation in, verified RDMA out, everything taken back.
#   tests/lab/run --kernel 7.3 --timeout 900 tests/lab/scenarios/docker.sh [--full|--brief] [RUNTIME...]
# RUNTIMEs: what rdma-runtime calls: runc and crun unless given. --full: every way to end, and more of Docker's life;
# without, matrix.sh has some of the former. --brief: what Docker shows of a container's device, a failure, and what the page says.
source "${BASH_SOURCE[0]%/*}/engines-lib.sh"
full=0 brief=0 ways=(stop restart twice)
case ${1:-} in
--full) full=1 ways=(stop kill "rm -f" init restart twice); shift ;;
--brief) brief=1; shift ;;
esac
runtimes=("$@")
[[ $# -gt 0 ]] || runtimes=(runc crun)
page=${BASH_SOURCE[0]%/tests/*}/docs/engines/docker.md

modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1

# What the page says: the file, and the lines to be typed.
of_page() { sed -n 's/^    //p' "$page"; }
mkdir -p /etc/docker /etc/rdma-hook
of_page | sed -n '/^{/,/^}/p' >/etc/docker/daemon.json

if ((!brief)); then
    docker_inside() { docker exec "$@"; }
    docker_init() { docker inspect -f '{{.State.Pid}}' "$1"; }
fi
container_id() { docker inspect -f '{{.Id}}' "$1"; }
is_status() { [[ $(docker inspect -f '{{.State.Status}}' "$1") == "$2" ]]; }

softroce=(--runtime rdma --annotation rdma.mode=softroce)
start() { # NAME ADDRESS [OPTION...]: a container that waits
    docker_start "$1" mode=softroce "ip=$2/24" -- "${@:3}"
}
# Where the package's prerm looks for it: containerd is dockerd's own, or the host's.
in_bundle() { grep -qs 'rdma-runtime$' /run/{docker/containerd/daemon,containerd}/io.containerd.runtime.v2.task/moby/"$(container_id "$1")"/runtime; }
pair() { check "$1" talk docker one two "${@:2}"; } # WHAT PORT SERVER... -- CLIENT...

traffic() {
    check "$runtime: one starts" start one 10.9.0.1
    check "$runtime: two starts" start two 10.9.0.2
    check "$runtime: Docker's own interface is there too" docker exec one bash -c 'ip -br address show eth0 | grep -q UP'
    check "$runtime: and works" docker exec one ping -c 1 -W 5 "$(docker inspect -f '{{.NetworkSettings.Networks.bridge.Gateway}}' one)"
    equal "$runtime: rdmactl shows the container by Docker's id" live "$(rdmactl show "$(container_id one)" --json | jq -r .container.state)"
    equal "$runtime: and by its name" live "$(rdmactl show docker:one --json | jq -r .container.state)"
    check "$runtime: its bundle says that it runs under rdma-runtime" in_bundle one
    equal "$runtime: ibv_devices lists one device" 1 "$(docker exec one ibv_devices | grep -c rxe)"
    equal "$runtime: one verbs node" 1 "$(docker exec one bash -c 'ls /dev/infiniband' | grep -c uverbs)"
    check "$runtime: attach.json" docker exec one grep -q '"attached":true' /run/rdma/attach.json
    exec_finds one
    check "$runtime: nobody of the host holds the namespace by a descriptor" no_descriptors
    pair "$runtime: rdma-perf passes, verified" 18600 rdma-perf serve --bind 0.0.0.0 --once -- rdma-perf run 10.9.0.1 --time 0.5s --size 4096
    pair "$runtime: ib_write_bw passes unchanged" 18515 ib_write_bw -n 200 -- ib_write_bw -n 200 10.9.0.1
    docker rm -f one two >/dev/null
    same_world "$runtime: nothing is left after traffic" "$work/before"
}

# A start, with one `docker exec` that looks at all of it: each takes an emulated guest three seconds.
start_and_traffic() {
    local engine=docker seen
    check "$runtime: one starts" start one 10.9.0.1
    check "$runtime: two starts" start two 10.9.0.2
    check "$runtime: Docker's own interface works, too" in_network one ping -c 1 -W 5 "$(docker inspect -f '{{.NetworkSettings.Gateway}}' one)"
    equal "$runtime: rdmactl shows the container by its name" live "$(rdmactl show docker:one --json | jq -r .container.state)"
    check "$runtime: its bundle says that it runs under rdma-runtime" in_bundle one
    check "$runtime: nobody of the host holds the namespace by a descriptor" no_descriptors
    seen=$(docker exec one bash -c 'ibv_devices | grep -c rxe; ls /dev/infiniband | grep -c uverbs; grep -c "\"attached\":true" /run/rdma/attach.json
        env | grep -cE "^(NCCL|UCX|RDMA)_"; grep ^NCCL_IB_HCA= /etc/nccl.conf' | xargs)
    equal "$runtime: docker exec finds one device, one node, attach.json, no variables, but files" "1 1 1 0 NCCL_IB_HCA=$(environment one NCCL_IB_HCA)" "$seen"
    pair "$runtime: rdma-perf passes, verified" 18600 rdma-perf serve --bind 0.0.0.0 --once -- \
        rdma-perf run 10.9.0.1 --verb write --mode bw --time 0.2s --size 4096
    docker rm -f one two >/dev/null
    same_world "$runtime: nothing is left after traffic" "$work/before"
}

# What `docker exec` starts has Docker's environment, and finds in files the variables of the container's init.
exec_finds() { # NAME
    local engine=docker each file
    equal "$runtime: what is started later has none of the variables" 0 "$(docker exec "$1" env | grep -cE '^(NCCL|UCX|RDMA)_')"
    for each in NCCL_IB_HCA NCCL_IB_GID_INDEX UCX_NET_DEVICES UCX_IB_GID_INDEX UCX_UD_VERBS_ETH_DGID_CHECK; do
        file=/etc/nccl.conf
        [[ $each == NCCL* ]] || file=/etc/ucx/ucx.conf
        check "$runtime: but $each in $file" docker exec "$1" grep -qxF "$each=$(environment "$1" "$each")" $file
    done
    refused "$runtime: and cannot write there" 'Read-only' docker exec "$1" bash -c 'echo >/etc/nccl.conf'
}

# A descriptor of a container's namespace in a process that is not in it would outlive the container.
no_descriptors() {
    local namespace
    namespace=$(readlink "/proc/$(docker_init one)/ns/net" | sed 's/[][]/\\&/g') # -lname takes a pattern
    find "/proc/$(docker_init one)/ns/net" -lname "$namespace" | grep -q . || return 1
    ! find /proc/[0-9]*/fd -lname "$namespace" 2>/dev/null | grep .
}

ends() { # ways to die, each with a fresh container
    local way
    for way in "${ways[@]}"; do
        start one 10.9.0.1 >"$work/out" 2>&1 || report 1 "$runtime: start before $way" "$work/out"
        case $way in
        stop) docker stop -t 0 one ;;
        kill) docker kill one ;;
        "rm -f") docker rm -f one ;;
        init) kill -9 "$(docker_init one)" && wait_for 30 is_status one exited ;;
        restart)
            check "$runtime: restart" docker restart -t 0 one
            check "$runtime: and it has its device again" docker exec one bash -c 'ibv_devices | grep -q rxe'
            exec_finds one # over the mount points of its last start
            docker stop -t 0 one
            ;;
        twice) docker stop -t 0 one && docker start one && docker stop -t 0 one ;;
        esac >"$work/end" 2>&1
        grep -E '^(not )?ok' "$work/end"
        same_world "$runtime: nothing is left after $way" "$work/before"
        docker rm -f one >/dev/null 2>&1
    done
}

failing() {
    refused "$runtime: a command that does not exist" 'no/such/command' docker run --rm --name one "${softroce[@]}" --annotation rdma.ip=10.9.0.1/24 "${docker_image[@]}" /no/such/command
    same_world "$runtime: nothing is left after it" "$work/before"
    ((brief)) || equal "$runtime: nor in the list" 0 "$(rdmactl list --json | jq '.containers | length')"
    refused "$runtime: a typing error is shown to the person" 'did you mean rdma.mode' docker run --rm --runtime rdma --annotation rdma.mod=softroce "${docker_image[@]}" true
    ((!brief)) || return
    refused "$runtime: --network host is refused" 'leave out --network host' docker run --rm "${softroce[@]}" --network host "${docker_image[@]}" true
    refused "$runtime: a taken address is refused" 'rdma-runtime: create: .*10.9.0.1' two_of_one_address
    docker rm -f one >/dev/null 2>&1
    same_world "$runtime: nothing is left after refusals" "$work/before"
}
two_of_one_address() {
    start one 10.9.0.1 >/dev/null && docker run --rm "${softroce[@]}" --annotation rdma.ip=10.9.0.1/24 "${docker_image[@]}" true
}

sharing() {
    start one 10.9.0.1 >/dev/null 2>&1
    check "$runtime: an equal request joins the container's network" start two 10.9.0.1 --network container:one
    docker rm -f two >/dev/null 2>&1
    check "$runtime: the joined one's end takes nothing" docker exec one bash -c 'ibv_devices | grep -q rxe'
    docker rm -f one >/dev/null 2>&1
    check "$runtime: --network none" start one 10.9.0.1 --network none
    check "$runtime: lo is up there" docker exec one bash -c 'ip -br link show lo | grep -q UP'
    docker rm -f one >/dev/null 2>&1
    same_world "$runtime: nothing is left after sharing" "$work/before"
}

dies() { # dockerd, and comes back
    start one 10.9.0.1 >/dev/null 2>&1
    end_dockerd KILL
    check "$runtime: dockerd comes back after SIGKILL" start_dockerd
    docker rm -f one >"$work/out" 2>&1
    report $? "$runtime: and removes the container" "$work/out"
    same_world "$runtime: nothing is left of it" "$work/before" 60
    check "$runtime: the next container starts" start one 10.9.0.1
    docker rm -f one >/dev/null 2>&1
    same_world "$runtime: and ends" "$work/before"
}

# ---- Docker's life: after each the container has its device, or is gone with all that was its own --------------
has_device() {
    docker exec one bash -c 'device=$(ibv_devices | awk "NR > 2 { print \$1 }") &&
        grep -q "\"attached\":true" /run/rdma/attach.json && grep -q "\"device\":\"$device\"" /run/rdma/attach.json'
}
is_again() { is_status one running && [[ $(docker_init one) != "$1" ]]; } # PID that it had
comes_again() { # WHAT PID
    wait_for 60 is_again "$2"
    report $? "$runtime: $1: it runs again"
    check "$runtime: $1: with its device" has_device
}
has_restarted() { is_status one exited && [[ $(docker inspect -f '{{.RestartCount}}' one) == "$1" ]]; }

policies() {
    local times pid
    start one 10.9.0.1 --restart=always >/dev/null 2>&1
    for times in once twice "three times"; do
        pid=$(docker_init one)
        kill -9 "$pid"
        comes_again "--restart=always, killed $times" "$pid"
        ((full)) || break
    done
    if ((full)); then
        pid=$(docker_init one)
        check "$runtime: --restart=always: out of memory" runs_out_of_memory "$pid"
        comes_again "--restart=always, out of memory" "$pid"
    fi
    check "$runtime: docker pause" docker pause one
    check "$runtime: gc takes nothing from it" rdmactl gc
    check "$runtime: docker unpause" docker unpause one
    check "$runtime: it has its device still" has_device
    docker kill one >/dev/null 2>&1
    wait_for 30 is_status one exited
    same_world "$runtime: docker kill is the end of --restart=always" "$work/before"
    docker rm -f one >/dev/null 2>&1
    ((full)) || return
    local command=(sh -c 'exit 1')
    start one 10.9.0.1 --restart=on-failure:3 >/dev/null 2>&1
    check "$runtime: --restart=on-failure:3 of what fails each time" wait_for 120 has_restarted 3
    same_world "$runtime: nothing is left as Docker gives up" "$work/before"
    docker rm -f one >/dev/null 2>&1
}

restarts() { # of dockerd, with a container that is to be always there
    local pid
    start one 10.9.0.1 --restart=always >/dev/null 2>&1
    pid=$(docker_init one)
    end_dockerd TERM
    same_world "$runtime: dockerd ends: nothing is left" "$work/before"
    start_dockerd
    comes_again "dockerd is there again" "$pid"
    pid=$(docker_init one)
    end_dockerd KILL
    start_dockerd
    comes_again "dockerd after SIGKILL" "$pid"
    docker rm -f one >/dev/null 2>&1
    same_world "$runtime: nothing is left after restarts" "$work/before" 60
}

live_restore() {
    local signal pid
    end_dockerd TERM
    start_dockerd --live-restore --experimental
    start one 10.9.0.1 >/dev/null 2>&1
    for signal in KILL TERM; do
        end_dockerd $signal
        check "$runtime: --live-restore: dockerd comes back after SIG$signal" start_dockerd --live-restore --experimental
        check "$runtime: and the container has gone on with its device" has_device
        ((full)) || break
    done
    refused "$runtime: docker checkpoint is refused" 'a container with RDMA cannot be checkpointed' docker checkpoint create one first
    check "$runtime: and the container goes on" has_device
    if ((full)); then
        pid=$(docker_init one)
        end_dockerd TERM
        kill -9 "$pid"
        start_dockerd --live-restore --experimental
        wait_for 60 is_status one exited
        report $? "$runtime: --live-restore: it died while dockerd was away"
        same_world "$runtime: nothing is left of it" "$work/before" 60
    fi
    docker rm -f one >/dev/null 2>&1
    same_world "$runtime: and is taken back" "$work/before" 60
}

# CRIU's images are not asked for: config.json is enough.
restore() {
    local runtime=runc
    bundle restored mode=softroce
    refused "restoring a checkpoint is refused" 'cannot be restored with rdma.* annotations' \
        rdma-runtime restore --bundle "$bundles/restored" --image-path "$work" restored
    bundle restored
    refused "without rdma.* it is runc's" 'criu|CRIU|checkpoint|image' rdma-runtime restore --bundle "$bundles/restored" --image-path "$work" restored
    drop_bundles
    same_world "nothing is left of that" "$work/before"
}

# Podman's precreate hook has done it all when rdma-runtime is called.
under_podman() {
    check "$runtime: as Podman's runtime, after its hook" podman --runtime /usr/bin/rdma-runtime run --rm --network none \
        --annotation rdma.mode=softroce --rootfs $rootfs bash -c '[[ $(ibv_devices | grep -c rxe) == 1 ]]'
    same_world "$runtime: nothing is left of it" "$work/before"
}

# A container of no concern, by itself: with a config.json as no engine writes it, which must stay to the letter.
odd_bundle() {
    local dir=/run/odd
    mkdir -p $dir
    (cd $dir && rm -f config.json && runc spec)
    # Spaces, an escaped letter, members that nobody knows, numbers that no double holds, no newline at the end.
    jq '.process.terminal = false | .process.args = ["true"] | .root.path = "/usr/lib/lab/rootfs"' $dir/config.json |
        sed -e '1s/{/{  "x-unknown" : {"b":1,   "a":[ 18446744073709551615,9007199254740993,-0.0,1e400 ]},/' \
            -e 's/"terminal":/"t\\u0065rminal"  :   /' -e 's/$/\t /' | head -c -3 >$dir/odd
    mv $dir/odd $dir/config.json
    cp $dir/config.json "$work/odd"
}
odd() {
    local before after
    before=$(stat -c '%i %s %y %z %a' /run/odd/config.json)
    (cd /run/odd && timeout 60 rdma-runtime run odd) || return
    after=$(stat -c '%i %s %y %z %a' /run/odd/config.json)
    [[ $before == "$after" ]] && cmp "$work/odd" /run/odd/config.json
}

bystanders() {
    local state text kept file=/etc/rdma-hook/config.json
    kept=$(<"$file")
    odd_bundle
    for state in as-it-is broken others-may-write a-folder a-fifo a-loop no-folder missing; do
        rm -rf "$file"
        mkdir -p "${file%/*}"
        case $state in
        as-it-is) echo "$kept" >"$file" ;;
        broken) echo '{"polls":' >"$file" ;;
        others-may-write) echo "$kept" >"$file"; chmod 666 "$file" ;;
        a-folder) mkdir "$file" ;;
        a-fifo) mkfifo "$file" ;;
        a-loop) ln -s "$file" "$file" ;;
        no-folder) rm -rf "${file%/*}"; echo x >"${file%/*}" ;;
        esac
        check "$runtime: a container without rdma.*, configuration $state: its config.json stays to the letter" odd
        if [[ $state != as-it-is && $state != missing ]]; then
            refused "$runtime: one with rdma.*, configuration $state, is refused" 'rdma-hook' \
                timeout 60 docker run --rm "${softroce[@]}" "${docker_image[@]}" true
        fi
        [[ $state != no-folder ]] || rm "${file%/*}"
    done
    for state in missing a-fifo broken; do
        rm -f "$file"
        case $state in
        a-fifo) mkfifo "$file" ;;
        broken) echo '{"polls":' >"$file" ;;
        esac
        check "$runtime: Docker runs a container without rdma.*, configuration $state" timeout 60 docker run --rm --runtime rdma "${docker_image[@]}" true
    done
    rm -f "$file"
    text=$(docker run --rm --runtime rdma "${docker_image[@]}" sh -c 'ls /dev; ls /run; env | cut -d= -f1; ulimit -l')
    equal "$runtime: it is what it is without us" "$(docker run --rm "${docker_image[@]}" sh -c 'ls /dev; ls /run; env | cut -d= -f1; ulimit -l')" "$text"
    equal "$runtime: its status is its own" 7 "$(docker run --rm --runtime rdma "${docker_image[@]}" sh -c 'exit 7'; echo $?)"
    same_world "$runtime: nothing is left after bystanders" "$work/before"
}

# Files of settings where the image's own, the user's or a root that nobody can write is.
settings() {
    start one 10.9.0.1 --read-only >/dev/null 2>&1
    exec_finds one
    docker rm -f one >/dev/null 2>&1
    echo NCCL_DEBUG=WARN >"$work/nccl.conf"
    start one 10.9.0.1 -v "$work/nccl.conf:/etc/nccl.conf:ro" >/dev/null 2>&1
    equal "$runtime: the user's own file stays" NCCL_DEBUG=WARN "$(docker exec one cat /etc/nccl.conf)"
    docker rm -f one >/dev/null 2>&1
    same_world "$runtime: nothing is left after settings" "$work/before"
}
settings_of_bundles() { # runc and crun by themselves, on a file system that is mounted read-only
    local runtime root=/run/lab-read-only command=(bash -c '[[ -e /etc/nccl.conf ]] || exit 4')
    mkdir -p $root && mount --bind "${rootfs%:O}" $root && mount -o remount,bind,ro $root
    for runtime in runc crun; do
        printf '{"runtime": "%s"}\n' "$(command -v $runtime)" >/etc/rdma-hook/config.json
        bundle settled mode=softroce -- ".root.path = \"$root\" | .mounts += [{destination: \"/run\", type: \"tmpfs\", source: \"tmpfs\"}]"
        rdma-runtime run --bundle "$bundles/settled" settled >"$work/out" 2>&1
        equal "$runtime: a container on a read-only file system starts, and has no file of rdma-hook" 4 $?
        drop_bundles
    done
    umount $root
    same_world "nothing is left of that" "$work/before"
}

# Images of their own, whose /usr no mount hides: one that is whole, and one without the provider of rxe.
images() {
    local id docker_image=(lab:whole)
    tar -C "${rootfs%:O}" -cf - . | docker import - lab:whole >"$work/out" 2>&1 || report 1 "an image" "$work/out"
    tar -C "${rootfs%:O}" --exclude 'librxe-rdmav*.so' -cf - . | docker import - lab:poor >"$work/out" 2>&1 || report 1 "an image" "$work/out"
    check "an image that is whole: it starts" start one 10.9.0.1
    id=$(container_id one)
    equal "its attach.json has nothing against it" null "$(docker exec one cat /run/rdma/attach.json | jq '.attachments[0].image_lacks')"
    equal "verify finds its provider" ok "$(rdmactl verify "$id" --json | jq -r '.images[0].status')"
    docker rm -f one >/dev/null 2>&1
    docker_image=(lab:poor)
    check "an image without the provider: it starts" start one 10.9.0.1
    id=$(container_id one)
    equal "its programs see no device" 0 "$(docker exec one ibv_devices | grep -c rxe)"
    check "attach.json says why" docker exec one grep -q '"image_lacks":"[^"]*has no provider rxe' /run/rdma/attach.json
    equal "doctor, too" warning "$(rdmactl doctor --json | jq -r '.checks[] | select(.id == "images") | .status')"
    equal "and verify, which does without" "warning 0" \
        "$(rdmactl verify "$id" --json | jq -r '.images[0].status') $(rdmactl verify "$id" >"$work/out" 2>&1; echo $?)"
    docker rm -f one >/dev/null 2>&1
    docker rmi lab:poor >/dev/null 2>&1
    same_world "nothing is left of images" "$work/before"
}

examples() { # the lines of the page, with an image that there is
    local line
    while read -r line; do
        line=${line//IMAGE/${docker_image[*]}}
        check "docs/engines/docker.md: $line" bash -c "$line"
    done < <(of_page | grep '^docker run')
    same_world "docs/engines/docker.md: nothing is left" "$work/before"
}

# examples/docker-compose: two containers that measure each other; the client's end is the end of all.
compose() {
    local top=${BASH_SOURCE[0]%/tests/*} file
    file=$top/examples/docker-compose/compose.yaml
    check "the image of rdma-perf is made" "$top/packaging/image/make" "$work/image"
    check "and an archive of it" python3 -B "$top/packaging/oci.py" "$work/image" "$work/rdma-perf.oci.tar"
    check "docker load takes it" docker load --input "$work/rdma-perf.oci.tar"
    timeout 300 docker compose -f "$file" up --abort-on-container-exit --exit-code-from client >"$work/composed" 2>&1
    report $? "examples/docker-compose: docker compose up" "$work/composed"
    # A client that was there before its server has begun again: `up` shows what it said first.
    docker compose -f "$file" logs client >"$work/measured" 2>&1
    grep -qE ' ok [0-9]+ [KMG]iB' "$work/measured"
    report $? "examples/docker-compose: the client has measured" "$work/measured"
    timeout 100 docker compose -f "$file" down -t 0 >"$work/out" 2>&1
    report $? "examples/docker-compose: docker compose down" "$work/out"
    docker rmi -f localhost/rdma-perf >"$work/out" 2>&1
    same_world "examples/docker-compose: nothing is left" "$work/before"
}

equal "the page's daemon.json is what rdmactl makes" false "$(rdmactl runtime configure --runtime=docker --json | jq .changed)"
check "dockerd starts with it" docker_set_up
# Docker makes what it keeps with the first container; the page has one without us.
((brief)) || docker run --rm "${docker_image[@]}" true >"$work/out" 2>&1 || report 1 "a container without us" "$work/out"
world >"$work/before"
for runtime in "${runtimes[@]}"; do
    printf '{"runtime": "%s"}\n' "$(command -v "$runtime")" >/etc/rdma-hook/config.json
    if ((brief)); then
        start_and_traffic
        failing
        continue
    fi
    traffic
    failing
    ends
    [[ $runtime == "${runtimes[0]}" ]] || continue
    sharing
    settings
    dies
    policies
    ((!full)) || restarts
    live_restore
    restore
    under_podman
    bystanders
done
examples
((brief)) || { settings_of_bundles; images; compose; }
((!failed)) || tail -n 40 /tmp/dockerd.log | sed 's/^/# /'
clean_kernel_log
end_dockerd TERM
finish
