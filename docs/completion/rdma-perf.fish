# SPDX-License-Identifier: Apache-2.0
# Written by docs/generate from the man page and bash's completion: change those.

# Whether the words before the cursor are this command, and as many arguments behind it as the number, if there is one.
function __rdma_perf_at
    set -l found
    set -l skip 0
    for word in (commandline -opc)[2..]
        if test $skip = 1
            set skip 0
            continue
        end
        switch $word
            case --allow --attach-file --batch --bind --csv --depth --device --direction --dscp --expect --flow-label --gid --inline --interval --iterations --json --jsonl --keys --max-threads --memory --mode --mtu --ordering --peer --pkey-index --plan --poll --port --qps --rate --reads --reps --ring --seed --signal --size --sl --suite --tclass --threads --time --timeout --transport --value --verb --verify --with --zipf
                set skip 1
            case '-*'
            case '*'
                set -a found $word
        end
    end
    set -l known 'serve' 'run' 'loop' 'thesis' 'kv' 'compare' 'gids' 'doctor' 'isolate'
    set -l command
    while set -q found[1]
        set -l longer (string join ' ' $command $found[1])
        contains -- $longer $known; or break
        set command $longer
        set -e found[1]
    end
    test "$command" = $argv[1]; or return
    if set -q argv[2]
        test (count $found) = $argv[2]
    end
end

