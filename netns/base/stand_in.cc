// SPDX-License-Identifier: Apache-2.0
#include "netns/base/stand_in.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netns/base/child.h"
#include "netns/base/unique_fd.h"

namespace base {

namespace {
// All signals but those that stop this process or report a fault of its own.
sigset_t forwarded_signals() {
    sigset_t set;
    ::sigfillset(&set);
    for (const int own :
         {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGTSTP, SIGTTIN, SIGTTOU})
        ::sigdelset(&set, own);
    return set;
}

// Resets SIGCHLD, so that the child can be waited for, and blocks the forwarded signals. The
// destructor restores both.
class Signals {
  public:
    Signals() : wanted_(forwarded_signals()) {
        struct sigaction plain {};

        plain.sa_handler = SIG_DFL;
        (void)::sigaction(SIGCHLD, &plain, &child_before_);
        (void)::sigprocmask(SIG_BLOCK, &wanted_, &mask_before_);
    }

    ~Signals() { restore(); }

    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;
    Signals(Signals&&) = delete;
    Signals& operator=(Signals&&) = delete;

    void restore() const {
        (void)::sigaction(SIGCHLD, &child_before_, nullptr);
        (void)::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
    }

    // Waits for the next signal.
    [[nodiscard]] siginfo_t wait() const {
        siginfo_t info{};
        while (::sigwaitinfo(&wanted_, &info) < 0) {
        }
        return info;
    }

  private:
    sigset_t wanted_;
    sigset_t mask_before_{};

    struct sigaction child_before_ {};
};

// systemd's sockets belong to the process that LISTEN_PID names.
void take_over_listen_pid(pid_t parent) {
    const char* named = ::getenv("LISTEN_PID");
    if (named != nullptr && std::to_string(parent) == named)
        (void)::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
}

[[noreturn]] void be_child(
    const std::string& path, char* const* argv, const Signals& signals, int report, pid_t parent) {
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent)  // the parent died before the line above
        ::_exit(127);
    take_over_listen_pid(parent);
    signals.restore();
    ::execv(path.c_str(), argv);
    const int number = errno;
    (void)!::write(report, &number, sizeof number);  // no other way to report
    ::_exit(127);
}

int wait_and_forward(pid_t child, const Signals& signals) {
    constexpr int kSignalled = 128;
    for (;;) {
        const siginfo_t info = signals.wait();
        if (info.si_signo != SIGCHLD) {
            // Signals that the kernel sends for a terminal reach the child as well.
            if (info.si_code <= 0)
                (void)::kill(child, info.si_signo);
            continue;
        }
        int raw = 0;
        const pid_t ended = ::waitpid(child, &raw, WNOHANG);
        if (ended == child)
            return WIFSIGNALED(raw) ? kSignalled + WTERMSIG(raw) : WEXITSTATUS(raw);
    }
}
}  // namespace

Error become(const std::string& path, const std::vector<std::string>& argv) {
    std::vector<std::string> words = argv;
    ::execv(path.c_str(), exec_pointers(words).data());
    return sys_error("run " + path);
}

Result<int> run_in_our_place(const std::string& path, const std::vector<std::string>& argv) {
    std::vector<std::string> words = argv;
    const auto pointers = exec_pointers(words);
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return sys_error("make a pipe");
    const UniqueFd read{ends[0]};
    UniqueFd write{ends[1]};
    const Signals signals;
    const pid_t self = ::getpid();
    const pid_t child = ::fork();
    if (child < 0)
        return sys_error("fork for " + path);
    if (child == 0)
        be_child(path, pointers.data(), signals, write.get(), self);
    write.reset();
    int number = 0;
    ssize_t got = -1;
    do {
        got = ::read(read.get(), &number, sizeof number);
    } while (got < 0 && errno == EINTR);
    const int status = wait_and_forward(child, signals);
    if (got == sizeof number)
        return sys_error(number, "run " + path);
    return status;
}

}  // namespace base
