// SPDX-License-Identifier: Apache-2.0
// Waits that are paced by events of links and devices. Private to netns/kernel/.
#pragma once

#include <algorithm>
#include <functional>

#include "netns/base/clock.h"
#include "netns/namespace.h"

namespace netns {

// How long to listen for an event before looking anyway. An event may be lost, or come before its
// change can be seen. Short at first, doubled each time.
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

// Calls `ask` until it answers true or the deadline has passed; a passed deadline is no error.
// Events of links in `ns` set the pace.
Result<> ask_on_link_events(const Netns& ns,
                            base::Deadline deadline,
                            const std::function<Result<bool>()>& ask);

enum class DeviceEvents : unsigned {  // groups of NETLINK_KOBJECT_UEVENT
    Kernel = 1,
    Udev = 2,  // sent when udev has written its database
};

// The same, paced by events of devices of every class in the namespace of the caller.
Result<> ask_on_device_events(DeviceEvents group,
                              base::Deadline deadline,
                              const std::function<Result<bool>()>& ask);

// Calls `ask` until it answers neither EBUSY nor EAGAIN, or the deadline has passed. Drivers answer
// so while a device is in a reset. The end of a reset is an event of a link in `ns`.
Result<> ask_until_ready(const Netns& ns,
                         base::Deadline deadline,
                         const std::function<Result<>()>& ask);

}  // namespace netns
