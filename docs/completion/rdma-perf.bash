# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Completion of rdma-perf for bash. tests/lint/manual.py holds its words to `rdma-perf --help`.

# What may follow a command: its commands and options.
_rdma_perf_words() {
    local wish='--device --gid --timeout --attach-file'
    case $1 in
    '') echo serve run loop thesis kv compare gids doctor isolate --version ;;
    serve) echo --bind --port --once --max-threads --allow-isolation-tests --explain-gid --memory "$wish" ;;
    run | loop)
        [[ $1 == loop ]] || echo --port
        echo --verb --transport --cm --mode --size --iterations --time --interval --qps --threads --direction --depth --batch --rate --with
        echo --signal --inline --reads --ring --tclass --dscp --sl --flow-label --pkey-index
        echo --poll --mtu --ordering --verify --seed --reps --plan --json --csv --jsonl --expect --explain-gid --memory "$wish"
        ;;
    thesis) echo --port --suite --size --qps --time --reps --mtu --json "$wish" ;;
    kv) echo --port --keys --value --zipf --time --reps --poll --seed --json "$wish" ;;
    compare) echo --allow --expect --json ;;
    gids) echo --peer --json "$wish" ;;
    doctor) echo --port --peer --json "$wish" ;;
    isolate) echo --port --json "$wish" ;;
    esac
    echo --help
}

_rdma_perf_devices() {
    local path
    for path in /sys/class/infiniband/*; do
        [[ ! -e $path ]] || echo "${path##*/}"
    done
}

_rdma_perf() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command='' each i words=''
    for ((i = 1; i < COMP_CWORD; ++i)); do
        each=${COMP_WORDS[i]}
        case $each in
        --once | --allow-isolation-tests | --cm | --explain-gid | --help) ;;
        --*) i=$((i + 1)) ;;
        *) [[ -n $command ]] || command=$each ;;
        esac
    done
    COMPREPLY=()
    case $before in
    --device) words=$(_rdma_perf_devices) ;;
    --verb) words='write read send write_imm send_imm fetch_add cmp_swap' ;;
    --transport) words='rc uc ud srd tcp' ;;
    --mode) words='bw lat' ;;
    --direction) words='forward reverse both' ;;
    --poll) words='auto spin yield event hybrid' ;;
    --ordering) words='relaxed strict' ;;
    --memory) words='host huge cuda rocm dmabuf' ;;
    --verify) words='edges full off' ;;
    --json | --csv | --jsonl | --plan | --attach-file)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
        ;;
    --once | --allow-isolation-tests | --cm | --explain-gid | --help | [!-]*)
        words=$(_rdma_perf_words "$command")
        if [[ $command == compare && $word != -* ]]; then
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
        fi
        ;;
    *) return ;;
    esac
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -F _rdma_perf rdma-perf
