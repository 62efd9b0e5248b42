#!/bin/bash
# budget: one table with a line for each case; split, it would be read in two places.
# Bad input of every kind, given to the real program: each is refused with the exit code that
# docs/reference/exit-codes.md documents and with one line, on the program's stderr and on its parent's; nothing
# goes to stdout, nothing is left on the host. Then a selection through Podman: the line reaches the
# terminal and the container does not start.
#   tests/lab/run --kernel 7.3 tests/lab/scenarios/bad-input.sh [--full] [--podman]
# --full: every annotation case through Podman. --podman: Podman's part alone. The first part needs root alone, and runs anywhere:
#   sudo RDMA_HOOK=build/dev/hook/rdma-hook tests/lab/scenarios/bad-input.sh
# On a machine where others start containers, add `unshare -n` before it, so that their links do not
# count as ours.
source "${BASH_SOURCE[0]%/*}/podman-lib.sh"
full=0 podman_alone=0
for option; do
    case $option in
    --full) full=1 ;;
    --podman) podman_alone=1 ;;
    *) echo "not an option: $option" >&2; exit 64 ;;
    esac
done
hook=$(realpath "${RDMA_HOOK:-/usr/bin/rdma-hook}")
declare -A status=([ok]=0 [usage]=64 [bad_input]=65 [unavailable]=69 [internal]=70 [kernel]=71 [busy]=73
    [timeout]=75 [unsupported]=76 [refused]=77 [bad_config]=78)

# The configuration has to be where nobody but root writes, which /tmp is not.
home=/run/rdma-hook-test
state=$home/state
config=$home/config/config.json
rm -rf "$home"
mkdir -p "$home/config" "$home/bundle"
chmod 755 "$home" "$home/config"

key=$(printf '%064d' 7)
uuid=12345678-1234-4123-8123-123456789abc
m=rdma.mode=softroce
namespaces='"linux":{"namespaces":[{"type":"mount"},{"type":"network"}]}'
plain_state='"ociVersion":"1.2.0","id":"c","pid":1,"bundle":"/b","status":"created"'

# --- what is given ---------------------------------------------------------------------------------

# pairs KEY=VALUE...: prints them as annotations. Values stand in the JSON as they are: '\n' is a newline.
pairs() {
    local each all=
    for each; do all+=",\"${each%%=*}\":\"${each#*=}\""; done
    printf '{%s}' "${all#,}"
}
document() { printf '{"ociVersion":"1.2.0","annotations":%s,%s}' "$1" "$2"; } # ANNOTATIONS MEMBERS
written() { # MEMBERS KEY=VALUE...: both, without a process
    printf '{"ociVersion":"1.2.0",%s,"annotations":' "$1"
    pairs "${@:2}"
    printf '}'
}
asking() { document '{"rdma.mode":"softroce"}' "$1"; } # MEMBERS
text() { printf '%b' "$1"; }
nothing() { :; }
nested() { # BEFORE DEPTH AFTER: lists in lists
    printf '%s' "$1"
    printf '%*s' "$2" '' | tr ' ' '['
    printf '%*s' "$2" '' | tr ' ' ']'
    printf '%s' "$3"
}
padded() { # JSON BYTES: valid JSON of more than so many bytes
    printf '%s%*s' "$1" "$2" ''
}
long() { printf '%*s' "$1" '' | tr ' ' "${2:-a}"; } # COUNT [CHARACTER]
configure() {                                       # MEMBERS: a configuration of the test's own state folder
    printf '{"state_dir":"%s"%s}' "$state" "${1:+,$1}" >"$config"
}

# --- how it is judged ------------------------------------------------------------------------------

# Hundreds of cases in an emulated guest: what is done for each of them starts no process but the program.
shopt -s globstar nullglob dotglob
LC_ALL=C

