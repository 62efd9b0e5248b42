// SPDX-License-Identifier: Apache-2.0
// Pace: how long to listen for an event before looking anyway. An event may be lost, or come before
// its change can be seen. Short at first, doubled each time. Private to netns/kernel/.
#pragma once

#include <algorithm>

#include "netns/base/clock.h"

namespace netns {

class Pace {
  public:
    // Returns a time for poll(2) in milliseconds: at most what is left of the deadline.
    int next_ms(const base::Deadline& deadline) {
        const int span = std::min(span_ms_, deadline.left_ms());
        span_ms_ = std::min(span_ms_ * 2, kLongestMs);
        return span;
    }

    // Something happened: look again soon.
    void hurry() { span_ms_ = 1; }

  private:
    static constexpr int kLongestMs = 200;

    int span_ms_ = 1;
};

}  // namespace netns
