#compdef rdmactl
# SPDX-License-Identifier: Apache-2.0
# Written by docs/generate from the man page and bash's completion: change those.

_rdmactl_containers() {
    local json=$(rdmactl list --json 2>/dev/null)
    local -a known
    while [[ $json =~ '"(id|name)": *"([^"]+)"' ]]; do
        known+=($match[2])
        json=${json#*$MATCH}
    done
    compadd -a known
}

_rdmactl_pfs() {
    local -a known=(/sys/class/net/*/device/sriov_totalvfs(N:h:h:t))
    compadd -a known
}

_rdmactl() {
    local curcontext=$curcontext state line
    typeset -A opt_args
    _arguments -s -C '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]' '--version[Print the version]' '1:command:->command' '*::argument:->argument' && return
    case $state in
    command)
        local -a known=('plan:Print what rdma-hook would do for a container' 'list:List containers with RDMA, and what could not be undone' 'show:Show everything that is known about a container, also its last failure' 'stats:Show the counters of RDMA devices and interfaces of running containers' 'verify:Check with the host'\''s rdma-perf(1) that data gets from a container to peer' 'attach:Give RDMA to a running container that was started without it' 'detach:Undo an attach' 'doctor:Check what all modes need on this host, or what mode needs' 'suggest:Print the command lines that give a container RDMA on this host' 'gc:Undo what dead containers left' 'recover:The same as gc, for rdma-hook-recover.service, which runs once after each boot' 'vf:list, enable, disable' 'asap2:enable, disable, status' 'runtime:configure, list' 'cdi:generate, list' 'config:check')
        _describe command known
        ;;
    argument)
        case $line[1] in
        plan)
            _arguments -s '*'{-a,--annotation}'[An annotation]:key=value: ' '--spec[Take the annotations from this config.json]:file:_files' '--netns[The container'\''s network namespace]:path:_files' '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]'
            ;;
        list)
            _arguments -s '--failed[List the last failures instead]' '--watch[Draw it again whenever something changes, on a terminal]' '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]'
            ;;
        show)
            _arguments -s '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]' '1:container:_rdmactl_containers'
            ;;
        stats)
            _arguments -s '--prometheus[Print the text format of Prometheus]' '--output[Write it to the file instead, in one step]:file:_files' '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]' '1:container:_rdmactl_containers'
            ;;
        verify)
            _arguments -s '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]' '1:container:_rdmactl_containers' '2:peer:_rdmactl_containers'
            ;;
        attach)
            _arguments -s '*'{-a,--annotation}'[An annotation to attach]:key=value: ' '--pid[The container'\''s init, with --bundle]:pid: ' '--bundle[The folder of its config.json]:folder:_files' '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]' '1:container:_rdmactl_containers'
            ;;
        detach)
            _arguments -s '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]' '1:container:_rdmactl_containers'
            ;;
        doctor)
            _arguments -s '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]' '1:mode:(softroce softiwarp shared vf asap2 host gpu)'
            ;;
        suggest)
            _arguments -s '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]' '1:mode:(softroce softiwarp shared vf asap2 host)'
            ;;
        gc)
            _arguments -s '--regrant[Also restore the device access of running plain-hooks containers]' '--forget[Treat as gone what rdma-hook cannot see, and free its addresses and functions]' '--dry-run[Print what would be undone, and do nothing]' '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]'
            ;;
        recover)
            _arguments -s '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]'
            ;;
        vf)
            _arguments -s -C '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]' '1:command:->command' '*::argument:->argument' && return
            case $state in
            command)
                local -a known=('list:List virtual functions, their drivers and network interfaces' 'enable:Make virtual functions, with MAC addresses that are the same after each boot' 'disable:Destroy them, unless one is in use')
                _describe command known
                ;;
            argument)
                case $line[1] in
                list)
                    _arguments -s '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]' '1:pf:_rdmactl_pfs'
                    ;;
                enable)
                    _arguments -s '--dry-run[Check, print what would be done, and do nothing]' '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]' '1:pf:_rdmactl_pfs' '2:count: '
                    ;;
                disable)
                    _arguments -s '--dry-run[Check, print what would be done, and do nothing]' '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]' '1:pf:_rdmactl_pfs'
                    ;;
                esac
                ;;
            esac
            ;;
        asap2)
            _arguments -s -C '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]' '1:command:->command' '*::argument:->argument' && return
            case $state in
            command)
                local -a known=('enable:Set up an adapter'\''s e-switch for rules of Open vSwitch' 'disable:Restore the host'\''s former state' 'status:Show what is missing for offload, and why')
                _describe command known
                ;;
            argument)
                case $line[1] in
                enable)
                    _arguments -s '--vfs[Number of virtual functions to make, instead of those that exist]:count: ' '--bridge[The Open vSwitch bridge]:name: ' '--tc-policy[Where Open vSwitch puts its rules]:policy:(none skip_sw skip_hw)' '--dry-run[Check, print what would be done, and do nothing]' '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]' '1:pf:_rdmactl_pfs'
                    ;;
                disable)
                    _arguments -s '--dry-run[Check, print what would be done, and do nothing]' '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]' '1:pf:_rdmactl_pfs'
                    ;;
                status)
                    _arguments -s '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]' '1:pf:_rdmactl_pfs'
                    ;;
                esac
                ;;
            esac
            ;;
        runtime)
            _arguments -s -C '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]' '1:command:->command' '*::argument:->argument' && return
            case $state in
            command)
                local -a known=('configure:Put rdma-hook into an engine'\''s configuration' 'list:List the runtimes of rdma-hook in the files of engines')
                _describe command known
                ;;
            argument)
                case $line[1] in
                configure)
                    _arguments -s '--runtime[docker, containerd and crio get a runtime]:engine:(docker containerd crio podman)' '--name[The runtime'\''s name]:name: ' '--low-level[The program that rdma-runtime calls for it, such as nvidia-container-runtime]:program:_files' '--dry-run[Print what would change]' '--unset[Remove what this command wrote, unless it was changed since]' '--memlock[Instead, let every container of docker or podman lock memory without limit]' '--starter-policy[Write a policy that allows nothing into the configuration, if it has none]' '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]'
                    ;;
                list)
                    _arguments -s '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]'
                    ;;
                esac
                ;;
            esac
            ;;
        cdi)
            _arguments -s -C '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]' '1:command:->command' '*::argument:->argument' && return
            case $state in
            command)
                local -a known=('generate:Write the files by which engines give devices to containers (Container Device Interface)' 'list:List the devices that cdi generate would write')
                _describe command known
                ;;
            argument)
                case $line[1] in
                generate)
                    _arguments -s '--output[Write to this folder instead of /run/cdi]:folder:_files' '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]'
                    ;;
                list)
                    _arguments -s '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]'
                    ;;
                esac
                ;;
            esac
            ;;
        config)
            _arguments -s -C '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]' '1:command:->command' '*::argument:->argument' && return
            case $state in
            command)
                local -a known=('check:Check the configuration, and that only root can write it')
                _describe command known
                ;;
            argument)
                case $line[1] in
                check)
                    _arguments -s '*'{-a,--annotation}'[An annotation]:key=value: ' '--spec[Take annotations, capabilities and devices from this config.json]:file:_files' '--config[The configuration, instead of /etc/rdma-hook/config.json]:file:_files' '--json[Print JSON]' '(-h --help)'{-h,--help}'[Print help, also on a command]'
                    ;;
                esac
                ;;
            esac
            ;;
        esac
        ;;
    esac
}

_rdmactl "$@"
