// SPDX-License-Identifier: Apache-2.0
#include "netns/process.h"

#include <cerrno>
#include <charconv>
#include <string_view>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netns/base/files.h"
#include "netns/base/unique_fd.h"

namespace netns {

using base::Code;
using base::Error;
using base::make_error;
using base::sys_error;
using base::UniqueFd;

namespace {
constexpr size_t kStatLimit = 4096;

bool is_gone(int number) {
    return number == ENOENT || number == ESRCH || number == ENOTDIR;
}

// proc(5): pid (comm) state ...; comm may hold spaces and parentheses. Field 3 is the state,
// field 22 the start time.
std::optional<ProcessToken> parse_stat(pid_t pid, std::string_view text, bool& well_formed) {
    constexpr int kStateField = 3;
    constexpr int kStartField = 22;
    well_formed = false;
    const auto close = text.rfind(") ");
    if (close == std::string_view::npos)
        return std::nullopt;
    text.remove_prefix(close + 2);
    const char state = text.empty() ? '\0' : text[0];
    for (int field = kStateField; field < kStartField; ++field) {
        const auto space = text.find(' ');
        if (space == std::string_view::npos)
            return std::nullopt;
        text.remove_prefix(space + 1);
    }
    ProcessToken token{.pid = pid, .start = 0};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), token.start);
    well_formed = error == std::errc{} && end != text.data();
    if (!well_formed || state == 'Z' || state == 'X' || state == 'x')
        return std::nullopt;
    return token;
}

// prlimit(2). The number could only be another process's if the first one ended just now.
Result<> change_memlock(const ProcessToken& process, const rlimit* wanted, rlimit* before) {
    const std::string name = "RLIMIT_MEMLOCK of process " + std::to_string(process.pid);
    Error error = make_error(Code::Unavailable, name + ": it is gone");
    if (TRY(KernelProcesses{}.token(process.pid)) != process)
        return error;
    if (::prlimit(process.pid, RLIMIT_MEMLOCK, wanted, before) == 0)
        return {};
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
    TRY(change_memlock(process, nullptr, &limit));
    return Memlock{.soft = limit.rlim_cur, .hard = limit.rlim_max};
}

Result<> KernelProcesses::set_memlock(const ProcessToken& process, const Memlock& limit) {
    const rlimit wanted{.rlim_cur = limit.soft, .rlim_max = limit.hard};
    return change_memlock(process, &wanted, nullptr);
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

bool KernelProcesses::exists(const std::string& path) {
    struct stat st {};

    // What we may not look at is there: only a clear no counts as gone.
    return ::stat(path.c_str(), &st) == 0 || !is_gone(errno);
}

bool is_machine_root() {
    // PROC_USER_INIT_INO of <linux/proc_ns.h>: the first user namespace has this number since 3.8.
    constexpr ino_t kFirstUserNamespace = 0xEFFFFFFDU;

    struct stat st {};

    return ::geteuid() == 0 && ::stat("/proc/self/ns/user", &st) == 0 &&
           st.st_ino == kFirstUserNamespace;
}

}  // namespace netns
