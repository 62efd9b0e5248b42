# SPDX-License-Identifier: Apache-2.0
# Written by docs/generate from the man page and bash's completion: change those.

complete -c rdma-perf-report -s h -l help -d 'Print the options'
complete -c rdma-perf-report -l html -r -F -d 'Write the page there'
complete -c rdma-perf-report -l figures -r -F -d 'Write each figure there as SVG and PNG, too'
complete -c rdma-perf-report -l no-figures -d 'Tables only'
complete -c rdma-perf-report -l baseline -r -f -d 'The system to which the others are compared'
complete -c rdma-perf-report -l published -r -F -d 'Published numbers to show beside yours'
complete -c rdma-perf-report -l no-published -d 'Show no published numbers'
complete -c rdma-perf-report -l title -r -f -d 'The title of the page'
