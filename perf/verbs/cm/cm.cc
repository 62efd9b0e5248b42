// SPDX-License-Identifier: Apache-2.0
#include "perf/verbs/cm/cm.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

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

// For a loopback address rdma_cm would take any device; a link-local one means nothing without its
// interface, which an Address does not hold.
Result<> check_address(const Address& address) {
    if (!address.is_loopback() && !address.is_link_local())
        return {};
    return make_error(Code::Unsupported,
                      fmt::format("rdma_cm cannot be used with the {} address {}",
                                  address.is_loopback() ? "loopback" : "link-local",
                                  address.text()))
        .advise("give both sides an address of an RDMA device's interface, with --bind there");
}

Result<> check_place(const CmBound& bound, const CmPlace& place) {
    const std::string& found = bound.device.device;
    if (found.empty())
        return make_error(Code::Unsupported,
                          fmt::format("no RDMA device has the address {}", place.address.text()))
            .advise("see `rdma link` and `ip address` in this network namespace");
    if (place.device.empty() || place.device == found)
        return {};
    return make_error(Code::Unsupported,
                      fmt::format("rdma_cm uses {} for the address {}, the queue pairs are on {}",
                                  found,
                                  place.address.text(),
                                  place.device))
        .advise("give an address of the interface of " + place.device + ", or --device " + found);
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

Result<CmBound> bind_id(Cm& cm, const CmPlace& place) {
    TRY(check_address(place.address));
    CmBound bound{.cm = &cm};
    bound.channel = TRY(open_channel(cm));
    bound.id = TRY(create_id(cm, bound.channel));
    sockaddr_storage raw{};
    (void)to_sockaddr(place.address, 0, raw);
    if (cm.bind_addr(bound.id.get(), reinterpret_cast<sockaddr*>(&raw)) != 0)
        return call_error(fmt::format("bind rdma_cm to {}", place.address.text()));
    bound.device.device = cm.device_of(bound.id.get());
    TRY(check_place(bound, place));
    bound.device.port = bound.id->port_num;
    bound.device.iwarp = cm.is_iwarp(bound.id.get());
    const ibv_gid& gid = bound.id->route.addr.addr.ibaddr.sgid;
    std::memcpy(bound.device.gid.bytes.data(), gid.raw, sizeof gid.raw);
    bound.init.qp_state = IBV_QPS_INIT;
    if (cm.init_qp_attr(bound.id.get(), &bound.init, &bound.init_mask) != 0)
        return call_error("ask rdma_cm for the attributes of a queue pair on " +
                          bound.device.device);
    return bound;
}

Result<CmOwned<rdma_cm_event>> next_event(Cm& cm,
                                          const CmChannel& channel,
                                          const Deadline& deadline,
                                          const CmWait& wait) {
    for (;;) {
        // Strangers whose events come one after the other must not keep us from it.
        if (deadline.passed())
            return make_error(Code::Timeout, "the deadline passed");
        TRY(wait_ready(channel->fd, POLLIN, deadline, wait.stop, wait.control));
        rdma_cm_event* event = nullptr;
        if (cm.get_event(channel.get(), &event) == 0)
            return CmOwned<rdma_cm_event>(event, CmRelease{&cm});
        if (errno != EAGAIN && errno != EINTR)
            return sys_error("read an event of rdma_cm");
    }
}

}  // namespace perf
