// SPDX-License-Identifier: Apache-2.0
#include "netns/process.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <ctime>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "netns/base/files.h"
#include "netns/base/owned_file.h"
#include "netns/base/unique_fd.h"

namespace netns {

namespace {
constexpr size_t kStatLimit = 4096;
constexpr uid_t kOverflow = 65534;  // DEFAULT_OVERFLOWUID of <linux/highuid.h>

bool is_gone(int number) {
    return number == ENOENT || number == ESRCH || number == ENOTDIR;
}

// Takes the next field, up to a space, off the front of a line; nothing if no space follows.
std::optional<std::string_view> take_field(std::string_view& text) {
    const auto space = text.find(' ');
    if (space == std::string_view::npos)
        return std::nullopt;
    const std::string_view field = text.substr(0, space);
    text.remove_prefix(space + 1);
    return field;
}

// Source: proc(5): pid (comm) state ...; comm may hold spaces and parentheses. Field 3 is the
// state, field 20 the number of threads, field 22 the start time. If a process's first thread has
// ended while others go on, the state is that thread's.
std::optional<ProcessToken> parse_stat(pid_t pid, std::string_view text, bool& well_formed) {
    constexpr int kStateField = 3;
    constexpr int kThreadsField = 20;
    constexpr int kStartField = 22;
    well_formed = false;
    const auto close = text.rfind(") ");
    if (close == std::string_view::npos)
        return std::nullopt;
    text.remove_prefix(close + 2);
    const char state = text.empty() ? '\0' : text[0];
    bool last_thread = true;
    for (int number = kStateField; number < kStartField; ++number) {
        const auto field = take_field(text);
        if (!field)
            return std::nullopt;
        if (number == kThreadsField)
            last_thread = *field == "0" || *field == "1";
    }
    ProcessToken token{.pid = pid, .start = 0};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), token.start);
    well_formed = error == std::errc{} && end != text.data();
    if (!well_formed || (state == 'Z' && last_thread) || state == 'X' || state == 'x')
        return std::nullopt;
    return token;
}

struct OpenDevice {
    uint32_t major;
    uint32_t minor;
};

// Returns whether the process has the device open; a process that ends meanwhile has not. statx(2)
// does not ask a file system, because a hanging one would hang rdma-hook. Processes behind the
// deadline count as having nothing open.
bool has_open(int proc, const std::string& pid, OpenDevice wanted, base::Deadline deadline) {
    const std::string path = pid + "/fd";
    const UniqueFd folder{::openat(proc, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    const auto names = folder ? base::names_in(folder.get(), path)
                              : Result<std::vector<std::string>>{std::vector<std::string>{}};
    return names && std::any_of(names->begin(), names->end(), [&](const std::string& name) {
               struct statx found {};

               return !deadline.passed() &&
                      ::statx(folder.get(), name.c_str(), AT_STATX_DONT_SYNC, STATX_TYPE, &found) ==
                          0 &&
                      S_ISCHR(found.stx_mode) && found.stx_rdev_major == wanted.major &&
                      found.stx_rdev_minor == wanted.minor;
           });
}

// Takes the next number off the front of a text of numbers; nothing if there is none.
std::optional<uint64_t> take_number(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{})
        return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return value;
}

// prlimit(2) takes a pid, which may have become another process's. Then that process gets its limit
// back.
Result<> change_memlock(const ProcessToken& process, const rlimit* wanted, rlimit& before) {
    const std::string name = "RLIMIT_MEMLOCK of process " + std::to_string(process.pid);
    Error error =
        make_error(Code::Unavailable, name + ": it is gone").advise("start the container again");
    if (TRY(KernelProcesses{}.token(process.pid)) != process)
        return error;
    if (::prlimit(process.pid, RLIMIT_MEMLOCK, wanted, &before) == 0) {
        if (TRY(KernelProcesses{}.token(process.pid)) == process)
            return {};
        if (wanted != nullptr)
            (void)::prlimit(process.pid, RLIMIT_MEMLOCK, &before, nullptr);  // fails if it is gone
        return error;
    }
    return errno == ESRCH ? error : sys_error((wanted != nullptr ? "set " : "read ") + name);
}
}  // namespace

Result<std::optional<ProcessToken>> KernelProcesses::token(pid_t pid) {
    const std::string path = "/proc/" + std::to_string(pid) + "/stat";
    const UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (!fd && is_gone(errno))
        return std::optional<ProcessToken>{};
    if (!fd)
        return sys_error("open " + path);
    auto text = base::read_all(fd.get(), kStatLimit, path);
    if (!text && is_gone(text.error().sys))
        return std::optional<ProcessToken>{};
    if (!text)
        return std::move(text).error();
    bool well_formed = false;
    const auto token = parse_stat(pid, *text, well_formed);
    if (!well_formed)
        return make_error(Code::Internal, path + " is not as proc(5) says");
    return token;
}

