# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Completion of rdmactl for bash. tests/lint/manual.py holds its words to `rdmactl --help`.

# What may follow a command: its commands and its own options.
_rdmactl_words() {
    case $1 in
    '') echo plan list show stats verify attach detach doctor suggest gc recover vf asap2 runtime cdi config --version ;;
    plan) echo --annotation --spec --netns ;;
    list) echo --failed --watch ;;
    stats) echo --prometheus --output ;;
    attach) echo --annotation --pid --bundle ;;
    gc) echo --regrant --forget --dry-run ;;
    vf) echo list enable disable ;;
    'vf enable' | 'vf disable' | 'asap2 disable') echo --dry-run ;;
    asap2) echo enable disable status ;;
    'asap2 enable') echo --vfs --bridge --tc-policy --dry-run ;;
    runtime) echo configure list ;;
    'runtime configure') echo --runtime --name --low-level --dry-run --unset --memlock --starter-policy ;;
    cdi) echo generate list ;;
    'cdi generate') echo --output ;;
    config) echo check ;;
    'config check') echo --annotation --spec ;;
    esac
    echo --config --json --help
}

# Ids, and names where an engine has given one.
_rdmactl_containers() {
    local json each='"(id|name)": *"([^"]+)"'
    json=$(rdmactl list --json 2>/dev/null) || return
    while [[ $json =~ $each ]]; do
        echo "${BASH_REMATCH[2]}"
        json=${json#*"${BASH_REMATCH[0]}"}
    done
}

# Netdevs of PCI functions that can have virtual ones.
_rdmactl_pfs() {
    local file
    for file in /sys/class/net/*/device/sriov_totalvfs; do
        [[ ! -e $file ]] || { file=${file#/sys/class/net/} && echo "${file%%/*}"; }
    done
}

_rdmactl() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command='' arguments=0 each i words=''
    for ((i = 1; i < COMP_CWORD; ++i)); do
        each=${COMP_WORDS[i]}
        case $each in
        --config | -a | --annotation | --spec | --netns | --vfs | --bridge | --tc-policy | --runtime | --name | --low-level | --output | --pid | --bundle) i=$((i + 1)) ;;
        -*) ;;
        *)
            case $command in
            '') command=$each ;;
            vf | asap2 | runtime | cdi | config) command+=" $each" ;;
            *) arguments=$((arguments + 1)) ;;
            esac
            ;;
        esac
    done
    COMPREPLY=()
    case $before in
    --config | --spec | --netns | --low-level | --output | --bundle)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
        ;;
    --tc-policy) words='none skip_sw skip_hw' ;;
    --runtime) words='docker containerd crio podman' ;;
    -a | --annotation | --vfs | --bridge | --name | --pid) return ;;
    *)
        words=$(_rdmactl_words "$command")
        if [[ $word != -* ]]; then
            case $command:$arguments in
            show:0 | stats:0 | verify:[01] | attach:0 | detach:0) words+=" $(_rdmactl_containers)" ;;
            suggest:0 | doctor:0) words+=' softroce softiwarp shared vf asap2 host' && [[ $command == suggest ]] || words+=' gpu' ;;
            'vf '*:0 | 'asap2 '*:0) words+=" $(_rdmactl_pfs)" ;;
            esac
        fi
        ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -F _rdmactl rdmactl
