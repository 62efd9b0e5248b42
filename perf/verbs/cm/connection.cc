// SPDX-License-Identifier: Apache-2.0
#include "perf/verbs/cm/connection.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <functional>
#include <thread>

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "perf/system/tick.h"

namespace perf {

namespace {
// ---- what rdma_cm reports when it cannot do something, in words ---------------------------------
constexpr char kOtherSide[] = "see what `rdma-perf serve` says on the other side";

// Reasons of an InfiniBand CM REJ message that one meets (IBTA 12.6.7.2).
constexpr std::pair<int, const char*> kRejections[] = {
    {1, "no queue pair was available"},
    {4, "it timed out there"},
    {8, "nobody listens at that port there"},
    {10, "the number of our queue pair belongs to an older connection there"},
    {28, "by the program there"}};

std::string reject_text(int status, bool iwarp) {
    if (iwarp)
        return status == -ECONNRESET ? "by the program there, or it has gone"
                                     : "by the program there";
    return hint_for(kRejections, status, "unknown reason");
}

constexpr char kNoRouteHere[] =
    "see `ip route get ADDRESS`: no route leads there from this network namespace";

constexpr std::pair<int, const char*> kAdvice[] = {
    {ENETUNREACH, kNoRouteHere},
    {EHOSTUNREACH, kNoRouteHere},
    {ETIMEDOUT,
     "check network, VLAN, firewall and interface: no ARP or neighbour answer, or no answer from "
     "the peer's rdma_cm"},
    {ENODEV,
     "see `rdma link` and `ls /dev/infiniband`: no RDMA device that this process may use belongs "
     "to the interface of that address"},
    {EADDRNOTAVAIL, "see `ip address`: the address is not one of this network namespace"},
    {EADDRINUSE, "try again: another program has the port that rdma_cm chose"},
    {ECONNREFUSED, kOtherSide},
    {ECONNRESET, kOtherSide},
    {EINVAL,
     "connect without --cm: the device may not be able to do rdma_cm here, as Soft-RoCE after a "
     "move between network namespaces in exclusive mode"}};

Error errno_failure(const std::string& text, int number) {
    Error error = sys_error(number, text);
    if (number == ENETUNREACH || number == EHOSTUNREACH || number == ETIMEDOUT ||
        number == ECONNREFUSED || number == ECONNRESET)
        error.code = Code::Unavailable;
    return std::move(error).advise(hint_for(kAdvice, number));
}

Error event_failure(const std::string& text, int status) {
    // -1 is librdmacm's own failure to look something up, without its reason.
    if (status >= -1)
        return make_error(Code::Unavailable, "{} (status {})", text, status)
            .advise("see the address and its route: ip route get ADDRESS");
    return errno_failure(text, -status);
}

// The status of an event is 0, a negative errno, or the transport's own number.
Error event_error(const rdma_cm_event& event, bool iwarp) {
    const int status = event.status;
    switch (event.event) {
        case RDMA_CM_EVENT_ADDR_ERROR:
            return event_failure("rdma_cm does not find the address", status);
        case RDMA_CM_EVENT_ROUTE_ERROR:
            return event_failure("rdma_cm does not find a route", status);
        case RDMA_CM_EVENT_REJECTED:
            return make_error(Code::Unavailable,
                              "the peer rejected the connection: {} (status {})",
                              reject_text(status, iwarp),
                              status)
                .advise(kOtherSide);
        case RDMA_CM_EVENT_UNREACHABLE:
            return event_failure("the peer's rdma_cm does not answer", status)
                .advise(
                    "open UDP 4791 (RoCE) between the two, and see that the peer's device is up");
        case RDMA_CM_EVENT_CONNECT_ERROR:
            return event_failure("the connection failed while it was made", status)
                .advise(kOtherSide);
        case RDMA_CM_EVENT_DISCONNECTED:
            return make_error(Code::Unavailable, "the peer closed the connection")
                .advise(kOtherSide);
        case RDMA_CM_EVENT_DEVICE_REMOVAL:
            return make_error(Code::Unsupported, "the RDMA device was removed")
                .advise("see `rdma link`: was it, its netdev or its network namespace removed?");
        default:
            return make_error(Code::Internal,
                              "event {} of rdma_cm (status {}) is not due",
                              static_cast<int>(event.event),
                              status);
    }
}

Error call_error(const std::string& what) {
    Error error = errno_failure(what, errno);
    if (error.sys == ENODEV)
        error.code = Code::Unsupported;
    return error;
}

// ---- the steps of an id --------------------------------------------------------------------------
Result<CmChannel> open_channel(Cm& cm) {
    TRY(cm.load());
    rdma_event_channel* made = cm.create_channel();
    // The library looks for devices before it opens its node.
    const bool no_device = made == nullptr && errno == ENODEV;
    if (made == nullptr)
        return sys_error("open rdma_cm (/dev/infiniband/rdma_cm)")
            .advise(no_device ? "see `rdma link` and `ls /dev/infiniband`: this process has no "
                                "RDMA device"
                              : "run `modprobe rdma_ucm` on the host, and give a container the "
                                "node (podman run --device /dev/infiniband/rdma_cm)");
    CmChannel channel(made, CmRelease{&cm});
    TRY(make_non_blocking(channel->fd).context("the channel of rdma_cm"));
    return channel;
}

// ---- the steps of a queue pair -------------------------------------------------------------------
Result<> change_state(const CmQueue& queue, ibv_qp_attr& attr, int mask, const char* name) {
    return outcome_of(queue.end.verbs->modify_qp(queue.qp, &attr, mask),
                      fmt::format("queue pair {} to {}", queue.qp->qp_num, name));
}

Result<int> ask_for(ibv_qp_state state, const CmBound& bound, ibv_qp_attr& attr) {
    attr = {};
    attr.qp_state = state;
    int mask = 0;
    if (bound.cm->init_qp_attr(bound.id.get(), &attr, &mask) != 0)
        return call_error("ask rdma_cm how to connect a queue pair on " + bound.device.device);
    return mask;
}

// What either side says of its queue pair.
rdma_conn_param connection_parameters(const CmQueue& queue) {
    rdma_conn_param param{};
    param.responder_resources = static_cast<uint8_t>(queue.end.own.responder_depth);
    param.initiator_depth = static_cast<uint8_t>(queue.end.own.initiator_depth);
    param.flow_control = 1;
    param.retry_count = 7;
    param.rnr_retry_count = 7;
    param.qp_num = queue.qp->qp_num;
    return param;
}

// INIT to RTS, for an id that knows its peer. iWARP: the kernel moves the queue pair by itself,
// when rdma_connect's answer comes and within rdma_accept; here it only gets its INIT.
Result<> move_to_rts(const CmQueue& queue, const CmBound& bound) {
    if (bound.device.iwarp)
        return {};
    ibv_qp_attr attr{};
    const int to_rtr = TRY(ask_for(IBV_QPS_RTR, bound, attr));
    if (queue.mtu != 0)
        attr.path_mtu = mtu_enum(queue.mtu);
    ibv_ah_attr& path = attr.ah_attr;
    const Marks& marks = queue.end.marks;
    if (marks.traffic_class != 0)
        path.grh.traffic_class = static_cast<uint8_t>(marks.traffic_class);
    if (marks.flow_label != 0)
        path.grh.flow_label = marks.flow_label;
    if (marks.service_level != 0)
        path.sl = static_cast<uint8_t>(marks.service_level);
    attr.min_rnr_timer = 12;  // 0.64 ms
    const rdma_conn_param most = connection_parameters(queue);
    attr.max_dest_rd_atomic = std::min(attr.max_dest_rd_atomic, most.responder_resources);
    TRY(change_state(queue, attr, to_rtr, "RTR")
            .context(fmt::format("device {}, GID index {}, path MTU {}",
                                 bound.device.device,
                                 path.grh.sgid_index,
                                 mtu_bytes(attr.path_mtu))));
    const int to_rts = TRY(ask_for(IBV_QPS_RTS, bound, attr));
    set_retries(attr, queue.end.software);
    attr.max_rd_atomic = std::min(attr.max_rd_atomic, most.initiator_depth);
    return change_state(queue, attr, to_rts, "RTS");
}

// Requests that wait to be read; more of them the kernel refuses.
constexpr int kCmBacklog = 64;

constexpr int kFirstLookMs = 50;
constexpr int kLongLookMs = 1000;

// The next event of the channel, to be acknowledged by its owner.
Result<CmOwned<rdma_cm_event>> next_event(const CmBound& bound,
                                          const Deadline& deadline,
                                          const CmWait& wait) {
    for (;;) {
        // Strangers whose events come one after the other must not keep us from it.
        if (deadline.passed())
            return make_error(Code::Timeout, "the deadline passed");
        TRY(wait_ready(bound.channel->fd, POLLIN, deadline, wait.stop, wait.control));
        rdma_cm_event* event = nullptr;
        if (bound.cm->get_event(bound.channel.get(), &event) == 0)
            return CmOwned<rdma_cm_event>(event, CmRelease{bound.cm});
        if (errno != EAGAIN && errno != EINTR)
            return sys_error("read an event of rdma_cm");
    }
}

// Events that change nothing for a connection that is being made.
bool is_no_matter(rdma_cm_event_type type) {
    return type == RDMA_CM_EVENT_ADDR_CHANGE || type == RDMA_CM_EVENT_TIMEWAIT_EXIT;
}

// The next event of a connection that is being made, which must be of that type.
Result<> await_event(const CmBound& bound,
                     rdma_cm_event_type type,
                     const Deadline& deadline,
                     const CmWait& wait) {
    for (;;) {
        const auto event = TRY(next_event(bound, deadline, wait));
        if (event->event == type && event->status == 0)
            return {};
        if (!is_no_matter(event->event))
            return event_error(*event, bound.device.iwarp);
    }
}

// The kernel can miss the answer of a neighbour that answers at once (macvlans of one host do):
// then it only looks again when its time is over. So it gets little of it, and more the next time.
Result<> resolve_address(const CmBound& bound, sockaddr* to, const CmWait& wait) {
    const Deadline deadline = wait.step();
    for (int patience_ms = kFirstLookMs;; patience_ms = std::min(2 * patience_ms, kLongLookMs)) {
        const int left_ms = std::max(deadline.left_ms(), 1);
        if (bound.cm->resolve_addr(bound.id.get(), to, std::min(patience_ms, left_ms)) != 0)
            return call_error("call rdma_cm");
        auto resolved = await_event(bound, RDMA_CM_EVENT_ADDR_RESOLVED, deadline, wait);
        if (resolved || resolved.error().sys != ETIMEDOUT || deadline.passed())
            return resolved;
    }
}

Result<> resolve(const CmBound& bound, const Address& to, uint16_t port, const CmWait& wait) {
    TRY(resolve_address(bound, SocketAddress(to, port).get(), wait)
            .context("resolve the address")
            .advise("check the address, and that its interface is up: no ARP or neighbour answer"));
    const Deadline deadline = wait.step();
    if (bound.cm->resolve_route(bound.id.get(), deadline.left_ms()) != 0)
        return call_error("call rdma_cm").in("resolve the route");
    return await_event(bound, RDMA_CM_EVENT_ROUTE_RESOLVED, deadline, wait)
        .context("resolve the route");
}

// Between two signals to a caller that had not entered the kernel at the one before.
constexpr int kSignalEveryMs = 10;

// Makes a call of this thread that may sleep in the kernel for minutes, and interrupts it (EINTR) once
// the wait is over, which is an error then. Soft-iWARP's rdma_connect() is one: it waits for TCP.
Result<int> call_in_time(const std::function<int()>& call,
                         const Deadline& deadline,
                         const CmWait& wait) {
    const UniqueFd over(::eventfd(0, EFD_CLOEXEC));
    if (!over)
        return sys_error("watch a call of rdma_cm");
    Result<> outcome;
    std::thread watcher([&, caller = ::pthread_self()] {
        outcome = wait_ready(over.get(), POLLIN, deadline, wait.stop, wait.control);
        pollfd done = {over.get(), POLLIN, 0};
        while (!outcome && ::poll(&done, 1, 0) == 0) {
            interrupt(caller);
            (void)::poll(&done, 1, kSignalEveryMs);
        }
    });
    const int answer = call();
    (void)::eventfd_write(over.get(), 1);
    watcher.join();
    TRY(std::move(outcome));
    return answer;
}
}  // namespace

Result<CmBound> bind_id(Cm& cm, const CmPlace& place) {
    // For a loopback address rdma_cm would take any device; a link-local one means nothing without
    // its interface, which an Address does not hold.
    if (place.address.is_loopback() || place.address.is_link_local())
        return make_error(Code::Unsupported,
                          "rdma_cm cannot be used with the {} address {}",
                          place.address.is_loopback() ? "loopback" : "link-local",
                          place.address.text())
            .advise("give both sides an address of an RDMA device's interface, with --bind there");
    CmBound bound{.cm = &cm};
    bound.channel = TRY(open_channel(cm));
    rdma_cm_id* id = nullptr;
    if (cm.create_id(bound.channel.get(), &id) != 0)
        return sys_error("create an id of rdma_cm");
    bound.id = CmOwned<rdma_cm_id>(id, CmRelease{&cm});
    if (cm.bind_addr(bound.id.get(), SocketAddress(place.address, 0).get()) != 0)
        return call_error(fmt::format("bind rdma_cm to {}", place.address.text()));
    const ibv_context* verbs = bound.id->verbs;
    if (verbs == nullptr)
        return make_error(
                   Code::Unsupported, "no RDMA device has the address {}", place.address.text())
            .advise("see `rdma link` and `ip address` in this network namespace");
    const std::string found = ::ibv_get_device_name(verbs->device);
    if (!place.device.empty() && place.device != found)
        return make_error(Code::Unsupported,
                          "rdma_cm uses {} for the address {}, the queue pairs are on {}",
                          found,
                          place.address.text(),
                          place.device)
            .advise("give an address of the interface of " + place.device + ", or --device " +
                    found);
    bound.device.device = found;
    bound.device.port = bound.id->port_num;
    bound.device.type = GidType::InfiniBand;
    bound.device.iwarp = verbs->device->transport_type == IBV_TRANSPORT_IWARP;
    bound.device.gid = std::bit_cast<Address>(bound.id->route.addr.addr.ibaddr.sgid);
    bound.init.qp_state = IBV_QPS_INIT;
    if (cm.init_qp_attr(bound.id.get(), &bound.init, &bound.init_mask) != 0)
        return call_error("ask rdma_cm for the attributes of a queue pair on " + found);
    return bound;
}

Result<> move_to_init(const CmQueue& queue, const CmBound& bound) {
    ibv_qp_attr attr = bound.init;
    attr.qp_access_flags = queue.access;
    return change_state(queue, attr, bound.init_mask, "INIT");
}

CmConnection::~CmConnection() {
    if (established_ && bound_.id)
        (void)bound_.cm->disconnect(bound_.id.get());
}

Result<> CmConnection::connect(const CmQueue& queue,
                               const Address& to,
                               const CmTicket& ticket,
                               uint16_t lane,
                               const CmWait& wait) {
    auto done = [&]() -> Result<> {
        TRY(resolve(bound_, to, ticket.port, wait));
        const auto tag = encode(CmTag{.nonce = ticket.nonce, .lane = lane});
        rdma_conn_param param = connection_parameters(queue);
        param.private_data = tag.data();
        param.private_data_len = tag.size();
        const Deadline deadline = wait.step();
        const auto ask = [&] {
            return bound_.cm->connect(bound_.id.get(), &param) == 0 ? 0 : errno;
        };
        errno = bound_.device.iwarp ? TRY(call_in_time(ask, deadline, wait)) : ask();
        if (errno != 0)
            return call_error("ask for the connection");
        if (bound_.device.iwarp) {
            TRY(await_event(bound_, RDMA_CM_EVENT_ESTABLISHED, deadline, wait));
            established_ = true;
            return {};
        }
        TRY(await_event(bound_, RDMA_CM_EVENT_CONNECT_RESPONSE, deadline, wait));
        TRY(move_to_rts(queue, bound_));
        // From here on the peer may believe that there is a connection.
        established_ = true;
        if (bound_.cm->establish(bound_.id.get()) != 0)
            return call_error("confirm the connection");
        return {};
    }();
    return std::move(done).context(
        fmt::format("connect lane {} to {} port {} by rdma_cm", lane, to.text(), ticket.port));
}

Result<> CmConnection::accept(const CmQueue& queue, const rdma_conn_param& asked) {
    if (auto moved = move_to_rts(queue, bound_); !moved) {
        (void)bound_.cm->reject(bound_.id.get());
        return moved;
    }
    rdma_conn_param param = connection_parameters(queue);
    param.responder_resources = std::min(param.responder_resources, asked.responder_resources);
    param.initiator_depth = std::min(param.initiator_depth, asked.initiator_depth);
    if (bound_.cm->accept(bound_.id.get(), &param) != 0)
        return call_error("accept the connection");
    return {};
}

// ---- listener -----------------------------------------------------------------------------------
Result<CmListener> CmListener::open(Cm& cm, const CmPlace& place) {
    CmBound bound = TRY(bind_id(cm, place));
    if (cm.listen(bound.id.get(), kCmBacklog) != 0)
        return call_error(fmt::format("listen by rdma_cm on {}", place.address.text()));
    CmTicket ticket;
    ticket.port = cm.port_of(bound.id.get());
    ticket.nonce = random_seed();
    ticket.confirm = bound.device.iwarp;
    return CmListener(std::move(bound), ticket);
}

Result<std::vector<CmConnection>> CmListener::accept(std::span<const CmQueue> queues,
                                                     const CmWait& wait) {
    Lanes lanes(queues.size());
    const auto established = [](const auto& lane) { return lane && lane->established_; };
    Deadline deadline = wait.step();
    while (!std::ranges::all_of(lanes, established)) {
        const auto where =
            fmt::format("wait for the client by rdma_cm on port {} ({} of {} lanes connected)",
                        ticket_.port,
                        std::ranges::count_if(lanes, established),
                        queues.size());
        const auto event = TRY(next_event(bound_, deadline, wait).context(where));
        if (TRY(take(*event, queues, lanes).context(where)))
            deadline = wait.step();
    }
    std::vector<CmConnection> connections;
    for (auto& lane : lanes)
        connections.push_back(std::move(*lane));
    return connections;
}

Result<bool> CmListener::take(const rdma_cm_event& event,
                              std::span<const CmQueue> queues,
                              Lanes& lanes) {
    if (event.event == RDMA_CM_EVENT_CONNECT_REQUEST)
        return admit(event, queues, lanes);
    const auto lane = std::ranges::find_if(
        lanes, [&](const auto& each) { return each && each->bound_.id.get() == event.id; });
    const bool ours = lane != lanes.end();
    if (is_no_matter(event.event) || (!ours && event.id != bound_.id.get()))
        return false;
    if (!ours || event.event != RDMA_CM_EVENT_ESTABLISHED || event.status != 0)
        return event_error(event, bound_.device.iwarp);
    (*lane)->established_ = true;
    return true;
}

Result<bool> CmListener::admit(const rdma_cm_event& event,
                               std::span<const CmQueue> queues,
                               Lanes& lanes) {
    Cm& cm = *bound_.cm;
    CmOwned<rdma_cm_id> id(event.id, CmRelease{&cm});
    const rdma_conn_param& asked = event.param.conn;
    const auto tag =
        decode_tag({static_cast<const std::byte*>(asked.private_data), asked.private_data_len});
    const bool ours = tag && tag->nonce == ticket_.nonce && tag->lane < lanes.size();
    if (!ours || lanes[tag->lane]) {
        (void)cm.reject(id.get());  // whoever asked may have gone: then nobody misses it
        return false;
    }
    CmBound bound{
        .cm = &cm, .channel = bound_.channel, .id = std::move(id), .device = bound_.device};
    CmConnection& lane = lanes[tag->lane].emplace(CmConnection(std::move(bound)));
    TRY(lane.accept(queues[tag->lane], asked)
            .context(fmt::format("accept lane {} by rdma_cm", tag->lane)));
    return true;
}

}  // namespace perf
