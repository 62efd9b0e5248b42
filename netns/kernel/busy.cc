// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/busy.h"

#include <cerrno>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "netns/kernel/netlink/socket.h"

namespace netns {

namespace {
bool is_busy(const Result<>& done) {
    return !done && (done.error().sys == EBUSY || done.error().sys == EAGAIN);
}

// `listen` opens the socket. The answer may already be true after that.
Result<> ask_on_events(const std::function<Result<netlink::Socket>()>& listen,
                       base::Deadline deadline,
                       const std::function<Result<bool>()>& ask) {
    if (TRY(ask()) || deadline.passed())
        return {};
    netlink::Socket events = TRY(listen());
    for (Pace pace; !TRY(ask()) && !deadline.passed();) {
        if (TRY(events.heard(pace.next_ms(deadline))))
            pace.hurry();
    }
    return {};
}

Result<netlink::Socket> joined(const Netns& ns, int protocol, unsigned group) {
    netlink::Socket events = TRY(netlink::Socket::open(ns, protocol));
    TRY(events.join(group));
    return events;
}
}  // namespace

Result<> ask_on_link_events(const Netns& ns,
                            base::Deadline deadline,
                            const std::function<Result<bool>()>& ask) {
    return ask_on_events([&] { return joined(ns, NETLINK_ROUTE, RTNLGRP_LINK); }, deadline, ask);
}

Result<> ask_on_device_events(DeviceEvents group,
                              base::Deadline deadline,
                              const std::function<Result<bool>()>& ask) {
    const auto listen = [&]() -> Result<netlink::Socket> {
        return joined(
            TRY(KernelNetnses{}.current()), NETLINK_KOBJECT_UEVENT, static_cast<unsigned>(group));
    };
    return ask_on_events(listen, deadline, ask);
}

Result<> ask_until_ready(const Netns& ns,
                         base::Deadline deadline,
                         const std::function<Result<>()>& ask) {
    Result<> done;
    TRY(ask_on_link_events(ns, deadline, [&]() -> Result<bool> {
        done = ask();
        return !is_busy(done);
    }));
    return done;
}

}  // namespace netns
