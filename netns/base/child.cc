// SPDX-License-Identifier: Apache-2.0
#include "netns/base/child.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace base {

namespace {
constexpr int kFirstOther = 3;               // after the standard descriptors
constexpr unsigned kCloseOnExec = 1U << 2U;  // CLOSE_RANGE_CLOEXEC

struct Pipe {
    UniqueFd read;
    UniqueFd write;
};

// Returns a copy that is not a standard descriptor, even if this process was started without some
// of those.
Result<UniqueFd> away_from_standard(UniqueFd fd) {
    if (fd.get() >= kFirstOther)
        return fd;
    UniqueFd copy{::fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirstOther)};
    if (!copy)
        return sys_error("copy a descriptor");
    return copy;
}

Result<Pipe> make_pipe() {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return sys_error("make a pipe");
    UniqueFd read{ends[0]};
    UniqueFd write{ends[1]};
    Pipe pipe;
    pipe.read = TRY(away_from_standard(std::move(read)));
    pipe.write = TRY(away_from_standard(std::move(write)));
    return pipe;
}

// The child's report if it cannot become the program.
struct Trouble {
    char step[32];
    int number;
};

// Everything that the child needs, made before the fork: afterwards it may not allocate.
struct Birth {
    const char* path;
    char* const* arguments;
    char* const* environment;
    const char* (*prepare)();
    int null;
    int out;
    int err;
    int report;
    pid_t parent;
};

[[noreturn]] void give_up(const Birth& birth, const char* step) {
    Trouble trouble{.step = {}, .number = errno};
    std::strncpy(trouble.step, step, sizeof trouble.step - 1);
    // There is no other way to report an error.
    (void)!::write(birth.report, &trouble, sizeof trouble);
    ::_exit(127);
}

// Ignored signals stay ignored over an exec, and some programs of this project ignore SIGPIPE.
bool reset_signals() {
    sigset_t none;
    ::sigemptyset(&none);
    return ::signal(SIGPIPE, SIG_DFL) != SIG_ERR && ::sigprocmask(SIG_SETMASK, &none, nullptr) == 0;
}

[[noreturn]] void become(const Birth& birth) {
    if (::setpgid(0, 0) != 0 || !reset_signals())
        give_up(birth, "lead a process group");
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        give_up(birth, "be killed with the parent");
    if (::getppid() != birth.parent)  // the parent died before the line above
        ::_exit(127);
    const char* failed = birth.prepare == nullptr ? nullptr : birth.prepare();
    if (failed != nullptr)
        give_up(birth, failed);
    if (::dup2(birth.null, STDIN_FILENO) < 0 || ::dup2(birth.out, STDOUT_FILENO) < 0 ||
        ::dup2(birth.err, STDERR_FILENO) < 0)
        give_up(birth, "redirect output");
    // Descriptors of this program are close-on-exec; inherited ones may not be.
    if (::close_range(kFirstOther, ~0U, kCloseOnExec) != 0)
        give_up(birth, "close descriptors");
    ::execve(birth.path, birth.arguments, birth.environment);
    give_up(birth, "run");
}

// Waits until the child has become the program, or has reported why it could not.
Result<> await_exec(const UniqueFd& report, const std::string& path) {
    Trouble trouble{};
    ssize_t got = -1;
    do {
        got = ::read(report.get(), &trouble, sizeof trouble);
    } while (got < 0 && errno == EINTR);
    if (got == 0)
        return {};
    if (got != sizeof trouble)
        return sys_error(got < 0 ? errno : EIO, "start " + path);
    return sys_error(trouble.number, std::string(trouble.step) + " " + path);
}
}  // namespace

std::vector<char*> exec_pointers(std::vector<std::string>& words) {
    std::vector<char*> out;
    for (std::string& word : words)
        out.push_back(word.data());
    out.push_back(nullptr);
    return out;
}

Result<Child> Child::start(const ChildSpec& spec) {
    std::vector<std::string> words = spec.arguments;
    words.insert(words.begin(), spec.path);
    std::vector<std::string> environment = spec.environment;
    const auto argv = exec_pointers(words);
    const auto envp = exec_pointers(environment);
    Pipe out = TRY(make_pipe());
    Pipe err = TRY(make_pipe());
    Pipe report = TRY(make_pipe());
    const UniqueFd null =
        TRY(away_from_standard(UniqueFd{::open("/dev/null", O_RDONLY | O_CLOEXEC)}));
    const Birth birth{.path = spec.path.c_str(),
                      .arguments = argv.data(),
                      .environment = envp.data(),
                      .prepare = spec.prepare,
                      .null = null.get(),
                      .out = out.write.get(),
                      .err = err.write.get(),
                      .report = report.write.get(),
                      .parent = ::getpid()};
    Child child;
    const auto fork = [&]() -> Result<> {
        child.pid_ = ::fork();
        if (child.pid_ == 0)
            become(birth);
        return child.pid_ < 0 ? Result<>(sys_error("fork for " + spec.path)) : Result<>();
    };
    TRY(spec.around ? spec.around(fork) : fork());
    report.write.reset();
    child.out_ = std::move(out.read);
    child.err_ = std::move(err.read);
    TRY(await_exec(report.read, spec.path));
    child.life_.reset(static_cast<int>(::syscall(SYS_pidfd_open, child.pid_, 0)));
    if (!child.life_)
        return sys_error("open a pidfd");
    return child;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)),
      life_(std::move(other.life_)) {}

Child& Child::operator=(Child&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(out_, other.out_);
    std::swap(err_, other.err_);
    std::swap(life_, other.life_);
    return *this;
}

Child::~Child() {
    if (is_reaped())
        return;
    kill();
    (void)reap();
}

// The child is not reaped yet, so pid and group cannot belong to another process. The group may be
// missing if the child has not made it yet. Once it is there, it includes processes that the child
// has started.
void Child::kill() noexcept {
    if (is_reaped())
        return;
    (void)::kill(-pid_, SIGKILL);
    (void)::kill(pid_, SIGKILL);
}

int Child::reap() noexcept {
    int raw = 0;
    while (::waitpid(pid_, &raw, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    out_.reset();
    err_.reset();
    life_.reset();
    constexpr int kSignalled = 128;
    return WIFSIGNALED(raw) ? kSignalled + WTERMSIG(raw) : WEXITSTATUS(raw);
}

}  // namespace base
