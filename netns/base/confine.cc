// SPDX-License-Identifier: Apache-2.0
#include "netns/base/confine.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netns/base/files.h"
#include "netns/base/json.h"
#include "netns/base/unique_fd.h"

namespace base {

namespace {
#include "netns/base/confine_filters.inc"

#ifdef RDMA_CONFINE_LOG
constexpr std::array<std::span<const sock_filter>, 3> kFilters = {
    kHookOrLog, kLookOrLog, kServeOrLog};
#else
constexpr std::array<std::span<const sock_filter>, 3> kFilters = {
    kHookOrRefuse, kLookOrRefuse, kServeOrRefuse};
#endif

// The process is confined, and expects no thread yet.
bool confined = false;

constexpr uint64_t bit(unsigned capability) {
    return uint64_t{1} << capability;
}

constexpr uint64_t kLookCapabilities =
    bit(CAP_NET_ADMIN)        // netlink of the host and of containers, device programs
    | bit(CAP_SYS_ADMIN)      // setns, mounts, bpf
    | bit(CAP_SYS_PTRACE)     // namespaces and root folders of processes with more privileges
    | bit(CAP_DAC_OVERRIDE);  // files of the root of a user namespace
constexpr uint64_t kHookCapabilities =
    kLookCapabilities | bit(CAP_NET_RAW)  // asks and tells neighbours
    | bit(CAP_SYS_CHROOT)                 // a container's mount namespace
    | bit(CAP_SYS_RESOURCE)               // memlock of a container's init
    | bit(CAP_SETUID) | bit(CAP_SETGID)   // acts as the owner of the container's folders
    | bit(CAP_CHOWN) | bit(CAP_FOWNER);   // config.json keeps owner and mode
constexpr uint64_t kServeCapabilities = bit(CAP_IPC_LOCK);  // memory regions

constexpr std::array<uint64_t, 3> kCapabilities = {
    kHookCapabilities, kLookCapabilities, kServeCapabilities};

// Keeps those of the named capabilities that the process has, and drops the rest.
Result<> drop_capabilities(uint64_t named) {
    // The bounding set stays: the kernel uses it when a program is started, and no profile may do
    // that. To drop it would take 36 calls in each process of a container's start.
    (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);  // this program sets none
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, 2> sets{};
    if (::syscall(SYS_capget, &header, sets.data()) != 0)
        return sys_error("read the capabilities");
    for (size_t half = 0; half < sets.size(); ++half) {
        sets[half].permitted &= static_cast<uint32_t>(named >> (32 * half));
        sets[half].effective &= sets[half].permitted;
        sets[half].inheritable = 0;
    }
    if (::syscall(SYS_capset, &header, sets.data()) != 0)
        return sys_error("drop capabilities");
    return {};
}

Result<> load(std::span<const sock_filter> filter, unsigned long flags) {
    std::vector<sock_filter> lines(filter.begin(), filter.end());
    for (sock_filter& line : lines) {
        if (line.code == (BPF_JMP | BPF_JEQ | BPF_K) && line.k == kOwnPid)
            line.k = static_cast<uint32_t>(::getpid());
    }
    sock_fprog program{.len = static_cast<unsigned short>(lines.size()), .filter = lines.data()};
    const long done = ::syscall(
        SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC | flags, &program);
    if (done == 0)
        return {};
    return sys_error(done > 0 ? EAGAIN : errno, "load the filter of system calls")
        .advise("boot a kernel with CONFIG_SECCOMP_FILTER");
}

Json to_json(const Error& error) {
    Json also = Json::array();
    for (const Error& other : error.also)
        also.push_back(to_json(other));
    return {{"code", static_cast<int>(error.code)},
            {"sys", error.sys},
            {"text", error.text},
            {"extack", error.extack},
            {"fix", error.fix},
            {"context", error.context},
            {"also", std::move(also)}};
}

Result<> read_error(const Json& json, Error& error) {
    const int code = TRY(required<int>(json, "code"));
    if (code < 0 || code > static_cast<int>(Code::Kernel))
        return make_error(Code::Internal, "an unknown code");
    error = Error{.code = static_cast<Code>(code),
                  .sys = TRY(required<int>(json, "sys")),
                  .text = TRY(required<std::string>(json, "text")),
                  .extack = TRY(required<std::string>(json, "extack")),
                  .fix = TRY(required<std::string>(json, "fix")),
                  .context = {},
                  .also = {}};
    for (const Json& frame : array_of(json, "context"))
        error.context.push_back(frame.is_string() ? frame.get<std::string>() : "?");
    for (const Json& other : array_of(json, "also"))
        TRY(read_error(other, error.also.emplace_back()));
    return {};
}

[[noreturn]] void be_apart(Profile profile,
                           const std::function<Result<>()>& work,
                           const UniqueFd& answer,
                           pid_t parent) {
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent)  // the parent died before the line above
        ::_exit(1);
    clean_surroundings();
    // A parent that has stopped reading must not kill this process half-way.
    (void)std::signal(SIGPIPE, SIG_IGN);
    Result<> done;
    try {
        done = confine(profile);
        if (done)
            done = work();
    } catch (const std::exception& e) {
        done = make_error(Code::Internal, std::string("bug: ") + e.what());
    }
    const std::string text = done ? "ok" : dump_json(to_json(done.error()));
    // There is no other way to report an error.
    ::_exit(write_all(answer.get(), text, "the outcome") ? 0 : 1);
}

Result<> outcome_of(const std::string& text) {
    if (text == "ok")
        return {};
    Error error;
    TRY(read_error(TRY(parse_json(text, "the outcome of the confined process")), error));
    return error;
}

// Resets SIGCHLD to its default, so that the child can be waited for whatever this process
// inherited.
class Waitable {
  public:
    Waitable() {
        struct sigaction plain {};

        plain.sa_handler = SIG_DFL;
        (void)::sigaction(SIGCHLD, &plain, &before_);
    }