leftovers() { # into `left`: links, RDMA links, pins, and files but for locks and the list of errors
    local each
    left="links:"
    while read -r each _; do left+=" $each"; done </proc/net/dev
    for each in /sys/class/infiniband/*; do left+=" ${each##*/}"; done
    left+=" files:"
    for each in "$state"/** /run/rdma-hook/**; do
        [[ -d $each || $each == */locks/* || $each == */errors/* ]] || left+=" $each"
    done
    left+=" pins:"
    while read -r _ _ _ _ each _; do
        [[ $each != "$state/netns/"* ]] || left+=" $each"
    done </proc/self/mountinfo
}

# call ARG...: the program on $work/in, as an engine calls it: the parent's stderr is another file.
as_user=()
bundle=$home/bundle
call() {
    : >"$work/own"
    : >"$work/parent"
    (
        exec 2>>"$work/parent"
        cd "$bundle" || exit 1
        "${as_user[@]}" "$hook" "$@" <"$work/in" >"$work/stdout" 2>>"$work/own"
        exit $?
    )
}

judge() { # NAME CODE REGEX STATUS
    local faults=() own parent line
    mapfile own <"$work/own"
    mapfile parent <"$work/parent"
    line=${own[0]-}
    line=${line%$'\n'}
    [[ $4 == "${status[$2]}" ]] || faults+=("exit status $4 instead of ${status[$2]} ($2)")
    [[ ${#own[@]} == 1 ]] || faults+=("${#own[@]} lines instead of one")
    [[ ${own[*]} =~ $3 ]] || faults+=("the line does not say '$3'")
    # The parent of another user's program is not that user's to write to.
    [[ ${#as_user[@]} != 0 || ${own[*]} == "${parent[*]}" ]] || faults+=("the parent got: ${parent[*]}")
    [[ $line != *[^\ -~]* ]] || faults+=("the line has bytes that a terminal obeys")
    ((${#line} <= 2000)) || faults+=("the line has ${#line} bytes")
    [[ ! -s $work/stdout ]] || faults+=("there is something on stdout")
    leftovers
    [[ $left == "$clean" ]] || faults+=("before: $clean" "left:   $left")
    printf '%s\n' "${faults[@]}" "${own[*]:0:400}" >"$work/out"
    report ${#faults[@]} "$1" "$work/out"
}

# --- the kinds of cases: one line each -------------------------------------------------------------

annotated() { # NAME CODE REGEX KEY=VALUE...
    written "$namespaces" "${@:4}" >"$work/in"
    call precreate --config "$config"
    judge "annotation: $1" "$2" "^rdma-hook: precreate: .*$3" $?
}
spec() { # NAME CODE REGEX PRODUCER...: config.json
    "${@:4}" >"$work/in"
    call precreate --config "$config"
    judge "config.json: $1" "$2" "^rdma-hook: precreate: .*$3" $?
}
configured() { # NAME CODE REGEX MEMBERS [KEY=VALUE...]: configuration, beside annotations
    configure "$4"
    written "$namespaces" "$m" "${@:5}" >"$work/in"
    call precreate --config "$config"
    judge "configuration: $1" "$2" "^rdma-hook: precreate: .*$3" $?
    configure
}
stored() { # NAME CODE REGEX COMMAND...: the configuration's file, as the command makes it
    path=$config
    "${@:4}" || echo "# $* failed"
    asking "$namespaces" >"$work/in"
    call precreate --config "$path"
    judge "configuration: $1" "$2" "^rdma-hook: precreate: .*$3" $?
    rm -rf "$home/config"
    mkdir -m 755 "$home/config"
    chown root:root "$home"
    chmod 755 "$home"
    configure
}
state() { # NAME CODE REGEX PRODUCER...: container state; poststop says the same, and never fails
    "${@:4}" >"$work/in"
    call createRuntime --state "$state" --container "$key" --attach "$uuid"
    judge "state: $1" "$2" "^rdma-hook: createRuntime: .*$3" $?
    call poststop --state "$state" --container "$key" --attach "$uuid"
    judge "state: $1, poststop" ok "^rdma-hook: poststop: .*$3" $?
}
usage() { # NAME CODE REGEX ARG...: the command line; the way to write it may follow the line
    text "{$plain_state}" >"$work/in"
    call "${@:4}"
    local got=$?
    sed -i '/^usage:\|^       rdma-hook\|^Called by/d' "$work/own"
    cp "$work/own" "$work/parent"
    judge "command line: $1" "$2" "^rdma-hook: .*$3" $got
}
passes() { # NAME PRODUCER...: not rdma-hook's, so it goes through as it is and without a word
    "${@:2}" >"$work/in"
    call precreate --config "$config"
    [[ $? == 0 && ! -s $work/own && ! -s $work/parent ]] && cmp -s "$work/in" "$work/stdout" && leftovers && [[ $left == "$clean" ]]
    report $? "not for rdma-hook: $1" "$work/own"
}

# --- annotations -----------------------------------------------------------------------------------

annotations() {
    annotated "mode missing" bad_input 'rdma.mode is missing beside' rdma.ip=10.9.0.1/24
    annotated "mode missing beside a setting of the container" bad_input 'rdma.mode is missing' rdma.optional=true
    annotated "mode empty" bad_input 'the value is empty' rdma.mode=
    annotated "mode unknown" bad_input 'did you mean softroce' rdma.mode=softrocce
    annotated "mode in capitals" bad_input 'is not a mode' rdma.mode=SoftRoCE
    annotated "mode with a newline" bad_input 'control character' 'rdma.mode=softroce\n'
    annotated "mode with a terminal's escape" bad_input 'control character' 'rdma.mode=\u001b[2J'
    annotated "mode of 1025 bytes" bad_input 'longer than 1024 bytes' "rdma.mode=$(long 1025)"
    annotated "key unknown" bad_input 'did you mean rdma.mode' rdma.moed=softroce
    annotated "key unknown beside a good one" bad_input 'unknown annotation rdma.speed' $m rdma.speed=fast
    annotated "key empty" bad_input 'unknown annotation' $m rdma.=x
    annotated "key of an index alone" bad_input 'unknown annotation' $m rdma.1=x
    annotated "key with a space" bad_input 'unknown annotation' $m 'rdma.ip =10.9.0.1/24'
    annotated "key with a newline" bad_input 'unknown annotation' $m 'rdma.m\node=softroce'
    annotated "key with letters of another alphabet" bad_input 'unknown annotation' $m 'rdma.mоde=softroce'
    annotated "index above 15" bad_input 'bad index .16' rdma.16.mode=softroce
    annotated "index with a leading zero" bad_input 'bad index .01' rdma.01.mode=softroce
    annotated "index of 30 digits" bad_input 'bad index' "rdma.$(long 30 9).mode=softroce"
    annotated "index below 0" bad_input 'unknown annotation' rdma.-1.mode=softroce
    annotated "index for the whole container's setting" bad_input 'holds for the whole container' $m rdma.1.memlock=1
    annotated "rdma.0.mode beside rdma.mode" bad_input 'rdma.mode.* and rdma.0.mode.* set the same thing' $m rdma.0.mode=softroce
    annotated "rdma.0.ip beside rdma.ip" bad_input 'set the same thing' $m rdma.ip=10.9.0.1/24 rdma.0.ip=10.9.0.1/24
    annotated "second attachment without a mode" bad_input 'rdma.1.mode is missing' $m rdma.1.ip=10.9.0.1/24
    annotated "pool that nobody configured" bad_input 'is not a pool' $m rdma.pool=fast
    annotated "pool with a slash" bad_input 'not acceptable' $m rdma.pool=../fast
    annotated "parent lo" bad_input 'not acceptable' $m rdma.parent=lo
    annotated "parent with a slash" bad_input 'not acceptable' $m rdma.parent=../eth1
    annotated "parent with a space" bad_input 'not acceptable' $m 'rdma.parent=eth1 '
    annotated "parent of 64 bytes" bad_input 'not acceptable' $m "rdma.parent=$(long 64)"
    annotated "placement unknown" bad_input "set rdma.placement to 'container' or 'host'" $m rdma.placement=guest
    annotated "ifname lo" bad_input 'the name is taken' $m rdma.ifname=lo
    annotated "ifname that is a folder of sysctls" bad_input 'the name is taken' $m rdma.ifname=all
    annotated "ifname .." bad_input 'not acceptable' $m rdma.ifname=..
    annotated "ifname of 16 bytes" bad_input 'not acceptable' $m rdma.ifname=abcdefghijklmnop
    annotated "ifname that is a template" bad_input 'not acceptable' $m rdma.ifname=rdma%d
    annotated "ifname with a slash" bad_input 'not acceptable' $m rdma.ifname=a/b
    annotated "ifname not ASCII" bad_input 'not acceptable' $m rdma.ifname=rdmaé
    annotated "ip without a prefix length" bad_input 'not an address with prefix length' $m rdma.ip=10.9.0.1
    annotated "ip with a prefix length of 33" bad_input 'not an address' $m rdma.ip=10.9.0.1/33
    annotated "ip with a byte of 256" bad_input 'not an address' $m rdma.ip=10.9.0.256/24
    annotated "ip in octal" bad_input 'not an address' $m rdma.ip=10.9.0.010/24
    annotated "ip of three bytes" bad_input 'not an address' $m rdma.ip=10.9.1/24
    annotated "ip with a scope" bad_input 'not an address' $m rdma.ip=fe80::1%eth0/64
    annotated "ip of a network" bad_input 'cannot be the address of a host' $m rdma.ip=10.9.0.0/24
    annotated "ip for broadcast" bad_input 'cannot be the address of a host' $m rdma.ip=10.9.0.255/24
    annotated "ip of loopback" bad_input 'cannot be the address of a host' $m rdma.ip=127.0.0.2/8
    annotated "ip for multicast" bad_input 'cannot be the address of a host' $m rdma.ip=ff02::5/64
    annotated "ip unspecified" bad_input 'cannot be the address of a host' $m rdma.ip=::/64
    annotated "ip v4 in v6" bad_input 'cannot be the address of a host' $m rdma.ip=::ffff:10.9.0.1/96
    annotated "ip with an empty part" bad_input 'not an address' $m rdma.ip=10.9.0.1/24,
    annotated "ip with a space" bad_input 'not an address' $m 'rdma.ip=10.9.0.1/24, 10.9.0.2/24'
    annotated "ip twice" bad_input 'is there twice' $m rdma.ip=fd00::1/64,FD00:0::1/64
    annotated "ip of 17 addresses" bad_input 'more than 16' $m "rdma.ip=$(seq -s, -f '10.9.0.%g/24' 1 17)"
    annotated "ip auto without a pool" bad_input 'needs a pool with a range' $m rdma.ip=auto
    annotated "mac too short" bad_input 'not acceptable' $m rdma.mac=02:00:5e:10:00
    annotated "mac for multicast" bad_input 'multicast' $m rdma.mac=01:00:5e:10:00:01
    annotated "mac zero" bad_input 'zero' $m rdma.mac=00:00:00:00:00:00
    annotated "mac with a tail" bad_input 'not acceptable' $m rdma.mac=02:00:5e:10:00:01:02
    annotated "mtu too small" bad_input 'from 576 to 9978' $m rdma.mtu=575
    annotated "mtu too large" bad_input 'from 576 to 9978' $m rdma.mtu=9979
    annotated "mtu with a unit" bad_input 'from 576 to 9978' $m rdma.mtu=9k
    annotated "mtu below 0" bad_input 'from 576 to 9978' $m rdma.mtu=-1500
    annotated "mtu in hexadecimal" bad_input 'from 576 to 9978' $m rdma.mtu=0x5dc
    annotated "mtu that wraps around 64 bits" bad_input 'from 576 to 9978' $m rdma.mtu=18446744073709553116
    annotated "mtu too small for the IPv6 beside it" bad_input 'too small for IPv6' $m rdma.mtu=1279 rdma.ip=fd00::1/64
    annotated "memlock 0" bad_input 'from 1' $m rdma.memlock=0
    annotated "memlock with a unit" bad_input 'from 1' $m rdma.memlock=64M
    annotated "memlock of 2^63" bad_input 'from 1' $m rdma.memlock=9223372036854775808
    annotated "memlock of 2^64" bad_input 'from 1' $m rdma.memlock=18446744073709551616
    annotated "optional yes" bad_input "'true' or 'false'" $m rdma.optional=yes
    annotated "optional forgives no mistake" bad_input 'not acceptable' $m rdma.optional=true rdma.mtu=1
    annotated "ip with placement=host" bad_input 'does not go with' $m rdma.placement=host rdma.ip=10.9.0.1/24
    annotated "mac with placement=host" bad_input 'does not go with' $m rdma.placement=host rdma.mac=02:00:5e:10:00:01
    annotated "mtu with placement=host" bad_input 'does not go with' $m rdma.placement=host rdma.mtu=1500
    annotated "ifname with placement=host" bad_input 'does not go with' $m rdma.placement=host rdma.ifname=rdma0
    annotated "mac with parent=container" bad_input 'does not go with' $m rdma.parent=container rdma.mac=02:00:5e:10:00:01
    annotated "mtu with parent=container" bad_input 'does not go with' $m rdma.parent=container rdma.mtu=1500
    annotated "ifname with parent=container" bad_input 'does not go with' $m rdma.parent=container rdma.ifname=rdma0
    annotated "ip auto with parent=container" bad_input 'does not go with|needs a pool' $m rdma.parent=container rdma.ip=auto
    annotated "parent=container with placement=host" bad_input 'does not go with' $m rdma.parent=container rdma.placement=host
    annotated "one interface name for two" bad_input 'both ask for the interface name' $m rdma.1.mode=softroce rdma.1.ifname=rdma0
    annotated "one MAC for two" bad_input 'both ask for the MAC' $m rdma.mac=02:00:5e:10:00:01 rdma.1.mode=softroce rdma.1.mac=02:00:5E:10:00:01
    annotated "one address for two" bad_input 'both ask for the address' $m rdma.ip=10.9.0.1/24 rdma.1.mode=softroce rdma.1.ip=10.9.0.1/16
    annotated "one device of the host's for two" bad_input 'both ask for' $m rdma.placement=host rdma.1.mode=softroce rdma.1.placement=host
    annotated "hook marker forged" refused "rdma-hook's own" $m org.rdma-hook.attach=$uuid
    annotated "hook marker forged, no UUID" refused "rdma-hook's own" $m org.rdma-hook.attach=../../x
    annotated "hooks' output redirected" refused 'run.oci.hooks.std' $m run.oci.hooks.stderr=/tmp/x
    annotated "parent that is not there" unavailable 'no-such|no RDMA' $m rdma.parent=no-such
}

# --- config.json -----------------------------------------------------------------------------------

specs() {
    spec "empty" bad_input 'not valid JSON' nothing
    spec "spaces alone" bad_input 'not valid JSON' text ' \n '
    spec "no JSON" bad_input 'not valid JSON' text 'annotations: rdma.mode'
    spec "cut short" bad_input 'not valid JSON' text '{"annotations":{"rdma.mode":"softr'
    spec "with a tail" bad_input 'not valid JSON' text '{"annotations":{"rdma.mode":"softroce"}}}'
    spec "two documents" bad_input 'not valid JSON' text '{"annotations":{}} {"annotations":{"rdma.mode":"softroce"}}'
    spec "with a comment" bad_input 'not valid JSON' text '{"annotations":{/* ours */"rdma.mode":"softroce"}}'
    spec "a list" bad_input 'not a JSON object' text '[]'
    spec "null" bad_input 'not a JSON object' text null
    spec "a number that no double holds" bad_input 'not valid JSON' text '{"x":1e999}'
    spec "a NUL byte" bad_input 'not valid JSON' text '{"annotations":{"rdma.mode":"soft\0000roce"}}'
    spec "a raw newline in a string" bad_input 'not valid JSON' text '{"annotations":{"rdma.mode":"soft\nroce"}}'
    spec "invalid UTF-8" bad_input 'not valid JSON' text '{"annotations":{"rdma.mode":"soft\xff\xferoce"}}'
    spec "half a surrogate pair" bad_input 'not valid JSON' text '{"annotations":{"rdma.mode":"\\ud800"}}'
    spec "UTF-16" bad_input 'not valid JSON' text '\xff\xfe{\0000}\0000'
    spec "larger than 4 MiB" bad_input 'larger than' padded '{"annotations":{"rdma.mode":"softroce"}}' 4300000
    spec "nested 65 deep" bad_input 'nested deeper' nested '{"annotations":{"rdma.mode":"softroce"},"x":' 65 '}'
    spec "nested 100000 deep" bad_input 'nested' nested '{"annotations":{"rdma.mode":"softroce"},"x":' 100000 '}'
    spec "nested a million deep and never closed" bad_input 'nested' long 1000000 '['
    spec "an annotation twice" bad_input 'twice in one object' text '{"annotations":{"rdma.mode":"softroce","rdma.mode":"softroce"}}'
    spec "annotations twice" bad_input 'twice in one object' text '{"annotations":{},"annotations":{"rdma.mode":"softroce"}}'
    spec "a key twice, once escaped" bad_input 'twice in one object' text '{"annotations":{"rdma.mode":"softroce","rdma.\\u006dode":"x"}}'
    spec "annotations a list" bad_input "'annotations' must be an object" text '{"annotations":["rdma.mode"]}'
    spec "an annotation a number" bad_input 'must be a string' text '{"annotations":{"rdma.mode":"softroce","rdma.mtu":1500}}'
    spec "an annotation null" bad_input 'must be a string' text '{"annotations":{"rdma.mode":null}}'
    spec "linux a string" bad_input "'linux' must be an object" asking '"linux":"x"'
    spec "namespaces an object" bad_input 'must be a list' asking '"linux":{"namespaces":{"type":"network"}}'
    spec "a namespace without type" bad_input 'type. is missing' asking '"linux":{"namespaces":[{"path":"/x"}]}'
    spec "two network namespaces" bad_input 'a second time' asking '"linux":{"namespaces":[{"type":"network"},{"type":"network","path":"/x"}]}'
    spec "a namespace path that is relative" bad_input 'absolute path' asking '"linux":{"namespaces":[{"type":"network","path":"x"}]}'
    spec "a namespace path with a NUL" bad_input 'control character' asking '"linux":{"namespaces":[{"type":"network","path":"/proc/self/ns/net\u0000x"}]}'
    spec "a namespace path with a newline" bad_input 'control character' asking '"linux":{"namespaces":[{"type":"network","path":"/x\ny"}]}'
    spec "a namespace path to nothing" unavailable 'open network namespace /no/such' asking '"linux":{"namespaces":[{"type":"network","path":"/no/such"}]}'
    spec "a namespace path to a file" bad_input 'is not a network namespace' asking '"linux":{"namespaces":[{"type":"network","path":"/etc/passwd"}]}'
    spec "a namespace path to a folder" bad_input 'is not a network namespace' asking '"linux":{"namespaces":[{"type":"network","path":"/etc"}]}'
    spec "a namespace path to a fifo" bad_input 'is not a network namespace' asking "\"linux\":{\"namespaces\":[{\"type\":\"network\",\"path\":\"$home/fifo\"}]}"
    spec "a namespace path to the host's own" refused "in the host's network namespace" asking '"linux":{"namespaces":[{"type":"network","path":"/proc/self/ns/net"}]}'
    spec "a namespace path to another kind of namespace" bad_input 'not a network namespace' asking '"linux":{"namespaces":[{"type":"network","path":"/proc/self/ns/mnt"}]}'
    spec "an endless namespace path" bad_input 'must be|longer' asking "\"linux\":{\"namespaces\":[{\"type\":\"network\",\"path\":\"/$(long 5000)\"}]}"
    spec "process a list" bad_input "'process' must be an object" asking "$namespaces,\"process\":[]"
    spec "env of numbers" bad_input 'must be a string' asking "$namespaces,\"process\":{\"env\":[1]}"
    spec "one rlimit twice" bad_input 'a second time' asking "$namespaces,\"process\":{\"rlimits\":[{\"type\":\"RLIMIT_MEMLOCK\",\"soft\":1,\"hard\":1},{\"type\":\"RLIMIT_MEMLOCK\",\"soft\":2,\"hard\":2}]}"
    spec "an rlimit below 0" bad_input 'whole number from 0' asking "$namespaces,\"process\":{\"rlimits\":[{\"type\":\"RLIMIT_MEMLOCK\",\"soft\":-1,\"hard\":-1}]}"
    spec "an rlimit with a fraction" bad_input 'whole number from 0' asking "$namespaces,\"process\":{\"rlimits\":[{\"type\":\"RLIMIT_MEMLOCK\",\"soft\":1.5,\"hard\":2}]}"
    spec "mounts an object" bad_input "'mounts' must be a list" asking "$namespaces,\"mounts\":{}"
    spec "a mount without destination" bad_input 'destination. is missing' asking "$namespaces,\"mounts\":[{}]"
    spec "hooks a list" bad_input "'hooks' must be an object" asking "$namespaces,\"hooks\":[]"
    spec "a stage of hooks an object" bad_input 'must be a list' asking "$namespaces,\"hooks\":{\"poststop\":{}}"
    spec "a device without path" bad_input 'path. is missing' asking '"linux":{"namespaces":[{"type":"network"}],"devices":[{"type":"c"}]}'
    spec "a device number of 2^64" bad_input 'whole number|not valid' asking '"linux":{"namespaces":[{"type":"network"}],"devices":[{"path":"/x","type":"c","major":18446744073709551616,"minor":0}]}'
    spec "a device rule whose allow is a string" bad_input 'true or false' asking '"linux":{"namespaces":[{"type":"network"}],"resources":{"devices":[{"allow":"yes"}]}}'
    spec "capabilities of numbers" bad_input 'must be a string' asking "$namespaces,\"process\":{\"capabilities\":{\"bounding\":[1]}}"
    spec "a label with a newline" bad_input 'control character' asking '"linux":{"mountLabel":"a\nb","namespaces":[{"type":"network"}]}'
    spec "a user namespace" refused 'leave out --userns' asking '"linux":{"namespaces":[{"type":"user"},{"type":"network"}]}'
    spec "the host's network" refused 'leave out --network host' asking '"linux":{"namespaces":[{"type":"mount"}]}'
    spec "no namespaces at all" refused 'leave out --network host' asking '"linux":{}'
}

