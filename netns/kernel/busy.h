// SPDX-License-Identifier: Apache-2.0
// Private to netns/.
#pragma once

#include <functional>

#include "netns/base/clock.h"
#include "netns/namespace.h"

namespace netns {

// Asks until the answer is true, or the deadline has passed. Paced by events of links in `ns`.
Result<> ask_on_link_events(const Netns& ns,
                            base::Deadline deadline,
                            const std::function<Result<bool>()>& ask);

enum class DeviceEvents : unsigned {  // groups of NETLINK_KOBJECT_UEVENT
    Kernel = 1,
    Udev = 2,  // said when udev has written its database
};

// The same, paced by what is said of devices of every class in the namespace of the caller.
Result<> ask_on_device_events(DeviceEvents group,
                              base::Deadline deadline,
                              const std::function<Result<bool>()>& ask);

// Asks until the answer is another than EBUSY and EAGAIN, which a driver says of a device that is
// in a reset, or the deadline has passed. The end of a reset is an event of a link in `ns`.
Result<> ask_until_ready(const Netns& ns,
                         base::Deadline deadline,
                         const std::function<Result<>()>& ask);

}  // namespace netns