function __rdma_perf_devices
    for device in /sys/class/infiniband/*
        string split -f 5 / $device
    end
end

complete -c rdma-perf -f
complete -c rdma-perf -n "__rdma_perf_at ''" -f -a serve -d 'Serve every test of any client'
complete -c rdma-perf -n "__rdma_perf_at ''" -f -a run -d 'Measure against servers'
complete -c rdma-perf -n "__rdma_perf_at ''" -f -a loop -d 'Measure with both ends in this process'
complete -c rdma-perf -n "__rdma_perf_at ''" -f -a thesis -d 'Run the plan of a suite of an evaluation'
complete -c rdma-perf -n "__rdma_perf_at ''" -f -a kv -d 'Compare two ways to get values from a key-value table'
complete -c rdma-perf -n "__rdma_perf_at ''" -f -a compare -d 'Compare two reports that were made with repetitions'
complete -c rdma-perf -n "__rdma_perf_at ''" -f -a gids -d 'Print every GID, which one would be used, and why'
complete -c rdma-perf -n "__rdma_perf_at ''" -f -a doctor -d 'Check what this container or host can see'
complete -c rdma-perf -n "__rdma_perf_at ''" -f -a isolate -d 'Try what must not work, against a server that agreed to it'
complete -c rdma-perf -s h -l help -d 'Print help'
complete -c rdma-perf -n "__rdma_perf_at ''" -l version -d 'Print the version'
complete -c rdma-perf -n "__rdma_perf_at 'serve'" -l bind -r -f -d 'Address to listen on, instead of loopback only'
complete -c rdma-perf -n "__rdma_perf_at 'serve'" -l port -r -f -d 'TCP port of the control connection'
complete -c rdma-perf -n "__rdma_perf_at 'serve'" -l once -d 'End after the first client'
complete -c rdma-perf -n "__rdma_perf_at 'serve'" -l max-threads -r -f -d 'Measuring threads of all clients together, or auto'
complete -c rdma-perf -n "__rdma_perf_at 'serve'" -l allow-isolation-tests -d 'Let clients run isolate against one page of this process'
complete -c rdma-perf -n "__rdma_perf_at 'serve'" -l device -r -f -a '(__rdma_perf_devices)' -d 'RDMA device, instead of the one whose GID fits'
complete -c rdma-perf -n "__rdma_perf_at 'serve'" -l gid -r -f -d 'GID index, or auto'
complete -c rdma-perf -n "__rdma_perf_at 'serve'" -l timeout -r -f -d 'Deadline of each step'
complete -c rdma-perf -n "__rdma_perf_at 'serve'" -l attach-file -r -F -d 'File with the devices of this container'
complete -c rdma-perf -n "__rdma_perf_at 'serve'" -l explain-gid -d 'Print every GID with the reason for or against it'
complete -c rdma-perf -n "__rdma_perf_at 'serve'" -l memory -r -f -a 'host huge cuda rocm dmabuf' -d 'Memory of the buffers of this side'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l port -r -f -d 'TCP port of the control connection'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l verb -r -f -a 'write read send write_imm send_imm fetch_add cmp_swap' -d 'Of write, read, send, write_imm, send_imm, fetch_add, cmp_swap'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l transport -r -f -a 'rc uc ud srd tcp' -d 'Of rc, uc, ud, srd (of EFA), and tcp to compare with'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l cm -d 'Connect queue pairs by rdma_cm'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l mode -r -f -a 'bw lat' -d 'Of bw and lat'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l size -r -f -d 'Bytes, K, M'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l time -r -f -d 'Length of each point or trial, such as 500ms'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l interval -r -f -d 'Print a line each time while a point runs'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l iterations -r -f -d 'Messages of each point, instead of a time'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l qps -r -f -d 'Numbers of queue pairs (bw)'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l threads -r -f -d 'Threads that drive them on each side'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l direction -r -f -a 'forward reverse both' -d 'Of the data'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l depth -r -f -d 'Messages in flight on each queue pair (bw), or auto'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l batch -r -f -d 'Messages posted at once (bw), or auto'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l signal -r -f -d 'Messages for each completion (bw), or auto'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l ring -r -f -d 'Memory that the messages of a side go round in, or auto'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l inline -r -f -d 'Largest message that goes inline in its work request, or auto'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l reads -r -f -d 'Reads and atomics in flight on each queue pair, or auto'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l tclass -r -f -d 'Traffic class of all packets, 0 to 255'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l dscp -r -f -d 'Upper six bits of the traffic class, 0 to 63'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l sl -r -f -d 'Service level of all packets, 0 to 15'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l flow-label -r -f -d 'Flow label of all packets, 0 to 1048575'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l pkey-index -r -f -d 'Partition, by its index in the table of this side'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l rate -r -f -d 'Messages per second (lat)'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l with -r -f -d 'VERB:SIZE of a bandwidth on other queue pairs meanwhile (lat), as write:64K'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l poll -r -f -a 'auto spin yield event hybrid' -d 'Of auto, spin, yield, event, hybrid:20us'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l mtu -r -f -d 'Path MTU, or auto'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l ordering -r -f -a 'relaxed strict' -d 'Of relaxed and strict'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l verify -r -f -a 'edges full off' -d 'edges, full or off'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l seed -r -f -d 'Seed of the data pattern'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l reps -r -f -d 'Number of repetitions of everything, round by round'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l plan -r -F -d 'The plan of a JSON report, or one by itself, instead of all of the above'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l json -r -F -d 'Write the report there'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l csv -r -F -d 'Write each result there as a line'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l jsonl -r -F -d 'Write each result there as JSON'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l expect -r -f -d 'Exit with 4 unless the results reach this'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l device -r -f -a '(__rdma_perf_devices)' -d 'RDMA device, instead of the one whose GID fits'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l gid -r -f -d 'GID index, or auto'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l timeout -r -f -d 'Deadline of each step'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l attach-file -r -F -d 'File with the devices of this container'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l explain-gid -d 'Print every GID with the reason for or against it'
complete -c rdma-perf -n "__rdma_perf_at 'run'" -l memory -r -f -a 'host huge cuda rocm dmabuf' -d 'Memory of the buffers of this side'
complete -c rdma-perf -n "__rdma_perf_at 'run' 0" -f
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l verb -r -f -a 'write read send write_imm send_imm fetch_add cmp_swap' -d 'Of write, read, send, write_imm, send_imm, fetch_add, cmp_swap'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l transport -r -f -a 'rc uc ud srd tcp' -d 'Of rc, uc, ud, srd (of EFA), and tcp to compare with'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l cm -d 'Connect queue pairs by rdma_cm'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l mode -r -f -a 'bw lat' -d 'Of bw and lat'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l size -r -f -d 'Bytes, K, M'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l time -r -f -d 'Length of each point or trial, such as 500ms'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l interval -r -f -d 'Print a line each time while a point runs'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l iterations -r -f -d 'Messages of each point, instead of a time'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l qps -r -f -d 'Numbers of queue pairs (bw)'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l threads -r -f -d 'Threads that drive them on each side'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l direction -r -f -a 'forward reverse both' -d 'Of the data'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l depth -r -f -d 'Messages in flight on each queue pair (bw), or auto'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l batch -r -f -d 'Messages posted at once (bw), or auto'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l signal -r -f -d 'Messages for each completion (bw), or auto'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l ring -r -f -d 'Memory that the messages of a side go round in, or auto'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l inline -r -f -d 'Largest message that goes inline in its work request, or auto'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l reads -r -f -d 'Reads and atomics in flight on each queue pair, or auto'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l tclass -r -f -d 'Traffic class of all packets, 0 to 255'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l dscp -r -f -d 'Upper six bits of the traffic class, 0 to 63'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l sl -r -f -d 'Service level of all packets, 0 to 15'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l flow-label -r -f -d 'Flow label of all packets, 0 to 1048575'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l pkey-index -r -f -d 'Partition, by its index in the table of this side'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l rate -r -f -d 'Messages per second (lat)'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l with -r -f -d 'VERB:SIZE of a bandwidth on other queue pairs meanwhile (lat), as write:64K'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l poll -r -f -a 'auto spin yield event hybrid' -d 'Of auto, spin, yield, event, hybrid:20us'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l mtu -r -f -d 'Path MTU, or auto'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l ordering -r -f -a 'relaxed strict' -d 'Of relaxed and strict'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l verify -r -f -a 'edges full off' -d 'edges, full or off'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l seed -r -f -d 'Seed of the data pattern'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l reps -r -f -d 'Number of repetitions of everything, round by round'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l plan -r -F -d 'The plan of a JSON report, or one by itself, instead of all of the above'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l json -r -F -d 'Write the report there'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l csv -r -F -d 'Write each result there as a line'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l jsonl -r -F -d 'Write each result there as JSON'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l expect -r -f -d 'Exit with 4 unless the results reach this'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l device -r -f -a '(__rdma_perf_devices)' -d 'RDMA device, instead of the one whose GID fits'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l gid -r -f -d 'GID index, or auto'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l timeout -r -f -d 'Deadline of each step'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l attach-file -r -F -d 'File with the devices of this container'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l explain-gid -d 'Print every GID with the reason for or against it'
complete -c rdma-perf -n "__rdma_perf_at 'loop'" -l memory -r -f -a 'host huge cuda rocm dmabuf' -d 'Memory of the buffers of this side'
complete -c rdma-perf -n "__rdma_perf_at 'thesis'" -l port -r -f -d 'TCP port of the control connection'
complete -c rdma-perf -n "__rdma_perf_at 'thesis'" -l suite -r -f -d 'One of basic, cpu, multi_dev, multi_qp'
complete -c rdma-perf -n "__rdma_perf_at 'thesis'" -l size -r -f -d 'Bytes, K, M'
complete -c rdma-perf -n "__rdma_perf_at 'thesis'" -l qps -r -f -d 'Numbers of queue pairs (bw)'
complete -c rdma-perf -n "__rdma_perf_at 'thesis'" -l time -r -f -d 'Length of each point or trial, such as 500ms'
complete -c rdma-perf -n "__rdma_perf_at 'thesis'" -l reps -r -f -d 'Number of repetitions of everything, round by round'
complete -c rdma-perf -n "__rdma_perf_at 'thesis'" -l mtu -r -f -d 'Path MTU, or auto'
complete -c rdma-perf -n "__rdma_perf_at 'thesis'" -l json -r -F -d 'Write the report there'
complete -c rdma-perf -n "__rdma_perf_at 'thesis'" -l device -r -f -a '(__rdma_perf_devices)' -d 'RDMA device, instead of the one whose GID fits'
complete -c rdma-perf -n "__rdma_perf_at 'thesis'" -l gid -r -f -d 'GID index, or auto'
complete -c rdma-perf -n "__rdma_perf_at 'thesis'" -l timeout -r -f -d 'Deadline of each step'
complete -c rdma-perf -n "__rdma_perf_at 'thesis'" -l attach-file -r -F -d 'File with the devices of this container'
complete -c rdma-perf -n "__rdma_perf_at 'thesis' 0" -f
complete -c rdma-perf -n "__rdma_perf_at 'kv'" -l port -r -f -d 'TCP port of the control connection'
complete -c rdma-perf -n "__rdma_perf_at 'kv'" -l keys -r -f -d 'Number of keys in the table'
complete -c rdma-perf -n "__rdma_perf_at 'kv'" -l value -r -f -d 'Size of each value, up to 4096'
complete -c rdma-perf -n "__rdma_perf_at 'kv'" -l zipf -r -f -d 'Skew of the keys that clients ask for'
complete -c rdma-perf -n "__rdma_perf_at 'kv'" -l time -r -f -d 'Length of each point or trial, such as 500ms'
complete -c rdma-perf -n "__rdma_perf_at 'kv'" -l reps -r -f -d 'Number of repetitions of everything, round by round'
complete -c rdma-perf -n "__rdma_perf_at 'kv'" -l poll -r -f -a 'auto spin yield event hybrid' -d 'Of auto, spin, yield, event, hybrid:20us'
complete -c rdma-perf -n "__rdma_perf_at 'kv'" -l seed -r -f -d 'Seed of the data pattern'
complete -c rdma-perf -n "__rdma_perf_at 'kv'" -l json -r -F -d 'Write the report there'
complete -c rdma-perf -n "__rdma_perf_at 'kv'" -l device -r -f -a '(__rdma_perf_devices)' -d 'RDMA device, instead of the one whose GID fits'
complete -c rdma-perf -n "__rdma_perf_at 'kv'" -l gid -r -f -d 'GID index, or auto'
complete -c rdma-perf -n "__rdma_perf_at 'kv'" -l timeout -r -f -d 'Deadline of each step'
complete -c rdma-perf -n "__rdma_perf_at 'kv'" -l attach-file -r -F -d 'File with the devices of this container'
complete -c rdma-perf -n "__rdma_perf_at 'kv' 0" -f
complete -c rdma-perf -n "__rdma_perf_at 'compare'" -l allow -r -f -d 'Settings that may differ between the reports'
complete -c rdma-perf -n "__rdma_perf_at 'compare'" -l expect -r -f -d 'Exit with 4 unless the results reach this'
complete -c rdma-perf -n "__rdma_perf_at 'compare'" -l json -r -F -d 'Write the report there'
complete -c rdma-perf -n "__rdma_perf_at 'compare' 0" -f
complete -c rdma-perf -n "__rdma_perf_at 'compare' 1" -f
complete -c rdma-perf -n "__rdma_perf_at 'gids'" -l peer -r -f -d 'The other side'
complete -c rdma-perf -n "__rdma_perf_at 'gids'" -l json -r -F -d 'Write the report there'
complete -c rdma-perf -n "__rdma_perf_at 'gids'" -l device -r -f -a '(__rdma_perf_devices)' -d 'RDMA device, instead of the one whose GID fits'
complete -c rdma-perf -n "__rdma_perf_at 'gids'" -l gid -r -f -d 'GID index, or auto'
complete -c rdma-perf -n "__rdma_perf_at 'gids'" -l timeout -r -f -d 'Deadline of each step'
complete -c rdma-perf -n "__rdma_perf_at 'gids'" -l attach-file -r -F -d 'File with the devices of this container'
complete -c rdma-perf -n "__rdma_perf_at 'doctor'" -l port -r -f -d 'TCP port of the control connection'
complete -c rdma-perf -n "__rdma_perf_at 'doctor'" -l peer -r -f -d 'The other side'
complete -c rdma-perf -n "__rdma_perf_at 'doctor'" -l json -r -F -d 'Write the report there'
complete -c rdma-perf -n "__rdma_perf_at 'doctor'" -l device -r -f -a '(__rdma_perf_devices)' -d 'RDMA device, instead of the one whose GID fits'
complete -c rdma-perf -n "__rdma_perf_at 'doctor'" -l gid -r -f -d 'GID index, or auto'
complete -c rdma-perf -n "__rdma_perf_at 'doctor'" -l timeout -r -f -d 'Deadline of each step'
complete -c rdma-perf -n "__rdma_perf_at 'doctor'" -l attach-file -r -F -d 'File with the devices of this container'
complete -c rdma-perf -n "__rdma_perf_at 'isolate'" -l port -r -f -d 'TCP port of the control connection'
complete -c rdma-perf -n "__rdma_perf_at 'isolate'" -l json -r -F -d 'Write the report there'
complete -c rdma-perf -n "__rdma_perf_at 'isolate'" -l device -r -f -a '(__rdma_perf_devices)' -d 'RDMA device, instead of the one whose GID fits'
complete -c rdma-perf -n "__rdma_perf_at 'isolate'" -l gid -r -f -d 'GID index, or auto'
complete -c rdma-perf -n "__rdma_perf_at 'isolate'" -l timeout -r -f -d 'Deadline of each step'
complete -c rdma-perf -n "__rdma_perf_at 'isolate'" -l attach-file -r -F -d 'File with the devices of this container'
complete -c rdma-perf -n "__rdma_perf_at 'isolate' 0" -f