bystanders() {
    passes "no annotations" text '{"ociVersion":"1.2.0"}'
    passes "annotations of others" document '{"rdma.example.com/mode":"x","RDMA.mode":"x","rdma":"x","xrdma.mode":"x"}' "$namespaces"
    passes "annotations of others, and what some runtimes let pass" document '{"rdma.example.com/mode":"x"}' '"process":{"rlimits":[{"type":"RLIMIT_CORE","soft":1,"hard":1},{"type":"RLIMIT_CORE","soft":2,"hard":2}]}'
    configure '"nonsense":1'
    passes "no annotations, and a broken configuration" text '{"annotations":{}}'
    configure
}

# --- container state and the command line of the later stages --------------------------------------

states() {
    state "empty" bad_input 'not valid JSON' nothing
    state "no JSON" bad_input 'not valid JSON' text 'id: c'
    state "a list" bad_input 'not a JSON object' text '[{}]'
    state "an object without members" bad_input 'is missing' text '{}'
    state "without id" bad_input "'id' is missing" text '{"bundle":"/b","pid":1}'
    state "id a number" bad_input "'id' must be a string" text '{"id":1,"bundle":"/b","pid":1}'
    state "id empty" bad_input "'id' must be" text '{"id":"","bundle":"/b","pid":1}'
    state "id with slashes" bad_input "'id' must be" text '{"id":"../../etc/passwd","bundle":"/b","pid":1}'
    state "id .." bad_input "'id' must be" text '{"id":"..","bundle":"/b","pid":1}'
    state "id with a newline" bad_input "'id' must be" text '{"id":"a\\nb","bundle":"/b","pid":1}'
    state "id with a NUL" bad_input "'id' must be" text '{"id":"a\\u0000b","bundle":"/b","pid":1}'
    state "id not ASCII" bad_input "'id' must be" text '{"id":"café","bundle":"/b","pid":1}'
    state "id of 1025 bytes" bad_input "'id' must be" text "{\"id\":\"$(long 1025)\",\"bundle\":\"/b\",\"pid\":1}"
    state "id twice" bad_input 'twice in one object' text '{"id":"a","id":"b","bundle":"/b","pid":1}'
    state "without bundle" bad_input "'bundle' is missing" text '{"id":"c","pid":1}'
    state "bundle relative" bad_input "'bundle' must be" text '{"id":"c","bundle":"b","pid":1}'
    state "bundle with .." bad_input "'bundle' must be" text '{"id":"c","bundle":"/a/../b","pid":1}'
    state "bundle with a newline" bad_input "'bundle' must be" text '{"id":"c","bundle":"/a\\nb","pid":1}'
    state "bundle of 5000 bytes" bad_input "'bundle' must be" text "{\"id\":\"c\",\"bundle\":\"/$(long 5000)\",\"pid\":1}"
    state "pid a string" bad_input "'pid' must be" text '{"id":"c","bundle":"/b","pid":"1"}'
    state "pid with a fraction" bad_input "'pid' must be" text '{"id":"c","bundle":"/b","pid":1.5}'
    state "pid below 0" bad_input "'pid' must be" text '{"id":"c","bundle":"/b","pid":-1}'
    state "pid of 2^32" bad_input "'pid' must be" text '{"id":"c","bundle":"/b","pid":4294967297}'
    state "status a number" bad_input "'status' must be" text '{"id":"c","bundle":"/b","pid":1,"status":0}'
    state "larger than 4 MiB and what may come beside annotations" bad_input 'larger than' padded "{$plain_state}" 4300000
    state "nested 65 deep" bad_input 'nested deeper' nested "{$plain_state,\"x\":" 65 '}'
    state "invalid UTF-8" bad_input 'not valid JSON' text '{"id":"\xc3\x28","bundle":"/b","pid":1}'

    text "{$plain_state}" >"$work/in"
    call createRuntime --state "$state" --container "$key" --attach "$uuid"
    judge "state: of a container that was never prepared" refused '^rdma-hook: createRuntime: .*create the container again' $?

    local later=(--state "$state" --container "$key" --attach "$uuid")
    usage "none" usage 'no phase given'
    usage "a phase that is none" usage 'unknown phase' poststart
    usage "a phase with a terminal's escape" usage 'unknown phase' $'\e[2J'
    usage "an option that is none" usage 'unknown option' precreate --conf "$config"
    usage "an option without value" usage 'needs a value' precreate --config
    usage "createRuntime of plain hooks, without a bundle" kernel 'open the bundle /b' createRuntime
    usage "prestart without a bundle" kernel 'open the bundle /b' prestart
    usage "createRuntime without --attach" usage 'needs --state' createRuntime "${later[@]:0:4}"
    usage "container with a slash" usage '--container wants 64 hex digits' createRuntime "${later[@]}" --container "../../$(long 58 0)"
    usage "container in capitals" usage '--container wants 64 hex digits' createRuntime "${later[@]}" --container "$(long 64 A)"
    usage "attach that is no UUID" usage '--attach wants a UUID' createRuntime "${later[@]}" --attach x
    usage "state folder relative" usage '--state wants an absolute path' createRuntime "${later[@]}" --state state
    usage "state folder with a newline" usage '--state wants an absolute path' createRuntime "${later[@]}" --state $'/run/rdma-hook-test/a\nb'
    usage "poststop with an option that is none" ok 'unknown option' poststop "${later[@]}" --force yes
}

