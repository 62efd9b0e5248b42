#compdef rdma-perf-report
# SPDX-License-Identifier: Apache-2.0
# Written by docs/generate from the man page and bash's completion: change those.

_rdma_perf_report() {
    local curcontext=$curcontext state line
    typeset -A opt_args
    _arguments -s '(-h --help)'{-h,--help}'[Print the options]' '--html[The page]:file:_files' '--figures[Write each figure there as SVG and PNG, too]:folder:_files' '--no-figures[Tables only]' '--baseline[The system that the others are compared with]:name: ' '--published[Published numbers to show beside]:file:_files' '--no-published[Without published numbers]' '--title[The title of the page]:title: ' '*:source:_files'
}

_rdma_perf_report "$@"
