// SPDX-License-Identifier: Apache-2.0
#include "perf/system/stop.h"

#include <cerrno>
#include <csignal>

#include <poll.h>
#include <sys/eventfd.h>

namespace perf {

namespace {
std::atomic<Stop*> signal_target = nullptr;

UniqueFd new_event() {
    return UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}
}  // namespace

Stop::Stop() : event_(new_event()), interrupt_event_(new_event()) {}

void Stop::request() noexcept {
    requested_.store(true, std::memory_order_relaxed);
    (void)::eventfd_write(event_.get(), 1);
}

void Stop::interrupt() noexcept {
    if (heeded_ && !interrupted_.exchange(true))
        (void)::eventfd_write(interrupt_event_.get(), 1);
    else
        request();
}

Result<> stop_on_signals(Stop& stop) {
    if (stop.fd() < 0 || stop.interrupt_fd() < 0)
        return sys_error("eventfd");
    signal_target.store(&stop);
    struct sigaction action = {};
    // No SA_RESTART: a blocking call must come back.
    action.sa_handler = [](int) {
        const int saved = errno;
        if (Stop* target = signal_target.load(); target != nullptr)
            target->interrupt();
        errno = saved;
    };
    if (::sigaction(SIGINT, &action, nullptr) != 0 || ::sigaction(SIGTERM, &action, nullptr) != 0)
        return sys_error("sigaction");
    action.sa_handler = SIG_IGN;
    if (::sigaction(SIGPIPE, &action, nullptr) != 0)
        return sys_error("sigaction SIGPIPE");
    return {};
}

Error stopped_error() {
    Error error = make_error(Code::Internal, "stopped by a signal");
    error.sys = ECANCELED;
    return error;
}

Error closed_error() {
    return make_error(Code::Unavailable, "the peer closed the control connection")
        .advise("see what the other side printed");
}

Result<> wait_ready(int fd, short events, const Deadline& deadline, const Stop& stop, int control) {
    for (;;) {
        pollfd fds[3] = {{fd, events, 0}, {stop.fd(), POLLIN, 0}, {control, POLLRDHUP, 0}};
        const int ready = ::poll(fds, 3, deadline.left_ms());
        if (stop.requested())
            return stopped_error();
        if (ready > 0 && fds[0].revents != 0)
            return {};
        if (ready > 0 && fds[2].revents != 0)
            return closed_error();
        if (ready < 0 && errno != EINTR)
            return sys_error("poll");
        if (deadline.passed())
            return make_error(Code::Timeout, "the deadline passed");
    }
}

}  // namespace perf
