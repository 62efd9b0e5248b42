// SPDX-License-Identifier: Apache-2.0
#include "netns/base/file_lock.h"

#include <cerrno>
#include <csignal>
#include <ctime>

#include <fcntl.h>
#include <sys/file.h>

namespace base {

namespace {
// flock(2) has no timeout: SIGALRM interrupts it. The timer repeats, so that a signal which comes
// between the look at the deadline and the call is followed by another.
class Alarm {
  public:
    explicit Alarm(Deadline deadline) {
        struct sigaction action {};

        action.sa_handler = [](int) {};  // no SA_RESTART: the call must return
        (void)::sigaction(SIGALRM, &action, &old_action_);
        // crun starts hooks with all signals blocked.
        sigset_t alarm{};
        ::sigemptyset(&alarm);
        ::sigaddset(&alarm, SIGALRM);
        (void)::pthread_sigmask(SIG_UNBLOCK, &alarm, &old_mask_);
        const int ms = std::max(deadline.left_ms(), 1);
        itimerspec spec{};
        spec.it_value = {ms / 1000, (ms % 1000) * 1'000'000L};
        spec.it_interval = {0, 20'000'000L};
        armed_ = ::timer_create(CLOCK_MONOTONIC, nullptr, &timer_) == 0;
        if (armed_)
            (void)::timer_settime(timer_, 0, &spec, nullptr);
    }

    ~Alarm() {
        if (armed_)
            (void)::timer_delete(timer_);
        // None is pending once the timer has gone: nobody meets a late one.
        (void)::pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
        (void)::sigaction(SIGALRM, &old_action_, nullptr);
    }

    Alarm(const Alarm&) = delete;
    Alarm& operator=(const Alarm&) = delete;
    Alarm(Alarm&&) = delete;
    Alarm& operator=(Alarm&&) = delete;

    [[nodiscard]] bool armed() const { return armed_; }

  private:
    struct sigaction old_action_ {};

    sigset_t old_mask_{};
    timer_t timer_{};
    bool armed_ = false;
};

Result<UniqueFd> open_lock(const std::string& path) {
    UniqueFd fd{::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)};
    if (!fd)
        return sys_error("open lock " + path);
    return fd;
}
}  // namespace

Result<FileLock> FileLock::try_acquire(const std::string& path) {
    UniqueFd fd = TRY(open_lock(path));
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0)
        return FileLock{std::move(fd)};
    Error error = sys_error("lock " + path);
    if (error.sys == EWOULDBLOCK)
        error.code = Code::Busy;
    return error;
}

Result<FileLock> FileLock::acquire(const std::string& path, Deadline deadline) {
    UniqueFd fd = TRY(open_lock(path));
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0)
        return FileLock{std::move(fd)};
    const Alarm alarm{deadline};
    while (alarm.armed() && !deadline.passed()) {
        if (::flock(fd.get(), LOCK_EX) == 0)
            return FileLock{std::move(fd)};
        if (errno != EINTR)
            return sys_error("lock " + path);
    }
    return make_error(Code::Timeout, "another process keeps the lock " + path)
        .advise("see who: fuser " + path);
}

}  // namespace base
