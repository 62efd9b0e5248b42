# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Completion of rdma-perf-report for bash. tests/lint/manual.py holds its words to its --help.
_rdma_perf_report() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    case $before in
    --baseline | --title) return ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W '--html --figures --no-figures --baseline --published --no-published --title --help' -- "$word")
        return
    fi
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
}
complete -F _rdma_perf_report rdma-perf-report