    ~Waitable() { (void)::sigaction(SIGCHLD, &before_, nullptr); }

    Waitable(const Waitable&) = delete;
    Waitable& operator=(const Waitable&) = delete;
    Waitable(Waitable&&) = delete;
    Waitable& operator=(Waitable&&) = delete;

  private:
    struct sigaction before_ {};
};
}  // namespace

Unlisted unlisted() {
#if defined(RDMA_SANITIZED)
    return Unlisted::Passes;
#elif defined(RDMA_CONFINE_LOG)
    return Unlisted::IsLogged;
#else
    return Unlisted::IsRefused;
#endif
}

Result<> confine(Profile profile) {
    if (unlisted() == Unlisted::Passes)
        return {};
    const auto index = static_cast<size_t>(profile);
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return sys_error("set no_new_privs");
    TRY(drop_capabilities(kCapabilities.at(index)));
    TRY(load(kFilters.at(index), SECCOMP_FILTER_FLAG_LOG));
    confined = true;
    return profile == Profile::Serve ? expect_threads() : Result<>{};
}

Result<> expect_threads() {
    if (!std::exchange(confined, false))
        return {};
    return load(kDenied, 0);
}

void clean_surroundings() {
    (void)::clearenv();
    // Not 077: private files are made private explicitly, and a container's users look into the
    // folder that is made for its nodes.
    (void)::umask(022);
}

Result<> run_apart(Profile profile, const std::function<Result<>()>& work) {
    constexpr size_t kMostOutcome = 1 << 20;
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return sys_error("make a pipe");
    const UniqueFd read{ends[0]};
    UniqueFd write{ends[1]};
    const Waitable waitable;
    const pid_t self = ::getpid();
    const pid_t child = ::fork();
    if (child < 0)
        return sys_error("fork");
    if (child == 0)
        be_apart(profile, work, write, self);
    write.reset();
    auto text = read_all(read.get(), kMostOutcome, "the outcome of the confined process");
    int raw = 0;
    while (::waitpid(child, &raw, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(raw) && WTERMSIG(raw) == SIGSYS)
        return make_error(Code::Internal,
                          "bug: the confined process was killed at a system call that is "
                          "forbidden to it")
            .advise("see the kernel's log for type=1326, and run: rdmactl gc");
    if (WIFSIGNALED(raw))
        return make_error(
                   Code::Internal,
                   "the confined process was killed by signal " + std::to_string(WTERMSIG(raw)))
            .advise("run: rdmactl gc");
    return outcome_of(TRY(std::move(text)));
}

}  // namespace base
