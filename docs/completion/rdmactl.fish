# SPDX-License-Identifier: Apache-2.0
# Written by docs/generate from the man page and bash's completion: change those.

# Whether the words before the cursor are this command, and as many arguments behind it as the number, if there is one.
function __rdmactl_at
    set -l found
    set -l skip 0
    for word in (commandline -opc)[2..]
        if test $skip = 1
            set skip 0
            continue
        end
        switch $word
            case --annotation --bridge --bundle --config --low-level --name --netns --output --pid --runtime --spec --tc-policy --vfs -a
                set skip 1
            case '-*'
            case '*'
                set -a found $word
        end
    end
    set -l known 'plan' 'list' 'show' 'stats' 'verify' 'attach' 'detach' 'doctor' 'suggest' 'gc' 'recover' 'vf list' 'vf enable' 'vf disable' 'asap2 enable' 'asap2 disable' 'asap2 status' 'runtime configure' 'runtime list' 'cdi generate' 'cdi list' 'config check' 'vf' 'asap2' 'runtime' 'cdi' 'config'
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

function __rdmactl_containers
    rdmactl list --json 2>/dev/null | string match -agr '"(?:id|name)": *"([^"]+)"'
end

function __rdmactl_pfs
    for file in /sys/class/net/*/device/sriov_totalvfs
        string split -f 5 / $file
    end
end

complete -c rdmactl -f
complete -c rdmactl -n "__rdmactl_at ''" -f -a plan -d 'Print what rdma-hook would do for a container'
complete -c rdmactl -n "__rdmactl_at ''" -f -a list -d 'List containers with RDMA, and what could not be undone'
complete -c rdmactl -n "__rdmactl_at ''" -f -a show -d 'Show everything that is known about a container, also its last failure'
complete -c rdmactl -n "__rdmactl_at ''" -f -a stats -d 'Show the counters of RDMA devices and interfaces of running containers'
complete -c rdmactl -n "__rdmactl_at ''" -f -a verify -d 'Check with the host\'s rdma-perf(1) that data gets from a container to peer'
complete -c rdmactl -n "__rdmactl_at ''" -f -a attach -d 'Give RDMA to a running container that was started without it'
complete -c rdmactl -n "__rdmactl_at ''" -f -a detach -d 'Undo an attach'
complete -c rdmactl -n "__rdmactl_at ''" -f -a doctor -d 'Check what all modes need on this host, or what mode needs'
complete -c rdmactl -n "__rdmactl_at ''" -f -a suggest -d 'Print the command lines that give a container RDMA on this host'
complete -c rdmactl -n "__rdmactl_at ''" -f -a gc -d 'Undo what dead containers left'
complete -c rdmactl -n "__rdmactl_at ''" -f -a recover -d 'The same as gc, for rdma-hook-recover.service, which runs once after each boot'
complete -c rdmactl -n "__rdmactl_at ''" -f -a vf -d 'list, enable, disable'
complete -c rdmactl -n "__rdmactl_at ''" -f -a asap2 -d 'enable, disable, status'
complete -c rdmactl -n "__rdmactl_at ''" -f -a runtime -d 'configure, list'
complete -c rdmactl -n "__rdmactl_at ''" -f -a cdi -d 'generate, list'
complete -c rdmactl -n "__rdmactl_at ''" -f -a config -d 'check'
complete -c rdmactl -l config -r -F -d 'The configuration, instead of /etc/rdma-hook/config.json'
complete -c rdmactl -l json -d 'Print JSON'
complete -c rdmactl -s h -l help -d 'Print help, also on a command'
complete -c rdmactl -n "__rdmactl_at ''" -l version -d 'Print the version'
complete -c rdmactl -n "__rdmactl_at 'plan'" -s a -l annotation -r -f -d 'An annotation'
complete -c rdmactl -n "__rdmactl_at 'plan'" -l spec -r -F -d 'Take the annotations from this config.json'
complete -c rdmactl -n "__rdmactl_at 'plan'" -l netns -r -F -d 'The container\'s network namespace'
complete -c rdmactl -n "__rdmactl_at 'list'" -l failed -d 'List the last failures instead'
complete -c rdmactl -n "__rdmactl_at 'list'" -l watch -d 'Draw it again whenever something changes, on a terminal'
complete -c rdmactl -n "__rdmactl_at 'show' 0" -f -a '(__rdmactl_containers)'
complete -c rdmactl -n "__rdmactl_at 'stats'" -l prometheus -d 'Print the text format of Prometheus'
complete -c rdmactl -n "__rdmactl_at 'stats'" -l output -r -F -d 'Write it to the file instead, in one step'
complete -c rdmactl -n "__rdmactl_at 'stats' 0" -f -a '(__rdmactl_containers)'
complete -c rdmactl -n "__rdmactl_at 'verify' 0" -f -a '(__rdmactl_containers)'
complete -c rdmactl -n "__rdmactl_at 'verify' 1" -f -a '(__rdmactl_containers)'
complete -c rdmactl -n "__rdmactl_at 'attach'" -s a -l annotation -r -f -d 'An annotation to attach'
complete -c rdmactl -n "__rdmactl_at 'attach'" -l pid -r -f -d 'The container\'s init, with --bundle'
complete -c rdmactl -n "__rdmactl_at 'attach'" -l bundle -r -F -d 'The folder of its config.json'
complete -c rdmactl -n "__rdmactl_at 'attach' 0" -f -a '(__rdmactl_containers)'
complete -c rdmactl -n "__rdmactl_at 'detach' 0" -f -a '(__rdmactl_containers)'
complete -c rdmactl -n "__rdmactl_at 'doctor' 0" -f -a 'softroce softiwarp shared vf asap2 host gpu'
complete -c rdmactl -n "__rdmactl_at 'suggest' 0" -f -a 'softroce softiwarp shared vf asap2 host'
complete -c rdmactl -n "__rdmactl_at 'gc'" -l regrant -d 'Also restore the device access of running plain-hooks containers'
complete -c rdmactl -n "__rdmactl_at 'gc'" -l forget -d 'Treat as gone what rdma-hook cannot see, and free its addresses and functions'
complete -c rdmactl -n "__rdmactl_at 'gc'" -l dry-run -d 'Print what would be undone, and do nothing'
complete -c rdmactl -n "__rdmactl_at 'vf list' 0" -f -a '(__rdmactl_pfs)'
complete -c rdmactl -n "__rdmactl_at 'vf enable'" -l dry-run -d 'Check, print what would be done, and do nothing'
complete -c rdmactl -n "__rdmactl_at 'vf enable' 0" -f -a '(__rdmactl_pfs)'
complete -c rdmactl -n "__rdmactl_at 'vf enable' 1" -f
complete -c rdmactl -n "__rdmactl_at 'vf disable'" -l dry-run -d 'Check, print what would be done, and do nothing'
complete -c rdmactl -n "__rdmactl_at 'vf disable' 0" -f -a '(__rdmactl_pfs)'
complete -c rdmactl -n "__rdmactl_at 'asap2 enable'" -l vfs -r -f -d 'Number of virtual functions to make, instead of those that exist'
complete -c rdmactl -n "__rdmactl_at 'asap2 enable'" -l bridge -r -f -d 'The Open vSwitch bridge'
complete -c rdmactl -n "__rdmactl_at 'asap2 enable'" -l tc-policy -r -f -a 'none skip_sw skip_hw' -d 'Where Open vSwitch puts its rules'
complete -c rdmactl -n "__rdmactl_at 'asap2 enable'" -l dry-run -d 'Check, print what would be done, and do nothing'
complete -c rdmactl -n "__rdmactl_at 'asap2 enable' 0" -f -a '(__rdmactl_pfs)'
complete -c rdmactl -n "__rdmactl_at 'asap2 disable'" -l dry-run -d 'Check, print what would be done, and do nothing'
complete -c rdmactl -n "__rdmactl_at 'asap2 disable' 0" -f -a '(__rdmactl_pfs)'
complete -c rdmactl -n "__rdmactl_at 'asap2 status' 0" -f -a '(__rdmactl_pfs)'
complete -c rdmactl -n "__rdmactl_at 'runtime configure'" -l runtime -r -f -a 'docker containerd crio podman' -d 'docker, containerd and crio get a runtime'
complete -c rdmactl -n "__rdmactl_at 'runtime configure'" -l name -r -f -d 'The runtime\'s name'
complete -c rdmactl -n "__rdmactl_at 'runtime configure'" -l low-level -r -F -d 'The program that rdma-runtime calls for it, such as nvidia-container-runtime'
complete -c rdmactl -n "__rdmactl_at 'runtime configure'" -l dry-run -d 'Print what would change'
complete -c rdmactl -n "__rdmactl_at 'runtime configure'" -l unset -d 'Remove what this command wrote, unless it was changed since'
complete -c rdmactl -n "__rdmactl_at 'runtime configure'" -l memlock -d 'Instead, let every container of docker or podman lock memory without limit'
complete -c rdmactl -n "__rdmactl_at 'runtime configure'" -l starter-policy -d 'Write a policy that allows nothing into the configuration, if it has none'
complete -c rdmactl -n "__rdmactl_at 'cdi generate'" -l output -r -F -d 'Write to this folder instead of /run/cdi'
complete -c rdmactl -n "__rdmactl_at 'config check'" -s a -l annotation -r -f -d 'An annotation'
complete -c rdmactl -n "__rdmactl_at 'config check'" -l spec -r -F -d 'Take annotations, capabilities and devices from this config.json'
complete -c rdmactl -n "__rdmactl_at 'vf'" -f -a list -d 'List virtual functions, their drivers and network interfaces'
complete -c rdmactl -n "__rdmactl_at 'vf'" -f -a enable -d 'Make virtual functions, with MAC addresses that are the same after each boot'
complete -c rdmactl -n "__rdmactl_at 'vf'" -f -a disable -d 'Destroy them, unless one is in use'
complete -c rdmactl -n "__rdmactl_at 'asap2'" -f -a enable -d 'Set up an adapter\'s e-switch for rules of Open vSwitch'
complete -c rdmactl -n "__rdmactl_at 'asap2'" -f -a disable -d 'Restore the host\'s former state'
complete -c rdmactl -n "__rdmactl_at 'asap2'" -f -a status -d 'Show what is missing for offload, and why'
complete -c rdmactl -n "__rdmactl_at 'runtime'" -f -a configure -d 'Put rdma-hook into an engine\'s configuration'
complete -c rdmactl -n "__rdmactl_at 'runtime'" -f -a list -d 'List the runtimes of rdma-hook in the files of engines'
complete -c rdmactl -n "__rdmactl_at 'cdi'" -f -a generate -d 'Write the files by which engines give devices to containers (Container Device Interface)'
complete -c rdmactl -n "__rdmactl_at 'cdi'" -f -a list -d 'List the devices that cdi generate would write'
complete -c rdmactl -n "__rdmactl_at 'config'" -f -a check -d 'Check the configuration, and that only root can write it'