Result<Memlock> KernelProcesses::memlock(const ProcessToken& process) {
    rlimit limit{};
    TRY(change_memlock(process, nullptr, limit));
    return Memlock{.soft = limit.rlim_cur, .hard = limit.rlim_max};
}

Result<> KernelProcesses::set_memlock(const ProcessToken& process, const Memlock& limit) {
    const rlimit wanted{.rlim_cur = limit.soft, .rlim_max = limit.hard};
    rlimit before{};
    return change_memlock(process, &wanted, before);
}

Result<std::vector<pid_t>> KernelProcesses::that_opened(uint32_t major,
                                                        uint32_t minor,
                                                        base::Deadline deadline) {
    const UniqueFd proc{::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!proc)
        return sys_error("open /proc");
    std::vector<pid_t> openers;
    for (const std::string& name : TRY(base::names_in(proc.get(), "/proc"))) {
        pid_t pid = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (error != std::errc{} || *end != '\0')
            continue;
        if (has_open(proc.get(), name, {major, minor}, deadline))
            openers.push_back(pid);
        if (deadline.passed())
            return make_error(Code::Timeout,
                              "the open files of all processes are too many to look at");
    }
    std::sort(openers.begin(), openers.end());
    return openers;
}

pid_t KernelProcesses::parent() {
    return ::getppid();
}

pid_t KernelProcesses::self() {
    return ::getpid();
}

Result<std::string> KernelProcesses::boot_id() {
    const std::string path = "/proc/sys/kernel/random/boot_id";
    const UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (!fd)
        return sys_error("open " + path);
    std::string text = TRY(base::read_all(fd.get(), 64, path));
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    return text;
}

Result<std::optional<uint64_t>> KernelProcesses::mount_namespace(pid_t pid) {
    const std::string path = "/proc/" + std::to_string(pid) + "/ns/mnt";

    struct stat st {};

    if (::stat(path.c_str(), &st) == 0)
        return std::optional<uint64_t>{st.st_ino};
    if (is_gone(errno))
        return std::optional<uint64_t>{};
    return sys_error("look at " + path);
}

std::chrono::seconds KernelProcesses::uptime() {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return std::chrono::seconds{now.tv_sec};
}

bool KernelProcesses::exists(const std::string& path) {
    struct stat st {};

    // A path that may not be looked at counts as there: only a clear no means gone.
    return ::stat(path.c_str(), &st) == 0 || !is_gone(errno);
}

Caller parse_caller(uid_t effective, std::string_view uid_map, uid_t owner_of_all) {
    Caller caller{.root = false, .user = kOverflow, .root_uid = kOverflow};
    for (;;) {
        const auto inside = take_number(uid_map);
        const auto outside = take_number(uid_map);
        const auto count = take_number(uid_map);
        if (!inside || !outside || !count)
            return caller;
        const bool has_root = *outside == 0 && *count != 0 && *inside == owner_of_all;
        if (has_root)
            caller.root_uid = owner_of_all;
        const bool is_it = effective >= *inside && effective - *inside < *count;
        if (is_it && (has_root || *outside + (effective - *inside) != 0))
            caller.user = static_cast<uid_t>(*outside + (effective - *inside));
    }
}

Caller find_caller() {
    if (base::is_machine_root())
        return {.root = true, .user = 0, .root_uid = 0};
    // The kernel takes at most 340 ranges, and writes each in 33 bytes.
    constexpr size_t kMapLimit = 16384;
    const UniqueFd map{::open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC)};
    const auto text = map ? base::read_all(map.get(), kMapLimit, "/proc/self/uid_map")
                          : Result<std::string>{std::string{}};

    struct stat all {};

    const uid_t owner = ::stat("/", &all) == 0 ? all.st_uid : kOverflow;
    return parse_caller(::geteuid(), text ? *text : "", owner);
}

void tell_parent(std::string_view line) {
    // By number: the header of glibc 2.36 declares these as C++ functions without a definition.
    const UniqueFd parent{static_cast<int>(::syscall(SYS_pidfd_open, ::getppid(), 0))};
    if (!parent)
        return;
    const UniqueFd fd{static_cast<int>(::syscall(SYS_pidfd_getfd, parent.get(), STDERR_FILENO, 0))};
    pollfd ready{.fd = fd.get(), .events = POLLOUT, .revents = 0};
    // A pipe that polls writable takes PIPE_BUF bytes at once, so the write cannot block. A pipe
    // without a reader polls writable, too; the write would then raise SIGPIPE.
    if (fd && ::poll(&ready, 1, 0) == 1 && (ready.revents & (POLLOUT | POLLERR)) == POLLOUT)
        (void)!::write(fd.get(), line.data(), line.size() < PIPE_BUF ? line.size() : PIPE_BUF);
}

}  // namespace netns
