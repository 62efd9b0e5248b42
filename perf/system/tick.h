// SPDX-License-Identifier: Apache-2.0
// Ways out of a system call that may block for longer than a thread wants. Both are SIGURG with a
// handler that does nothing: the call ends with EINTR. That signal is ignored by default, so one
// that comes late does no harm.
#pragma once

#include <optional>

#include <pthread.h>
#include <time.h>

namespace perf {

// Ends the call that the thread blocks in. A call that is only about to begin is not ended: repeat
// it, or let the thread have a Tick.
void interrupt(pthread_t thread) noexcept;

// While it lives, each call of its thread blocks for 500 ms at most. So the thread need not ask
// first, in a call of its own, whether it would block.
class Tick {
  public:
    Tick() noexcept;
    ~Tick();
    Tick(const Tick&) = delete;
    Tick& operator=(const Tick&) = delete;

    // False: the system has no timer for it.
    [[nodiscard]] bool runs() const noexcept { return timer_.has_value(); }

  private:
    std::optional<timer_t> timer_;
};

}  // namespace perf
