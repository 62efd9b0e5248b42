// SPDX-License-Identifier: Apache-2.0
#include "netns/base/file_lock.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace base {

namespace {
// flock(2) has no timeout, so SIGALRM interrupts it. The timer repeats: a signal between the check
// of the deadline and the call is followed by another.
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
        // No signal is pending once the timer has gone, so unblocking delivers no late one.
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

bool is_there(const std::string& path) {
    struct stat st {};

    return ::lstat(path.c_str(), &st) == 0;
}

// Returns whether the file still has its name. Only a holder removes it, and until then no other
// file gets the name.
bool is_named(int fd) {
    struct stat st {};

    return ::fstat(fd, &st) == 0 && st.st_nlink != 0;
}
}  // namespace

Result<> lock_until(int fd, const std::string& path, Deadline deadline) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0)
        return {};
    if (errno != EWOULDBLOCK)
        return sys_error("lock " + path);
    if (deadline.passed())
        return make_error(Code::Busy, "another process has the lock " + path)
            .advise("see which: fuser " + path);
    const Alarm alarm{deadline};
    while (alarm.armed() && !deadline.passed()) {
        if (::flock(fd, LOCK_EX) == 0)
            return {};
        if (errno != EINTR)
            return sys_error("lock " + path);
    }
    return make_error(Code::Timeout, "another process keeps the lock " + path)
        .advise("see which: fuser " + path);
}

Result<FileLock> FileLock::acquire(const std::string& path,
                                   Deadline deadline,
                                   std::vector<std::string> guarded) {
    for (;;) {
        UniqueFd fd = TRY(open_lock(path));
        TRY(lock_until(fd.get(), path, deadline));
        if (is_named(fd.get()))
            return FileLock{std::move(fd), path, std::move(guarded)};
    }
}

FileLock::~FileLock() {
    // The file is removed while it is locked: only its holder may remove it. A file that stays does
    // no harm.
    if (fd_ && std::ranges::none_of(guarded_, is_there) && is_named(fd_.get()))
        (void)::unlink(path_.c_str());
}

}  // namespace base
