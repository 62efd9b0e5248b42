// SPDX-License-Identifier: Apache-2.0
// Deadlines. Everything that waits takes a Deadline, waits for an event, and gives up when it has
// passed; nothing sleeps for a fixed time.
#pragma once

#include <algorithm>
#include <chrono>

namespace base {

class Deadline {
  public:
    using Clock = std::chrono::steady_clock;

    static Deadline in(std::chrono::milliseconds span) { return Deadline{Clock::now() + span}; }

    [[nodiscard]] bool passed() const { return Clock::now() >= end_; }

    // What is left, for poll(2): never negative, rounded up so that a wait does not spin.
    [[nodiscard]] int left_ms() const {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now());
        return static_cast<int>(
            std::clamp<std::chrono::milliseconds::rep>(left.count(), 0, 1 << 30));
    }

  private:
    explicit Deadline(Clock::time_point end) : end_(end) {}

    Clock::time_point end_;
};

}  // namespace base
