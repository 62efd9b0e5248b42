#compdef rdma-perf
# SPDX-License-Identifier: Apache-2.0
# Written by docs/generate from the man page and bash's completion: change those.

_rdma_perf_devices() {
    local -a known=(/sys/class/infiniband/*(N:t))
    compadd -a known
}

_rdma_perf() {
    local curcontext=$curcontext state line
    typeset -A opt_args
    _arguments -s -C '(-h --help)'{-h,--help}'[Print help]' '--version[Print the version]' '1:command:->command' '*::argument:->argument' && return
    case $state in
    command)
        local -a known=('serve:Serve every test of any client' 'run:Measure against servers' 'loop:Measure with both ends in this process' 'thesis:Run the plan of a suite of an evaluation' 'kv:Compare two ways to get values from a key-value table' 'compare:Compare two reports that were made with repetitions' 'gids:Print every GID, which one would be used, and why' 'doctor:Check what this container or host can see' 'isolate:Try what must not work, against a server that agreed to it')
        _describe command known
        ;;
    argument)
        case $line[1] in
        serve)
            _arguments -s '--bind[Address to listen on, instead of loopback only]:address: ' '--port[TCP port of the control connection]:port: ' '--once[End after the first client]' '--max-threads[Measuring threads of all clients together, or auto]:count: ' '--allow-isolation-tests[Let clients run isolate against one page of this process]' '--device[RDMA device, instead of the one whose GID fits]:name:_rdma_perf_devices' '--gid[GID index, or auto]:index: ' '--timeout[Deadline of each step]:time: ' '--attach-file[File with the devices of this container]:file:_files' '--explain-gid[Print every GID with the reason for or against it]' '--memory[Memory of the buffers of this side]:where:(host huge cuda rocm dmabuf)' '(-h --help)'{-h,--help}'[Print help]'
            ;;
        run)
            _arguments -s '--port[TCP port of the control connection]:port: ' '--verb[Of write, read, send, write_imm, send_imm, fetch_add, cmp_swap]:list:(write read send write_imm send_imm fetch_add cmp_swap)' '--transport[Of rc, uc, ud, srd (of EFA), and tcp to compare with]:list:(rc uc ud srd tcp)' '--cm[Connect queue pairs by rdma_cm]' '--mode[Of bw and lat]:list:(bw lat)' '--size[Bytes, K, M]:list: ' '--time[Length of each point or trial, such as 500ms]:time: ' '--interval[Print a line each time while a point runs]:seconds: ' '--iterations[Messages of each point, instead of a time]:count: ' '--qps[Numbers of queue pairs (bw)]:list: ' '--threads[Threads that drive them on each side]:count: ' '--direction[Of the data]:direction:(forward reverse both)' '--depth[Messages in flight on each queue pair (bw), or auto]:list: ' '--batch[Messages posted at once (bw), or auto]:list: ' '--signal[Messages for each completion (bw), or auto]:count: ' '--ring[Memory that the messages of a side go round in, or auto]:bytes: ' '--inline[Largest message that goes inline in its work request, or auto]:bytes: ' '--reads[Reads and atomics in flight on each queue pair, or auto]:count: ' '--tclass[Traffic class of all packets, 0 to 255]:number: ' '--dscp[Upper six bits of the traffic class, 0 to 63]:number: ' '--sl[Service level of all packets, 0 to 15]:number: ' '--flow-label[Flow label of all packets, 0 to 1048575]:number: ' '--pkey-index[Partition, by its index in the table of this side]:index: ' '--rate[Messages per second (lat)]:rate: ' '--with[VERB\\:SIZE of a bandwidth on other queue pairs meanwhile (lat), as write\\:64K]:load: ' '--poll[Of auto, spin, yield, event, hybrid\\:20us]:list:(auto spin yield event hybrid)' '--mtu[Path MTU, or auto]:bytes: ' '--ordering[Of relaxed and strict]:list:(relaxed strict)' '--verify[edges, full or off]:how:(edges full off)' '--seed[Seed of the data pattern]:number: ' '--reps[Number of repetitions of everything, round by round]:count: ' '--plan[The plan of a JSON report, or one by itself, instead of all of the above]:file:_files' '--json[Write the report there]:file:_files' '--csv[Write each result there as a line]:file:_files' '--jsonl[Write each result there as JSON]:file:_files' '--expect[Exit with 4 unless the results reach this]:list: ' '--device[RDMA device, instead of the one whose GID fits]:name:_rdma_perf_devices' '--gid[GID index, or auto]:index: ' '--timeout[Deadline of each step]:time: ' '--attach-file[File with the devices of this container]:file:_files' '--explain-gid[Print every GID with the reason for or against it]' '--memory[Memory of the buffers of this side]:where:(host huge cuda rocm dmabuf)' '(-h --help)'{-h,--help}'[Print help]' '1:host: '
            ;;
        loop)
            _arguments -s '--verb[Of write, read, send, write_imm, send_imm, fetch_add, cmp_swap]:list:(write read send write_imm send_imm fetch_add cmp_swap)' '--transport[Of rc, uc, ud, srd (of EFA), and tcp to compare with]:list:(rc uc ud srd tcp)' '--cm[Connect queue pairs by rdma_cm]' '--mode[Of bw and lat]:list:(bw lat)' '--size[Bytes, K, M]:list: ' '--time[Length of each point or trial, such as 500ms]:time: ' '--interval[Print a line each time while a point runs]:seconds: ' '--iterations[Messages of each point, instead of a time]:count: ' '--qps[Numbers of queue pairs (bw)]:list: ' '--threads[Threads that drive them on each side]:count: ' '--direction[Of the data]:direction:(forward reverse both)' '--depth[Messages in flight on each queue pair (bw), or auto]:list: ' '--batch[Messages posted at once (bw), or auto]:list: ' '--signal[Messages for each completion (bw), or auto]:count: ' '--ring[Memory that the messages of a side go round in, or auto]:bytes: ' '--inline[Largest message that goes inline in its work request, or auto]:bytes: ' '--reads[Reads and atomics in flight on each queue pair, or auto]:count: ' '--tclass[Traffic class of all packets, 0 to 255]:number: ' '--dscp[Upper six bits of the traffic class, 0 to 63]:number: ' '--sl[Service level of all packets, 0 to 15]:number: ' '--flow-label[Flow label of all packets, 0 to 1048575]:number: ' '--pkey-index[Partition, by its index in the table of this side]:index: ' '--rate[Messages per second (lat)]:rate: ' '--with[VERB\\:SIZE of a bandwidth on other queue pairs meanwhile (lat), as write\\:64K]:load: ' '--poll[Of auto, spin, yield, event, hybrid\\:20us]:list:(auto spin yield event hybrid)' '--mtu[Path MTU, or auto]:bytes: ' '--ordering[Of relaxed and strict]:list:(relaxed strict)' '--verify[edges, full or off]:how:(edges full off)' '--seed[Seed of the data pattern]:number: ' '--reps[Number of repetitions of everything, round by round]:count: ' '--plan[The plan of a JSON report, or one by itself, instead of all of the above]:file:_files' '--json[Write the report there]:file:_files' '--csv[Write each result there as a line]:file:_files' '--jsonl[Write each result there as JSON]:file:_files' '--expect[Exit with 4 unless the results reach this]:list: ' '--device[RDMA device, instead of the one whose GID fits]:name:_rdma_perf_devices' '--gid[GID index, or auto]:index: ' '--timeout[Deadline of each step]:time: ' '--attach-file[File with the devices of this container]:file:_files' '--explain-gid[Print every GID with the reason for or against it]' '--memory[Memory of the buffers of this side]:where:(host huge cuda rocm dmabuf)' '(-h --help)'{-h,--help}'[Print help]'
            ;;
        thesis)
            _arguments -s '--port[TCP port of the control connection]:port: ' '--suite[One of basic, cpu, multi_dev, multi_qp]:suite: ' '--size[Bytes, K, M]:list: ' '--qps[Numbers of queue pairs (bw)]:list: ' '--time[Length of each point or trial, such as 500ms]:time: ' '--reps[Number of repetitions of everything, round by round]:count: ' '--mtu[Path MTU, or auto]:bytes: ' '--json[Write the report there]:file:_files' '--device[RDMA device, instead of the one whose GID fits]:name:_rdma_perf_devices' '--gid[GID index, or auto]:index: ' '--timeout[Deadline of each step]:time: ' '--attach-file[File with the devices of this container]:file:_files' '(-h --help)'{-h,--help}'[Print help]' '1:host: '
            ;;
        kv)
            _arguments -s '--port[TCP port of the control connection]:port: ' '--keys[Number of keys in the table]:count: ' '--value[Size of each value, up to 4096]:bytes: ' '--zipf[Skew of the keys that clients ask for]:skew: ' '--time[Length of each point or trial, such as 500ms]:time: ' '--reps[Number of repetitions of everything, round by round]:count: ' '--poll[Of auto, spin, yield, event, hybrid\\:20us]:how:(auto spin yield event hybrid)' '--seed[Seed of the data pattern]:number: ' '--json[Write the report there]:file:_files' '--device[RDMA device, instead of the one whose GID fits]:name:_rdma_perf_devices' '--gid[GID index, or auto]:index: ' '--timeout[Deadline of each step]:time: ' '--attach-file[File with the devices of this container]:file:_files' '(-h --help)'{-h,--help}'[Print help]' '1:host: '
            ;;
        compare)
            _arguments -s '--allow[Settings that may differ between the reports]:list: ' '--expect[Exit with 4 unless the results reach this]:verdict: ' '--json[Write the report there]:file:_files' '(-h --help)'{-h,--help}'[Print help]' '1:A: ' '2:B: '
            ;;
        gids)
            _arguments -s '--peer[The other side]:host: ' '--json[Write the report there]:file:_files' '--device[RDMA device, instead of the one whose GID fits]:name:_rdma_perf_devices' '--gid[GID index, or auto]:index: ' '--timeout[Deadline of each step]:time: ' '--attach-file[File with the devices of this container]:file:_files' '(-h --help)'{-h,--help}'[Print help]'
            ;;
        doctor)
            _arguments -s '--port[TCP port of the control connection]:port: ' '--peer[The other side]:host: ' '--json[Write the report there]:file:_files' '--device[RDMA device, instead of the one whose GID fits]:name:_rdma_perf_devices' '--gid[GID index, or auto]:index: ' '--timeout[Deadline of each step]:time: ' '--attach-file[File with the devices of this container]:file:_files' '(-h --help)'{-h,--help}'[Print help]'
            ;;
        isolate)
            _arguments -s '--port[TCP port of the control connection]:port: ' '--json[Write the report there]:file:_files' '--device[RDMA device, instead of the one whose GID fits]:name:_rdma_perf_devices' '--gid[GID index, or auto]:index: ' '--timeout[Deadline of each step]:time: ' '--attach-file[File with the devices of this container]:file:_files' '(-h --help)'{-h,--help}'[Print help]' '1:host: '
            ;;
        esac
        ;;
    esac
}

_rdma_perf "$@"
