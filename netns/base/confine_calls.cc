// SPDX-License-Identifier: Apache-2.0
// A call is listed because this project's code or glibc makes it: glibc 2.36 to 2.41, and calls
// that tests/lab/newest-libc finds in newer ones. A call that has two names on two architectures
// has a line for each; a name that an architecture lacks is left out there.
#include "netns/base/confine_calls.h"

#include <algorithm>
#include <csignal>

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "netns/base/nsfs.h"

namespace base {

namespace {
constexpr uint32_t kAll = ~0U;

Argument is(unsigned index, uint64_t value) {
    return {index, kAll, static_cast<uint32_t>(value)};
}

Argument has(unsigned index, uint64_t mask, uint64_t value) {
    return {index, static_cast<uint32_t>(mask), static_cast<uint32_t>(value)};
}

// The type in socket()'s second argument, which also holds flags (the kernel's SOCK_TYPE_MASK).
constexpr uint64_t kSocketType = 0xf;

// TCGETS2: the header of its structure clashes with those of the C library.
constexpr uint64_t kTerminalSettings2 = 0x802c542a;

constexpr uint64_t kNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                 CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

CallGroup memory() {
    return {"memory",
            {Profile::Hook, Profile::Look},
            {
                {"brk", "malloc"},
                {"mmap", "malloc, stacks of threads; never code", {has(2, PROT_EXEC, 0)}},
                {"mprotect", "malloc, stacks of threads; never code", {has(2, PROT_EXEC, 0)}},
                {"munmap", "malloc"},
                {"mremap", "realloc of large blocks"},
                {"madvise", "malloc gives back, stacks of threads"},
            }};
}

CallGroup process() {
    return {"process",
            {Profile::Hook, Profile::Look, Profile::Serve},
            {
                {"exit", "a thread ends"},
                {"exit_group", "the process ends"},
                {"futex", "locks, joining threads"},
                {"set_robust_list", "glibc, in each new thread"},
                {"rseq", "glibc, in each new thread"},
                {"rt_sigaction", "signals that end a call in time; abort"},
                {"rt_sigprocmask", "glibc, around the start of a thread; abort"},
                {"rt_sigreturn", "the end of a signal handler"},
                {"sigaltstack", "asked by the unwinder of a thread's end"},
                {"restart_syscall", "the kernel goes on with a sleep after a stop"},
                {"getpid", "names of temporary files"},
                {"gettid", "abort; a timer of a thread"},
                {"getppid", "the engine that called us"},
                {"getuid", "who we are"},
                {"geteuid", "who we are"},
                {"getgid", "who we are"},
                {"getegid", "who we are"},
                {"tgkill", "abort", {is(0, kOwnPid), is(2, SIGABRT)}},
                {"kill", "whether the writer of a temporary file lives", {is(1, 0)}},
                {"uname", "release of the kernel"},
                {"sysinfo", "glibc's qsort"},
                {"sched_getaffinity", "malloc counts processors"},
                {"sched_yield", "a thread lets another go on"},
                {"getrandom", "malloc, UUIDs"},
                {"clock_gettime", "deadlines, where the vDSO cannot answer"},
                {"clock_getres", "glibc"},
                {"gettimeofday", "the time of a line, where the vDSO cannot answer"},
                {"time", "the time of a line, where the vDSO cannot answer"},
                {"clock_nanosleep", "to ask again a little later"},
                {"nanosleep", "the same, in older libraries"},
                {"timer_create", "calls that end in time"},
                {"timer_settime", "calls that end in time"},
                {"timer_delete", "calls that end in time"},
            }};
}

// fork() is clone() without CLONE_THREAD. clone3() has its flags in memory, where no filter sees
// them; glibc tries it once, and falls back to clone().
CallGroup threads() {
    return {"threads",
            {Profile::Hook, Profile::Serve},
            {
                {"clone",
                 "a thread: mount namespaces are entered on one, the server has one for a client",
                 {has(0, CLONE_THREAD | kNamespaces, CLONE_THREAD)}},
                {"clone3", "glibc asks first", {}, true},
                {"seccomp", "the filter that answers it", {is(0, SECCOMP_SET_MODE_FILTER)}},
            }};
}

CallGroup reading() {
    return {"reading",
            {Profile::Hook, Profile::Look, Profile::Serve},
            {
                {"read", "files, stdin, sockets"},
                {"readv", "the same"},
                {"pread64", "the same"},
                {"lseek", "stdio"},
                {"close", "descriptors"},
                {"close_range", "descriptors"},
                {"stat", "what a path is"},
                {"lstat", "what a path is"},
                {"fstat", "what a descriptor is"},
                {"newfstatat", "what a path is"},
                {"statx", "what a path is"},
                {"statfs", "whose file system a file is on"},
                {"fstatfs", "whose file system a file is on"},
                {"access", "what is there"},
                {"faccessat", "what is there"},
                {"faccessat2", "what is there"},
                {"readlink", "devices in sysfs, /proc/self/exe"},
                {"readlinkat", "devices in sysfs"},
                {"getdents64", "what is in a folder"},
                {"getcwd", "the bundle"},
                {"fcntl", "close-on-exec, fdopendir"},
                {"dup", "a second handle of a namespace"},
                {"poll", "sockets with a deadline"},
                {"ppoll", "sockets with a deadline"},
                {"write", "stdout, stderr, the log; files that were opened to be written"},
                {"writev", "stdio"},
                {"umask", "glibc"},
            }};
}

CallGroup looking() {
    constexpr uint64_t kWriting = O_ACCMODE | O_CREAT | O_TRUNC;
    return {"to look",
            {Profile::Look},
            {
                {"open", "state, configuration, sysfs, /proc", {has(1, kWriting, O_RDONLY)}},
                {"openat", "state, configuration, sysfs, /proc", {has(2, kWriting, O_RDONLY)}},
                {"prlimit64", "memlock; no new one is given", {is(2, 0)}},
                {"inotify_init1", "rdmactl list --watch waits for the state to change"},
                {"inotify_add_watch", "the same"},
            }};
}

CallGroup folders() {
    return {"folders",
            {Profile::Hook, Profile::Look},
            {
                {"mkdir", "who comes first after a boot makes the folders of state"},
                {"mkdirat", "the same; /dev/infiniband of a container"},
            }};
}

CallGroup writing() {
    return {"files",
            {Profile::Hook},
            {
                {"open", "state, config.json, sysfs, cgroups, /proc"},
                {"openat", "state, config.json, sysfs, cgroups, /proc"},
                {"openat2", "what is in a container, without following links"},
                {"pwrite64", "sysfs"},
                {"ftruncate", "files of state"},
                {"flock", "locks"},
                {"fsync", "config.json"},
                {"rename", "files are replaced in one step"},
                {"renameat", "files are replaced in one step"},
                {"renameat2", "files are replaced in one step"},
                {"link", "files are made in one step"},
                {"linkat", "files are made in one step"},
                {"unlink", "state that has ended"},
                {"unlinkat", "state that has ended"},
                {"rmdir", "state that has ended"},
                {"symlink", "what a container sees of /sys/class"},
                {"symlinkat", "what a container sees of /sys/class"},
                {"chmod", "files that containers read"},
                {"fchmod", "config.json keeps its mode"},
                {"fchmodat", "files that containers read"},
                {"fchown", "config.json keeps its owner"},
                {"lsetxattr", "what a container reads has its label of SELinux"},
                {"chdir", "a thread's way to a container's folder"},
                {"fchdir", "a thread's way to a container's folder"},
                {"setfsuid", "a container's folder is its owner's to change"},
                {"setfsgid", "a container's folder is its owner's to change"},
            }};
}

CallGroup netlink() {
    const auto socket = [](int protocol, const char* why) {
        return AllowedCall{
            "socket", why, {is(0, AF_NETLINK), is(2, static_cast<uint64_t>(protocol))}};
    };
    return {"netlink",
            {Profile::Hook, Profile::Look, Profile::Serve},
            {
                socket(NETLINK_ROUTE, "links, addresses, routes, VFs"),
                socket(NETLINK_RDMA, "RDMA devices"),
                socket(NETLINK_GENERIC, "devlink"),
                {"socket", "the host's journal, Open vSwitch's database", {is(0, AF_UNIX)}},
                {"connect", "netlink's kernel, the host's journal, Open vSwitch's database"},
                {"bind", "a socket's own address"},
                {"getsockname", "a socket's own address"},
                {"getsockopt", "why a connection failed"},
                {"setsockopt", "deadlines, sizes, the kernel's own sentences"},
                {"sendto", "requests"},
                {"sendmsg", "requests"},
                {"recvfrom", "answers"},
                {"recvmsg", "answers"},
            }};
}

CallGroup hearing() {
    return {"devices that come, and neighbours",
            {Profile::Hook},
            {
                {"socket",
                 "the RDMA device of a VF that is bound again",
                 {is(0, AF_NETLINK), is(2, NETLINK_KOBJECT_UEVENT)}},
                {"socket", "asks and tells neighbours who has an address", {is(0, AF_PACKET)}},
            }};
}

CallGroup asking() {
    return {"namespaces to look into",
            {Profile::Hook, Profile::Look},
            {
                {"setns", "one request in a container's network", {is(1, CLONE_NEWNET)}},
                {"socket",
                 "UDP alone: RoCE's port, lo, names of interfaces",
                 {is(0, AF_INET), has(1, kSocketType, SOCK_DGRAM), is(2, 0)}},
                {"fsopen", "the sysfs of a container's network"},
                {"fsconfig", "the sysfs of a container's network"},
                {"fsmount", "the sysfs of a container's network, mounted nowhere"},
                {"ioctl", "whether a namespace is a network namespace", {is(1, NS_GET_NSTYPE)}},
                {"ioctl", "the number of a namespace", {is(1, kNamespaceId)}},
                {"ioctl", "whether stdout is a terminal", {is(1, TCGETS)}},
                {"ioctl", "the same, glibc from 2.42 on", {is(1, kTerminalSettings2)}},
                {"ioctl", "the size of stdout's terminal", {is(1, TIOCGWINSZ)}},
                {"ioctl", "the name of an interface", {is(1, SIOCGIFNAME)}},
                {"bpf", "the device programs of a cgroup", {is(0, BPF_PROG_QUERY)}},
                {"bpf", "the device programs of a cgroup", {is(0, BPF_PROG_GET_FD_BY_ID)}},
                {"bpf", "the device programs of a cgroup", {is(0, BPF_OBJ_GET_INFO_BY_FD)}},
            }};
}

CallGroup changing() {
    const auto mount = [](uint64_t flags, const char* why) {
        return AllowedCall{"mount", why, {is(3, flags)}};
    };
    return {"namespaces to change",
            {Profile::Hook},
            {
                {"setns", "a container's mounts, on a thread of its own", {is(1, CLONE_NEWNS)}},
                {"unshare", "a new network for a container", {is(0, CLONE_NEWNET)}},
                {"unshare", "a thread's own working folder", {is(0, CLONE_FS)}},
                mount(MS_BIND, "the pin of a namespace"),
                mount(MS_BIND | MS_REC, "the folder of pins becomes a mount"),
                mount(MS_SHARED | MS_REC, "a pin that goes, goes everywhere"),
                {"umount2", "pins, nodes in a container", {is(1, MNT_DETACH | UMOUNT_NOFOLLOW)}},
                {"open_tree", "a copy of a node, to be mounted"},
                {"mount_setattr", "a copy of a file becomes read-only"},
                {"move_mount", "a node into a container, by descriptors"},
                {"bpf", "rules of a container's devices", {is(0, BPF_PROG_LOAD)}},
                {"bpf", "rules of a container's devices", {is(0, BPF_PROG_ATTACH)}},
                {"ioctl", "lo of a new network is raised", {is(1, SIOCSIFFLAGS)}},
                {"ioctl", "receive rules that a container left", {is(1, SIOCETHTOOL)}},
                {"prlimit64", "memlock of a container's init"},
                {"pidfd_open", "the engine's terminal, to say why a start failed"},
                {"pidfd_getfd", "the engine's terminal, to say why a start failed"},
            }};
}

// Verbs are read, write, ioctl and mmap on nodes. Which requests a provider makes depends on the
// provider, and it is loaded when the first client comes.
CallGroup server() {
    return {"server",
            {Profile::Serve},
            {
                {"brk", "malloc"},
                {"mmap", "memory, doorbells; code of providers"},
                {"mprotect", "malloc; code of providers"},
                {"munmap", "memory"},
                {"mremap", "realloc of large blocks"},
                {"madvise", "what a device uses is not shared with a child"},
                {"mlock", "providers"},
                {"open", "nodes, sysfs, providers"},
                {"openat", "nodes, sysfs, providers"},
                {"ioctl", "verbs"},
                {"pwrite64", "nodes"},
                {"socket", "clients, names of interfaces", {is(0, AF_INET)}},
                {"socket", "clients", {is(0, AF_INET6)}},
                {"accept4", "clients"},
                {"listen", "TCP streams are measured beside RDMA"},
                {"getpeername", "who a client is"},
                {"shutdown", "a client that is done"},
                {"eventfd2", "threads tell each other"},
                {"epoll_create1", "TCP streams"},
                {"epoll_create", "librdmacm"},
                {"epoll_ctl", "TCP streams"},
                {"epoll_wait", "TCP streams"},
                {"epoll_pwait", "TCP streams"},
                {"pipe2", "librdmacm"},
                {"inotify_init1", "libibverbs waits for a node that udev has not made yet"},
                {"inotify_add_watch", "the same"},
                {"inotify_rm_watch", "the same"},
                {"timerfd_create", "the same"},
                {"timerfd_settime", "the same"},
                {"sendmmsg", "glibc looks names up"},
                {"recvmmsg", "glibc looks names up"},
                {"rt_sigtimedwait", "glibc"},
                {"getrlimit", "memlock, for a message"},
                {"prlimit64", "memlock, for a message; of nobody else", {is(0, 0)}},
                {"tgkill", "a thread's call is interrupted", {is(0, kOwnPid), is(2, SIGURG)}},
                {"sched_setaffinity", "a measuring thread stays where it is"},
                {"prctl",
                 "a measuring thread sleeps no longer than it asks",
                 {is(0, PR_SET_TIMERSLACK)}},
                {"getcpu", "where a thread runs"},
                {"getrusage", "what a thread used"},
                {"times", "what a thread used"},
                {"get_mempolicy", "providers"},
                {"mbind", "providers"},
            }};
}
}  // namespace

const std::vector<CallGroup>& allowed_calls() {
    static const std::vector<CallGroup> groups = {memory(),
                                                  process(),
                                                  threads(),
                                                  reading(),
                                                  looking(),
                                                  folders(),
                                                  writing(),
                                                  netlink(),
                                                  hearing(),
                                                  asking(),
                                                  changing(),
                                                  server()};
    return groups;
}

std::vector<AllowedCall> calls_of(Profile profile) {
    std::vector<AllowedCall> calls;
    for (const CallGroup& group : allowed_calls()) {
        if (std::ranges::count(group.profiles, profile) != 0)
            calls.insert(calls.end(), group.calls.begin(), group.calls.end());
    }
    return calls;
}

// New calls of the kernel that do the same as one of these belong here, too. Until they are listed,
// they answer ENOSYS.
const std::vector<ForbiddenCalls>& forbidden_calls() {
    static const std::vector<ForbiddenCalls> calls = {
        {"a program or a process is started", {"execve", "execveat", "fork", "vfork", "clone"}},
        {"new code", {"mmap", "mprotect", "pkey_mprotect"}},
        {"other processes are read, changed or ended",
         {"ptrace",
          "process_vm_readv",
          "process_vm_writev",
          "pidfd_getfd",
          "pidfd_send_signal",
          "kill",
          "tkill",
          "tgkill",
          "rt_sigqueueinfo",
          "rt_tgsigqueueinfo",
          "prlimit64"}},
        {"namespaces and roots", {"unshare", "setns", "chroot", "pivot_root"}},
        {"filters", {"seccomp"}},
        {"mounts",
         {"mount",
          "umount2",
          "open_tree",
          "move_mount",
          "mount_setattr",
          "fsopen",
          "fsconfig",
          "fsmount",
          "fspick",
          "swapon",
          "swapoff",
          "quotactl"}},
        {"device nodes, and files without their path", {"mknod", "mknodat", "open_by_handle_at"}},
        {"code and settings of the kernel",
         {"init_module",
          "finit_module",
          "delete_module",
          "kexec_load",
          "kexec_file_load",
          "reboot",
          "bpf",
          "perf_event_open",
          "iopl",
          "ioperm",
          "modify_ldt",
          "acct",
          "sethostname",
          "setdomainname",
          "settimeofday",
          "clock_settime",
          "adjtimex",
          "clock_adjtime"}},
        {"a way around this filter, or out of it",
         {"io_uring_setup",
          "io_uring_enter",
          "io_uring_register",
          "userfaultfd",
          "add_key",
          "request_key",
          "keyctl",
          "personality"}},
        {"another identity",
         {"setuid",
          "setgid",
          "setreuid",
          "setregid",
          "setresuid",
          "setresgid",
          "setgroups",
          "setfsuid",
          "setfsgid",
          "capset"}},
    };
    return calls;
}

}  // namespace base
