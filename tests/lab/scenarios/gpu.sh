#!/bin/bash
# GPUs beside RDMA under Docker: rdma-runtime calls a runtime that edits config.json, too (gpu-runtime, which stands for NVIDIA's), and
# CDI files of a fake GPU. config.json has both edits; a failure of either leaves nothing of rdma-hook.
#   tests/lab/run --kernel 7.3 --timeout 900 tests/lab/scenarios/gpu.sh
source "${BASH_SOURCE[0]%/*}/engines-lib.sh"
examples=${BASH_SOURCE[0]%/tests/*}/examples
lab=/run/lab-gpu
named=/etc/rdma-hook/rdma-runtime.d

modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables || exit 1
mkdir -p $lab /etc/cdi
touch $lab/calls $lab/socket $lab/hooks
chmod 666 $lab/hooks
echo legacy >$lab/mode
install -m 755 "${BASH_SOURCE[0]%/*}/gpu-runtime" /usr/bin/nvidia-container-runtime
# NVIDIA's hooks. What they note is what rdma-hook has done by then: its own stage createRuntime takes a container out of pending/.
for each in nvidia-container-runtime-hook nvidia-cdi-hook; do
    printf '#!/bin/bash\necho "$1 pending=$(ls /run/rdma-hook/pending | wc -l)" >>%s/hooks\n' $lab >/usr/bin/$each
    chmod 755 /usr/bin/$each
done
# A node that the container can open by its own device rule alone: /dev/kmsg, to be written.
mknod -m 666 /dev/nvidia0 c 1 11
cat >/etc/cdi/nvidia.json <<'CDI'
{"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu",
 "devices": [{"name": "0", "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia0"}], "env": ["LAB_GPU=0"]}}],
 "containerEdits": {"hooks": [{"hookName": "createContainer", "path": "/usr/bin/nvidia-cdi-hook", "args": ["nvidia-cdi-hook", "update-ldcache"]}]}}
CDI

container_id() { docker inspect -f '{{.Id}}' "$1"; }
is_status() { [[ $(docker inspect -f '{{.State.Status}}' "$1") == "$2" ]]; }
start() { # RUNTIME NAME [OPTION...]: a container that waits
    docker run -d --name "$2" --network none --runtime "$1" --annotation rdma.mode=softroce --annotation rdma.ip=10.9.0.1/24 "${@:3}" \
        "${docker_image[@]}" "${command[@]}"
}
config() { # NAME: its config.json
    cat /run/{docker/containerd/daemon,containerd}/io.containerd.runtime.v2.task/moby/"$(container_id "$1")"/config.json 2>/dev/null
}
configured() { config one | jq -e "$@"; }
served_by() { # NAME: the low-level runtime that is remembered
    jq -r --arg id "$(container_id "$1")" 'select(.id == $id) | .runtime' /run/rdma-hook/runtimes/*.json | sort -u
}
gone() { # WHAT
    docker rm -f one >/dev/null 2>&1
    same_world "$1" "$work/before"
}

both_edits() { # MODE
    check "$1: it has an RDMA device" docker exec one bash -c '[[ $(ibv_devices | grep -c rxe) == 1 ]] && grep -q "\"attached\":true" /run/rdma/attach.json'
    equal "$1: and unlimited locked memory" unlimited "$(docker inspect -f '{{.State.Pid}}' one | xargs -I{} sed -n 's/^Max locked memory *\([a-z]*\) .*/\1/p' /proc/{}/limits)"
    check "$1: config.json has the verbs node and rdma-hook's hooks" configured \
        '(.linux.devices | any(.path | startswith("/dev/infiniband/uverbs"))) and (.hooks.createRuntime | any(.path == "/usr/bin/rdma-hook")) and (.hooks.poststop | length == 1)'
    if [[ $1 == legacy ]]; then
        check "$1: and their hook, once" configured '[.hooks.prestart[].path | select(endswith("nvidia-container-runtime-hook"))] | length == 1'
        equal "$1: which ran before the commit" "prestart pending=1" "$(<$lab/hooks)"
    else
        check "$1: and their device, mount and hook" configured '(.linux.devices | any(.path == "/dev/nvidia0")) and (.hooks.createContainer | length == 1)'
        equal "$1: which ran after the commit" "update-ldcache pending=0" "$(<$lab/hooks)"
        check "$1: the container can open the GPU" docker exec one bash -c ': >/dev/nvidia0'
    fi
}