# --- the configuration ------------------------------------------------------------------------------

write() { text "$1" >"$config"; }
write_from() { "$@" >"$config"; }
owned_by_another() { configure && chown 65534 "$config"; }
writable_by() { configure && chmod "$1" "$config"; }
folder_of_another() { configure && chown 65534 "$home/config"; }
folder_writable() { configure && chmod 1777 "$home/config"; }
grandparent_of_another() { configure && chown 65534 "$home"; }
grandparent_writable() { configure && chmod 775 "$home"; }
linked() { configure && mv "$config" "$config.real" && ln -s config.json.real "$config"; }
folder_linked() { configure && ln -s "$home/config" "$home/link" && path=$home/link/config.json; }
a_folder() { mkdir -p "$config.d" && rm -f "$config" && mv "$config.d" "$config"; }
a_fifo() { rm -f "$config" && mkfifo "$config"; }
a_device() { rm -f "$config" && mknod "$config" c 1 5 && chmod 600 "$config"; }
below_a_file() { configure && path=$config/config.json; }
at() { path=$1; }
strange_path() { path=$home/$'a\nb' && mkdir -p "$path" && path+=/../c; }

configurations() {
    stored "owned by another" bad_config 'belongs to uid 65534' owned_by_another
    stored "writable by its group" bad_config 'can be written by others' writable_by 664
    stored "writable by all" bad_config 'can be written by others' writable_by 646
    stored "in the folder of another" bad_config 'belongs to uid 65534' folder_of_another
    stored "in a folder that all may write, sticky or not" bad_config 'can be written by others' folder_writable
    stored "below the folder of another" bad_config 'belongs to uid 65534' grandparent_of_another
    stored "below a folder that a group may write" bad_config 'can be written by others' grandparent_writable
    stored "a symbolic link" bad_config 'symbolic links are not followed' linked
    stored "through a symbolic link" bad_config 'symbolic links are not followed' folder_linked
    stored "a folder" bad_config 'not a regular file' a_folder
    stored "a fifo" bad_config 'not a regular file' a_fifo
    stored "a device" bad_config 'not a regular file' a_device
    stored "below a file" bad_config 'symbolic links are not followed|plain folder' below_a_file
    stored "path relative" bad_config 'absolute path' at config.json
    stored "path empty" bad_config 'absolute path' at ''
    stored "path with .." bad_config 'not a plain path' at "$home/../rdma-hook-test/config/config.json"
    stored "path with a newline" bad_config 'not a plain path' strange_path
    stored "empty" bad_config 'not valid JSON' write ''
    stored "no JSON" bad_config 'not valid JSON' write 'policy: none'
    stored "a list" bad_config 'must be an object' write '[]'
    stored "invalid UTF-8" bad_config 'not valid JSON' write '{"log":{"file":"/\xff"}}'
    stored "larger than 1 MiB" bad_config 'larger than' write_from padded '{}' 1100000
    stored "nested 65 deep" bad_config 'nested deeper' write_from nested '{"policy":{"modes":' 65 '}}'
    stored "a key twice" bad_config 'twice in one object' write '{"policy":{"mac":false,"mac":true}}'
    stored "state_dir outside of /run" bad_config 'must be below /run' write '{"state_dir":"/var/lib/rdma-hook"}'
    stored "state_dir out of /run again" bad_config 'absolute path' write '{"state_dir":"/run/../etc"}'
    stored "state_dir relative" bad_config 'absolute path' write '{"state_dir":"run/x"}'
    stored "state_dir with a newline" bad_config 'absolute path' write '{"state_dir":"/run/a\\nb"}'
    stored "state_dir of 201 bytes" bad_config 'up to 200 bytes' write "{\"state_dir\":\"/run/$(long 196)\"}"
    configured "a key that is none" bad_config "did you mean 'policy'" '"polici":{}'
    configured "a key of a policy that is none" bad_config "did you mean 'modes'" '"policy":{"mode":["softroce"]}'
    configured "policy a list" bad_config 'must be an object' '"policy":[]'
    configured "policy null" bad_config 'must be an object' '"policy":null'
    configured "policy.modes a string" bad_config 'must be a list' '"policy":{"modes":"softroce"}'
    configured "policy.modes with a mode that is none" bad_config 'unknown mode' '"policy":{"modes":["soft"]}'
    configured "policy.modes with one twice" bad_config 'a second time' '"policy":{"modes":["softroce","softroce"]}'
    configured "policy.mac a string" bad_config 'true or false' '"policy":{"mac":"true"}'
    configured "policy.addresses with a host's" bad_config 'must be a network' '"policy":{"addresses":["10.9.0.1/16"]}'
    configured "policy.memlock below 0" bad_config 'whole number' '"policy":{"memlock":-1}'
    configured "policy.memlock of 2^64-1" bad_config 'whole number' '"policy":{"memlock":18446744073709551615}'
    configured "policy.memlock a number in a string" bad_config 'whole number' '"policy":{"memlock":"1024"}'
    configured "a pool without mode" bad_config 'mode. is missing' '"pools":{"a":{}}'
    configured "a pool of a mode that is none" bad_config 'unknown mode' '"pools":{"a":{"mode":"x"}}'
    configured "a pool's name with a slash" bad_config 'is not a name for a pool' '"pools":{"../a":{"mode":"softroce"}}'
    configured "two default pools" bad_config 'one default pool' '"pools":{"a":{"mode":"softroce","default":true},"b":{"mode":"softroce","default":true}}'
    configured "a pool's parent with a slash" bad_config 'must be the name' '"pools":{"a":{"mode":"softroce","parents":["a/b"]}}'
    configured "a range that ends before it begins" bad_config 'ends before it begins' '"pools":{"a":{"mode":"softroce","range":"10.9.0.9-10.9.0.1/24"}}'
    configured "a range of two subnets" bad_config 'not one subnet' '"pools":{"a":{"mode":"softroce","range":"10.9.0.9-10.9.1.9/24"}}'
    configured "a range of two families" bad_config 'has the range' '"pools":{"a":{"mode":"softroce","range":"10.9.0.9-fd00::1/64"}}'
    configured "two ranges of one family" bad_config 'one range a family' '"pools":{"a":{"mode":"softroce","range":["10.9.0.1-10.9.0.9/24","10.9.1.1-10.9.1.9/24"]}}'
    configured "a default that no pool has" bad_config 'cannot be a default' '"pools":{"a":{"mode":"softroce","defaults":{"mac":"02:00:5e:10:00:01"}}}'
    configured "a default that is no value" bad_config 'not acceptable' '"pools":{"a":{"mode":"softroce","defaults":{"mtu":"1"}}}'
    configured "a default that is a number" bad_config 'must be a string' '"pools":{"a":{"mode":"softroce","defaults":{"mtu":9000}}}'
    configured "an address as a default" bad_config 'cannot share addresses' '"pools":{"a":{"mode":"softroce","defaults":{"ip":"10.9.0.1/24"}}}'
    configured "log.level unknown" bad_config 'must be error, warning, info or debug' '"log":{"level":"loud"}'
    configured "log.file relative" bad_config 'absolute path' '"log":{"file":"x.log"}'

    configured "pool misspelt by the container" bad_input 'did you mean fast' '"pools":{"fast":{"mode":"softroce"}}' rdma.pool=fats
    configured "parent that the pool has not" refused 'not a parent of pool' '"pools":{"fast":{"mode":"softroce","parents":["eth1"]}}' rdma.pool=fast rdma.parent=eth9
    configured "auto without a range" bad_input 'has none' '"pools":{"fast":{"mode":"softroce"}}' rdma.pool=fast rdma.ip=auto
    configured "policy without modes" refused 'policy.modes does not allow' '"policy":{}'
    configured "policy without the default route" refused 'policy.parents does not allow' '"policy":{"modes":["softroce"],"parents":["eth1"]}'
    configured "policy without the parent" refused 'policy.parents does not allow' '"policy":{"modes":["softroce"],"parents":["eth1"]}' rdma.parent=eth9
    configured "policy without the address" refused 'policy.addresses does not allow' '"policy":{"modes":["softroce"],"parents":["eth1"],"addresses":["10.9.0.0/16"]}' rdma.parent=eth1 rdma.ip=10.8.0.1/24
    configured "policy with a longer prefix" refused 'policy.addresses does not allow' '"policy":{"modes":["softroce"],"parents":["eth1"],"addresses":["10.9.0.0/16"]}' rdma.parent=eth1 rdma.ip=10.9.0.1/8
    configured "policy without memlock" refused 'policy.memlock does not allow' '"policy":{"modes":["softroce"],"parents":["eth1"]}' rdma.parent=eth1 rdma.memlock=1
    configured "policy without unlimited memlock" refused 'set at most 4096' '"policy":{"modes":["softroce"],"parents":["eth1"],"memlock":4096}' rdma.parent=eth1 rdma.memlock=unlimited
    configured "policy without placement_host" refused 'policy.placement_host does not allow' '"policy":{"modes":["softroce"],"parents":["eth1"]}' rdma.parent=eth1 rdma.placement=host
    configured "policy without mac" refused 'policy.mac does not allow' '"policy":{"modes":["softroce"],"parents":["eth1"]}' rdma.parent=eth1 rdma.mac=02:00:5e:10:00:01
    configured "optional forgives no policy" refused 'policy.modes does not allow' '"policy":{}' rdma.optional=true

    configure '"policy":{"modes":["softroce"],"parents":["eth1"]}'
    spec "privileged, and the policy does not allow it" refused 'policy.privileged' document "$(pairs $m rdma.parent=eth1)" '"process":{"capabilities":{"bounding":["CAP_SYS_ADMIN"]}},"linux":{"namespaces":[{"type":"network"}],"resources":{"devices":[{"allow":true,"access":"rwm"}]}}'
    configure
}

