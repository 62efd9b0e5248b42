// SPDX-License-Identifier: Apache-2.0
// Deadlines. Every function that waits takes a Deadline, waits for an event, and gives up when the
// deadline has passed. None sleeps for a fixed time. The time of day is only for logs and reports.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>

namespace base {

class Deadline {
  public:
    using Clock = std::chrono::steady_clock;

    static Deadline in(std::chrono::milliseconds span) { return Deadline{Clock::now() + span}; }

    // A deadline that has passed: a function that gets it does not wait.
    static Deadline now() { return in({}); }

    [[nodiscard]] bool passed() const { return Clock::now() >= end_; }

    // Milliseconds left, for poll(2): never negative, and rounded up so that a wait does not spin.
    [[nodiscard]] int left_ms() const {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now());
        return static_cast<int>(
            std::clamp<std::chrono::milliseconds::rep>(left.count(), 0, 1 << 30));
    }

  private:
    explicit Deadline(Clock::time_point end) : end_(end) {}

    Clock::time_point end_;
};

// Returns the time by RFC 3339 in UTC, to the second: "2026-11-23T09:05:07Z". Avoids gmtime(3),
// which first reads the host's time zone from its file.
std::string rfc3339(std::chrono::system_clock::time_point time);

inline std::string rfc3339_now() {
    return rfc3339(std::chrono::system_clock::now());
}

}  // namespace base
