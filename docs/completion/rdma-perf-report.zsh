#compdef rdma-perf-report
# SPDX-License-Identifier: Apache-2.0
# Written by docs/generate from the man page and bash's completion: change those.

_rdma_perf_report() {
    local curcontext=$curcontext state line
    typeset -A opt_args
    _arguments -s '(-h --help)'{-h,--help}'[Print the options]' '--html[Write the page there]:file:_files' '--figures[Write each figure there as SVG and PNG, too]:folder:_files' '--no-figures[Tables only]' '--baseline[The system to which the others are compared]:name: ' '--published[Published numbers to show beside yours]:file:_files' '--no-published[Show no published numbers]' '--title[The title of the page]:title: ' '*:source:_files'
}

_rdma_perf_report "$@"
