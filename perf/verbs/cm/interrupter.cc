// SPDX-License-Identifier: Apache-2.0
#include "perf/verbs/cm/interrupter.h"

#include <csignal>
#include <cstdint>

#include <poll.h>
#include <sys/eventfd.h>

namespace perf {

namespace {
// Between two signals to a caller that had not entered the kernel at the one before.
constexpr int kSignalEveryMs = 10;

// SIGURG is ignored by default: one that comes late does no harm; and without SA_RESTART a handler
// makes a sleeping call come back.
bool handle_sigurg() {
    struct sigaction action = {};
    action.sa_handler = [](int) {};
    return ::sigaction(SIGURG, &action, nullptr) == 0;
}
}  // namespace

Interrupter::Interrupter(const Deadline& deadline, const CmWait& wait)
    : done_(::eventfd(0, EFD_CLOEXEC)), caller_(::pthread_self()) {
    static const bool kHandled = handle_sigurg();
    if (!kHandled || !done_)
        outcome_ = sys_error("watch a call of rdma_cm");
    else
        watcher_ = std::thread([this, deadline, wait] { watch(deadline, wait); });
}

Interrupter::~Interrupter() {
    (void)finish();
}

Result<> Interrupter::finish() {
    const uint64_t one = 1;
    if (watcher_.joinable()) {
        (void)!::write(done_.get(), &one, sizeof one);
        watcher_.join();
    }
    return outcome_;
}

void Interrupter::watch(const Deadline& deadline, const CmWait& wait) {
    outcome_ = wait_readable(done_.get(), deadline, wait);
    pollfd done = {done_.get(), POLLIN, 0};
    while (!outcome_ && ::poll(&done, 1, 0) == 0) {
        (void)::pthread_kill(caller_, SIGURG);
        (void)::poll(&done, 1, kSignalEveryMs);
    }
}

}  // namespace perf
