// SPDX-License-Identifier: Apache-2.0
// Waits that are paced by events of links and devices. Private to netns/kernel/.
#pragma once

#include <functional>

#include "netns/base/clock.h"
#include "netns/namespace.h"

namespace netns {

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
