# shellcheck shell=bash
# shellcheck disable=SC2154 # from common.sh
# KVM, or emulation, or emulation whose clock counts instructions. Sourced, after common.sh.
#
# A /dev/kvm that opens proves nothing: where the machine is itself a guest of some hypervisors, it opens, and a stock kernel then
# hangs behind the firmware for ever. So a kernel is booted on it, once for each boot of the machine.

readonly PROBE_SECONDS=${LAB_PROBE_SECONDS:-10}

# choose_accel PROBE...: prints kvm, tcg or icount. PROBE is a command that succeeds where a guest boots on KVM; it runs if $cache
# has no answer of this boot of the machine. LAB_ACCEL decides without it, and nothing else chooses icount.
choose_accel() {
    local file=$cache/accel boot at='' answer=''
    case ${LAB_ACCEL:-} in
    kvm | tcg | icount) echo "$LAB_ACCEL" && return ;;
    '') ;;
    *) die $EXIT_USAGE "LAB_ACCEL is kvm, tcg or icount, not '$LAB_ACCEL'" ;;
    esac
    boot=$(</proc/sys/kernel/random/boot_id)
    (
        exec 5>"$file.lock"
        flock 5
        [[ ! -e $file ]] || read -r at answer <"$file"
        if [[ $at != "$boot" || ! $answer =~ ^(kvm|tcg)$ ]]; then
            answer=tcg
            if "$@"; then answer=kvm; fi
            echo "$boot $answer" >"$file"
            say "guests run $([[ $answer == kvm ]] && echo "on KVM" || echo "in software emulation: no guest boots on KVM here")"
        fi
        echo "$answer"
    )
}

# boots_on_kvm KERNEL INITRD CONSOLE QEMU...: whether that kernel comes to its first program on KVM. The files are named as QEMU
# sees them, but for CONSOLE, which is the machine's own name of QEMU's standard output.
boots_on_kvm() {
    local kernel=$1 initrd=$2 console=$3
    shift 3
    timeout --kill-after=1 "$PROBE_SECONDS" "$@" -nodefaults -display none -no-reboot -M q35,sata=off,usb=off,smbus=off -m 256 \
        -accel kvm -cpu host -kernel "$kernel" -initrd "$initrd" -append "console=ttyS0 quiet panic=-1 lab.probe" \
        -serial stdio </dev/null >"$console" 2>&1
    grep -aq '^lab: booted' "$console"
}