# --- who calls, and from where ----------------------------------------------------------------------

caller_in_userns() { # NAME: with as_user
    if ! "${as_user[@]}" true 2>/dev/null; then
        echo "skipped: caller: $1: this system makes no user namespaces (unshare -Ur; a chroot, or a setting)"
        return
    fi
    call precreate --config "$config"
    judge "caller: $1" refused '^rdma-hook: precreate: .*rootless engine.*rdma.mode=host' $?
}

callers() {
    asking "$namespaces" >"$work/in"
    as_user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    call precreate --config "$config"
    judge "caller: not root" refused '^rdma-hook: precreate: .*rootless engine.*rdma.mode=host' $?
    as_user=(unshare -Ur setpriv --reuid 0)
    caller_in_userns "root of a user namespace"
    as_user=(setpriv --reuid 65534 --regid 65534 --clear-groups unshare -Ur)
    caller_in_userns "a user as root of a user namespace"
    as_user=()

    mkdir -m 700 "$state.other"
    chown 65534 "$state.other"
    text "{\"state_dir\":\"$state.other\"}" >"$config"
    call precreate --config "$config"
    judge "caller: the state folder belongs to another" refused '^rdma-hook: precreate: .*not a folder that only its owner can change' $?
    ln -s "$home/bundle" "$state.link"
    text "{\"state_dir\":\"$state.link\"}" >"$config"
    call precreate --config "$config"
    judge "caller: the state folder is a symbolic link" refused '^rdma-hook: precreate: .*not a folder that only its owner can change' $?
    configure
}

