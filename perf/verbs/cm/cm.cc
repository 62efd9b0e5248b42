// SPDX-License-Identifier: Apache-2.0
#include "perf/verbs/cm/cm.h"

#include <cerrno>

#include <fcntl.h>

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

}  // namespace perf
