// SPDX-License-Identifier: Apache-2.0
// Stop: the one way in which everything that waits or loops is told to end. A flag for hot loops
// and a descriptor for poll(2); request() and interrupt() may be called from a signal handler. Once
// requested it stays so.
//
// What can end early and still be worth something heeds a first interrupt(): it is only asked to.
#pragma once

#include <atomic>
#include <memory>

#include "perf/base/names.h"

namespace perf {

class Stop {
  public:
    Stop();

    [[nodiscard]] bool requested() const { return requested_.load(std::memory_order_relaxed); }

    // Readable once a stop was requested.
    [[nodiscard]] int fd() const { return event_.get(); }

    void request() noexcept;

    // While what it returns lives, the first interrupt() ends nothing by itself.
    [[nodiscard]] std::shared_ptr<void> heed() const {
        heeded_ = true;
        return {&heeded_, [](std::atomic<bool>* heeded) { *heeded = false; }};
    }

    // The first one while it is heeded: interrupted(). Any other one: request().
    void interrupt() noexcept;

    [[nodiscard]] bool interrupted() const { return interrupted_; }

    // Readable once interrupted.
    [[nodiscard]] int interrupt_fd() const { return interrupt_event_.get(); }

  private:
    std::atomic<bool> requested_ = false;
    UniqueFd event_;
    mutable std::atomic<bool> heeded_ = false;
    std::atomic<bool> interrupted_ = false;
    UniqueFd interrupt_event_;
};

// SIGINT and SIGTERM interrupt `stop`, which must live as long as the process; SIGPIPE is ignored.
Result<> stop_on_signals(Stop& stop);

// The error of a step that was ended by a stop: sys is ECANCELED.
Error stopped_error();

// The error of a peer that closed the control connection.
Error closed_error();

// Waits until poll(2) reports `events` (or a hang-up) on fd. Code::Timeout when the deadline
// passes, closed_error() when the peer hangs up on `control`, if there is one.
Result<> wait_ready(
    int fd, short events, const Deadline& deadline, const Stop& stop, int control = -1);

}  // namespace perf