# --- through Podman ---------------------------------------------------------------------------------

through_podman() {
    local rootfs=/usr/lib/lab/rootfs:O chosen
    chosen='mode unknown|key with a newline'
    modprobe -a rdma_rxe ib_uverbs rdma_ucm macvlan veth overlay bridge nf_tables
    mkdir -p "$work/mark"
    world >"$work/before"
    annotated() { # the same table, as a person would ask
        local name=$1 code=$2 regex=$3 each value options=() faults=()
        shift 3
        ((full)) || [[ "|$chosen|" == *"|$name|"* ]] || return 0
        for each; do
            printf -v value '%b' "$each"
            options+=(--annotation "$value")
        done
        : >"$work/own"
        rm -f "$work/mark/started"
        podman run --rm "${options[@]}" -v "$work/mark:/mark" --rootfs $rootfs touch /mark/started >"$work/stdout" 2>>"$work/own"
        local got=$?
        [[ $got == 126 ]] || faults+=("podman's exit status is $got instead of 126")
        [[ $(grep -c '^rdma-hook: precreate: ' "$work/own") == 1 ]] || faults+=("not one line of rdma-hook")
        grep -qE -- "^rdma-hook: precreate: .*$regex" "$work/own" || faults+=("the line does not say '$regex'")
        grep -qE "exit status ${status[$code]}\b" "$work/own" || faults+=("Podman does not say exit status ${status[$code]}")
        [[ ! -e $work/mark/started ]] || faults+=("the container ran")
        [[ -z $(podman ps -aq) ]] || faults+=("a container is left: $(podman ps -a)")
        { printf '%s\n' "${faults[@]}"; cut -c -400 "$work/own"; } >"$work/out"
        report ${#faults[@]} "podman: $name" "$work/out"
    }
    annotations
    same_world "podman: nothing is left" "$work/before"
}

mkfifo "$home/fifo"
configure
leftovers
clean=$left
if ((!podman_alone)); then
    annotations
    specs
    bystanders
    states
    configurations
    callers
fi
umount -R "$state/netns" 2>/dev/null
rm -rf "$home"
if command -v podman >/dev/null && [[ -d /usr/lib/lab/rootfs ]]; then
    through_podman
    clean_kernel_log
else
    echo "# no Podman here: its part is left out"
fi
finish
