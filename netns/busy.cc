// SPDX-License-Identifier: Apache-2.0
#include "netns/busy.h"

#include <cerrno>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "netns/netlink/socket.h"
#include "netns/pace.h"

namespace netns {

namespace {
bool is_busy(const Result<>& done) {
    return !done && (done.error().sys == EBUSY || done.error().sys == EAGAIN);
}
}  // namespace

Result<> ask_on_link_events(const Netns& ns,
                            base::Deadline deadline,
                            const std::function<Result<bool>()>& ask) {
    if (TRY(ask()) || deadline.passed())
        return {};
    netlink::Socket events = TRY(netlink::Socket::open(ns, NETLINK_ROUTE));
    TRY(events.join(RTNLGRP_LINK));
    for (Pace pace; !TRY(ask()) && !deadline.passed();) {
        if (TRY(events.heard(pace.next_ms(deadline))))
            pace.hurry();
    }
    return {};
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
