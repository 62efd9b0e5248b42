// SPDX-License-Identifier: Apache-2.0
#include "perf/system/tick.h"

#include <csignal>

#include <unistd.h>

namespace perf {

namespace {
bool handle_signal() noexcept {
    struct sigaction nothing = {};
    nothing.sa_handler = [](int) {};  // no SA_RESTART: the call ends
    return ::sigaction(SIGURG, &nothing, nullptr) == 0;
}
}  // namespace

void interrupt(pthread_t thread) noexcept {
    if (handle_signal())
        (void)::pthread_kill(thread, SIGURG);
}

Tick::Tick() noexcept {
    constexpr timespec kEvery = {.tv_sec = 0, .tv_nsec = 500'000'000};
    const itimerspec every = {.it_interval = kEvery, .it_value = kEvery};
    sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGURG;
    event._sigev_un._tid = ::gettid();
    timer_t timer{};
    if (!handle_signal() || ::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
        return;
    timer_ = timer;
    (void)::timer_settime(timer, 0, &every, nullptr);
}

Tick::~Tick() {
    if (timer_)
        (void)::timer_delete(*timer_);
}

}  // namespace perf