below() { # rdma-runtime calls it
    local mode
    for mode in legacy cdi; do
        echo $mode >$lab/mode
        : >$lab/hooks
        check "$mode: it starts" start rdma-nvidia one
        both_edits $mode
        equal "$mode: its low-level runtime is remembered" /usr/bin/nvidia-container-runtime "$(served_by one)"
        check "$mode: restart" docker restart -t 0 one
        check "$mode: it has its device again" docker exec one bash -c 'ibv_devices | grep -q rxe'
        docker stop -t 0 one >/dev/null
        same_world "$mode: nothing is left after stop" "$work/before"
        check "$mode: start" docker start one
        kill -9 "$(docker inspect -f '{{.State.Pid}}' one)"
        wait_for 30 is_status one exited
        same_world "$mode: nor after its init's death" "$work/before"
        gone "$mode: nor after rm"
    done
}

above() { # it calls rdma-runtime
    local mode
    echo rdma-runtime >$lab/below
    for mode in legacy cdi; do
        echo $mode >$lab/mode
        : >$lab/hooks
        check "$mode, above rdma-runtime: it starts" start nvidia one
        both_edits $mode
        gone "$mode, above rdma-runtime: nothing is left"
    done
    # Each would call the other without end.
    echo $named/rdma-nvidia >$lab/below
    refused "a circle is refused" 'calls rdma-runtime; name runc or crun' start rdma-nvidia one
    gone "nothing is left of it"
    refused "also without rdma.*" 'calls rdma-runtime; name runc or crun' docker run --rm --network none --runtime rdma-nvidia "${docker_image[@]}" true
    rm $lab/below
}

fails() {
    local mode
    for mode in before after torn killed parent; do
        echo $mode >$lab/mode
        refused "their failure ($mode) is Docker's" . start rdma-nvidia one
        docker rm -f one >/dev/null 2>&1
        rdmactl gc >/dev/null # rdma-runtime itself was killed: the timer's work
        same_world "$mode: nothing of rdma-hook is left" "$work/before"
        equal "$mode: nor in the list" 0 "$(rdmactl list --json | jq '.containers | length')"
    done
    echo cdi >$lab/mode
    refused "rdma-hook's failure is Docker's, and theirs is not called" 'did you mean rdma.mode' \
        docker run --rm --network none --runtime rdma-nvidia --annotation rdma.mod=softroce "${docker_image[@]}" true
    mv /usr/bin/nvidia-container-runtime /usr/bin/aside
    refused "a low-level runtime that is missing is named" 'nvidia-container-runtime: No such file' start rdma-nvidia one
    refused "also without rdma.*" 'nvidia-container-runtime: No such file' docker run --rm --network none --runtime rdma-nvidia "${docker_image[@]}" true
    refused "doctor says so" 'low_level .*rdma-nvidia: .*No such file' bash -c 'rdmactl doctor | grep fail; exit 1'
    mv /usr/bin/aside /usr/bin/nvidia-container-runtime
    gone "nothing is left"
}

