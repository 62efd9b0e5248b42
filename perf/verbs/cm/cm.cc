// SPDX-License-Identifier: Apache-2.0
#include "perf/verbs/cm/cm.h"

#include <cerrno>

#include <fcntl.h>
#include <poll.h>

namespace perf {

namespace {
// The library looks for devices before it opens its node.
Error node_error() {
    Error error = sys_error("open rdma_cm (/dev/infiniband/rdma_cm)");
    if (error.sys == ENODEV)
        return std::move(error).advise(
            "see `rdma link` and `ls /dev/infiniband`: this process has no RDMA device");
    return std::move(error).advise(
        "run `modprobe rdma_ucm` on the host, and give a container the node (podman run --device "
        "/dev/infiniband/rdma_cm)");
}
}  // namespace

Result<CmChannel> open_channel(Cm& cm) {
    TRY(cm.load());
    rdma_event_channel* made = cm.create_channel();
    if (made == nullptr)
        return node_error();
    CmChannel channel(made, CmRelease{&cm});
    const int flags = ::fcntl(channel->fd, F_GETFL);
    if (flags < 0 || ::fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return sys_error("make the channel of rdma_cm non-blocking");
    return channel;
}

Result<CmOwned<rdma_cm_id>> create_id(Cm& cm, const CmChannel& channel) {
    rdma_cm_id* id = nullptr;
    if (cm.create_id(channel.get(), &id) != 0)
        return sys_error("create an id of rdma_cm");
    return CmOwned<rdma_cm_id>(id, CmRelease{&cm});
}

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
