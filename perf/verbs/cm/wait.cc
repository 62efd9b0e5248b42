// SPDX-License-Identifier: Apache-2.0
#include "perf/verbs/cm/wait.h"

#include <cerrno>

#include <poll.h>

namespace perf {

Result<> wait_readable(int fd, const Deadline& deadline, const CmWait& wait) {
    for (;;) {
        pollfd fds[3] = {{fd, POLLIN, 0},
                         {wait.stop != nullptr ? wait.stop->fd() : -1, POLLIN, 0},
                         {wait.control, POLLRDHUP, 0}};
        const int ready = ::poll(fds, 3, deadline.left_ms());
        if (wait.stop != nullptr && wait.stop->requested())
            return stopped_error();
        if (ready < 0 && errno != EINTR)
            return sys_error("poll");
        if (ready > 0 && fds[0].revents != 0)
            return {};
        if (ready > 0 && fds[2].revents != 0)
            return closed_error();
        if (deadline.passed())
            return make_error(Code::Timeout, "the deadline passed");
    }
}

Result<CmOwned<rdma_cm_event>> next_event(Cm& cm,
                                          const CmChannel& channel,
                                          const Deadline& deadline,
                                          const CmWait& wait) {
    for (;;) {
        // Strangers whose events come one after the other must not keep us from it.
        if (deadline.passed())
            return make_error(Code::Timeout, "the deadline passed");
        TRY(wait_readable(channel->fd, deadline, wait));
        rdma_cm_event* event = nullptr;
        if (cm.get_event(channel.get(), &event) == 0)
            return CmOwned<rdma_cm_event>(event, CmRelease{&cm});
        if (errno != EAGAIN && errno != EINTR)
            return sys_error("read an event of rdma_cm");
    }
}

}  // namespace perf