side_by_side() {
    local each
    for each in rdma-crun:crun rdma:runc rdma-nvidia:nvidia-container-runtime; do
        check "${each%:*}: it starts" start "${each%:*}" one
        equal "${each%:*}: by ${each#*:}" "$(command -v "${each#*:}")" "$(served_by one)"
        gone "${each%:*}: nothing is left"
    done
    equal "rdmactl runtime list has all of them" "rdma rdma-crun rdma-nvidia" "$(rdmactl runtime list --json | jq -r '[.runtimes[].name] | sort | join(" ")')"
}

# dockerd goes, the name is given another program, and dockerd comes back: the container stays with its own.
restart() {
    end_dockerd TERM
    start_dockerd --live-restore
    check "live-restore: it starts" start rdma-nvidia one
    refused "its runtime cannot be taken out" 'runs by /usr/bin/nvidia-container-runtime' rdmactl runtime configure --runtime=docker --name rdma-nvidia --unset
    end_dockerd KILL
    rdmactl runtime configure --runtime=docker --name rdma-nvidia --low-level crun >/dev/null
    check "dockerd is there again" start_dockerd --live-restore
    : >$lab/calls
    check "exec" docker exec one ibv_devices
    check "is theirs" grep -q ' exec ' $lab/calls
    check "rm -f" docker rm -f one
    check "is theirs" grep -q ' delete ' $lab/calls
    same_world "nothing is left" "$work/before"
    rdmactl runtime configure --runtime=docker --name rdma-nvidia --low-level nvidia-container-runtime >/dev/null
}

# The engine's own ways to a GPU need no other runtime than rdma.
by_engine() {
    local which
    for which in rdma rdma-nvidia; do
        echo legacy >$lab/mode
        : >$lab/hooks
        check "--runtime $which --gpus all" start $which one --gpus all
        check "$which: it has an RDMA device" docker exec one bash -c 'ibv_devices | grep -q rxe'
        equal "$which: one hook of theirs ran" "prestart pending=1" "$(<$lab/hooks)"
        gone "$which: nothing is left after --gpus"
        echo cdi >$lab/mode
        check "--runtime $which --device nvidia.com/gpu=0" start $which one --device nvidia.com/gpu=0
        check "$which: it can open the GPU and has an RDMA device" docker exec one bash -c ': >/dev/nvidia0 && ibv_devices | grep -q rxe'
        # docker exec takes the variables of the image and of `docker run`, and none of CDI's.
        equal "$which: its process has the variable of CDI's file" LAB_GPU=0 "$(xargs -0 -n 1 <"/proc/$(docker inspect -f '{{.State.Pid}}' one)/environ" | grep ^LAB_GPU)"
        gone "$which: nothing is left after CDI"
    done
    check "podman --device nvidia.com/gpu=0" podman run --rm --network none --device nvidia.com/gpu=0 --annotation rdma.mode=softroce --rootfs $rootfs \
        bash -c ': >/dev/nvidia0 && [[ $LAB_GPU == 0 ]] && ibv_devices | grep -q rxe'
    same_world "podman: nothing is left" "$work/before"
}

of_examples() {
    local file=$examples/gpu/compose.yaml
    tar -C "${rootfs%:O}" -cf - . | docker import --change 'ENTRYPOINT ["bash", "-c", ": >/dev/nvidia0 && ibv_devices | grep -q rxe && exec sleep 1000"]' - lab:inference \
        >"$work/out" 2>&1 || report 1 "an image" "$work/out"
    : >$lab/hooks
    check "examples/gpu/docker-gpus" env RDMA_IMAGE=lab:inference RDMA_MODE=softroce "$examples/gpu/docker-gpus" -d --name one --device nvidia.com/gpu=0
    check "its container has GPU and RDMA" docker exec one bash -c ': >/dev/nvidia0 && ibv_devices | grep -q rxe'
    equal "by a hook of theirs" "prestart pending=1" "$(grep prestart $lab/hooks)"
    gone "examples/gpu/docker-gpus: nothing is left"
    check "examples/gpu/compose.yaml: up" env INFERENCE_IMAGE=lab:inference RDMA_MODE=softroce DECODE_GPU=0 timeout 300 docker compose -f "$file" up -d
    check "both have GPU and RDMA" bash -c "for each in prefill decode; do
        INFERENCE_IMAGE=lab:inference docker compose -f $file exec -T \$each bash -c ': >/dev/nvidia0 && ibv_devices | grep -q rxe' || exit 1; done"
    check "examples/gpu/compose.yaml: down" env INFERENCE_IMAGE=lab:inference timeout 100 docker compose -f "$file" down -t 0
    same_world "examples/gpu/compose.yaml: nothing is left" "$work/before"
}

mkdir -p /etc/docker
echo '{"features": {"cdi": true}, "runtimes": {"nvidia": {"path": "/usr/bin/nvidia-container-runtime"}}}' >/etc/docker/daemon.json
check "configure rdma-nvidia" rdmactl runtime configure --runtime=docker --name rdma-nvidia --low-level nvidia-container-runtime
check "configure rdma-crun" rdmactl runtime configure --runtime=docker --name rdma-crun --low-level crun
refused "not a name of another's" 'no name for a runtime' rdmactl runtime configure --runtime=docker --name nvidia --low-level crun
refused "not itself" 'rdma-runtime itself' rdmactl runtime configure --runtime=docker --name rdma-x --low-level rdma-runtime
check "dockerd starts with them" docker_set_up
((!failed)) || { finish; exit 1; }
docker run --rm "${docker_image[@]}" true >"$work/out" 2>&1 || report 1 "a container without rdma-hook" "$work/out"
world >"$work/before"
below
above
fails
side_by_side
by_engine
of_examples
restart
((!failed)) || tail -n 40 /tmp/dockerd.log | sed 's/^/# /'
check "a runtime is taken out" rdmactl runtime configure --runtime=docker --name rdma-nvidia --unset
equal "with its program" "" "$(compgen -G "$named/*nvidia*")"
clean_kernel_log
end_dockerd TERM
finish
