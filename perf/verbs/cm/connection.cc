// SPDX-License-Identifier: Apache-2.0
#include "perf/verbs/cm/connection.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "perf/protocol/message.h"
#include "perf/verbs/queue_pair.h"

namespace perf {

namespace {
Result<> change_state(const CmQueue& queue, ibv_qp_attr& attr, int mask, const char* name) {
    const int rc = queue.verbs->modify_qp(queue.qp, &attr, mask);
    if (rc != 0)
        return sys_error(rc, fmt::format("queue pair {} to {}", queue.qp->qp_num, name));
    return {};
}

Result<int> ask_for(ibv_qp_state state, const CmBound& bound, ibv_qp_attr& attr) {
    attr = {};
    attr.qp_state = state;
    int mask = 0;
    if (bound.cm->init_qp_attr(bound.id.get(), &attr, &mask) != 0)
        return call_error("ask rdma_cm how to connect a queue pair on " + bound.device.device);
    return mask;
}

void mark(ibv_ah_attr& path, const Marks& marks) {
    if (marks.traffic_class != 0)
        path.grh.traffic_class = static_cast<uint8_t>(marks.traffic_class);
    if (marks.flow_label != 0)
        path.grh.flow_label = marks.flow_label;
    if (marks.service_level != 0)
        path.sl = static_cast<uint8_t>(marks.service_level);
}

std::string path_text(const CmBound& bound, const CmPath& path) {
    return fmt::format(
        "device {}, GID index {}, path MTU {}", bound.device.device, path.gid_index, path.mtu);
}

constexpr int kFirstLookMs = 50;
constexpr int kLongLookMs = 1000;

// The next event of a connection that is being made, which must be of that type.
Result<> await_event(const CmBound& bound,
                     rdma_cm_event_type type,
                     const Deadline& deadline,
                     const CmWait& wait) {
    for (;;) {
        const auto event = TRY(next_event(*bound.cm, bound.channel, deadline, wait));
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

Result<> resolve_route(const CmBound& bound, const CmWait& wait) {
    const Deadline deadline = wait.step();
    if (bound.cm->resolve_route(bound.id.get(), deadline.left_ms()) != 0)
        return call_error("call rdma_cm");
    return await_event(bound, RDMA_CM_EVENT_ROUTE_RESOLVED, deadline, wait);
}

Result<> resolve(const CmBound& bound, const Address& to, uint16_t port, const CmWait& wait) {
    sockaddr_storage raw{};
    (void)to_sockaddr(to, port, raw);
    TRY(resolve_address(bound, reinterpret_cast<sockaddr*>(&raw), wait)
            .context("resolve the address")
            .advise("check the address, and that its interface is up: no ARP or neighbour answer"));
    return resolve_route(bound, wait).context("resolve the route");
}

// Between two signals to a caller that had not entered the kernel at the one before.
constexpr int kSignalEveryMs = 10;

// SIGURG is ignored by default: one that comes late does no harm; and without SA_RESTART a handler
// makes a sleeping call come back.
bool handle_sigurg() {
    struct sigaction action = {};
    action.sa_handler = [](int) {};
    return ::sigaction(SIGURG, &action, nullptr) == 0;
}

// A deadline for a call of this thread that may sleep in the kernel for minutes: while the object
// lives, the call is interrupted (EINTR) once the wait is over. Soft-iWARP's rdma_connect() is one:
// it waits for TCP. Uses SIGURG, whose handler does nothing.
class Interrupter {
  public:
    Interrupter(const Deadline& deadline, const CmWait& wait)
        : done_(::eventfd(0, EFD_CLOEXEC)), caller_(::pthread_self()) {
        static const bool kHandled = handle_sigurg();
        if (!kHandled || !done_)
            outcome_ = sys_error("watch a call of rdma_cm");
        else
            watcher_ = std::thread([this, deadline, wait] { watch(deadline, wait); });
    }

    ~Interrupter() { (void)finish(); }

    Interrupter(const Interrupter&) = delete;
    Interrupter& operator=(const Interrupter&) = delete;

    // The call is over. An error if the wait ended before it.
    Result<> finish() {
        const uint64_t one = 1;
        if (watcher_.joinable()) {
            (void)!::write(done_.get(), &one, sizeof one);
            watcher_.join();
        }
        return outcome_;
    }

  private:
    void watch(const Deadline& deadline, const CmWait& wait) {
        outcome_ = wait_ready(done_.get(), POLLIN, deadline, wait.stop, wait.control);
        pollfd done = {done_.get(), POLLIN, 0};
        while (!outcome_ && ::poll(&done, 1, 0) == 0) {
            (void)::pthread_kill(caller_, SIGURG);
            (void)::poll(&done, 1, kSignalEveryMs);
        }
    }

    UniqueFd done_;
    pthread_t caller_;
    Result<> outcome_;
    std::thread watcher_;
};

// Asks the peer. Soft-iWARP makes its TCP connection within the call.
Result<> request(const CmBound& bound,
                 rdma_conn_param& param,
                 const Deadline& deadline,
                 const CmWait& wait) {
    std::optional<Interrupter> interrupter;
    if (bound.device.iwarp)
        interrupter.emplace(deadline, wait);
    const int rc = bound.cm->connect(bound.id.get(), &param);
    const int number = errno;
    if (interrupter)
        TRY(interrupter->finish());
    errno = number;
    if (rc != 0)
        return call_error("ask for the connection");
    return {};
}
}  // namespace

Result<> move_to_init(const CmQueue& queue, const CmBound& bound) {
    ibv_qp_attr attr = bound.init;
    attr.qp_access_flags = queue.access;
    return change_state(queue, attr, bound.init_mask, "INIT");
}

Result<CmPath> move_to_rts(const CmQueue& queue, const CmBound& bound) {
    if (bound.device.iwarp)
        return CmPath{};
    ibv_qp_attr attr{};
    const int to_rtr = TRY(ask_for(IBV_QPS_RTR, bound, attr));
    if (queue.mtu != 0)
        attr.path_mtu = mtu_enum(queue.mtu);
    mark(attr.ah_attr, queue.marks);
    attr.min_rnr_timer = 12;  // 0.64 ms
    attr.max_dest_rd_atomic = std::min(attr.max_dest_rd_atomic, queue.responder_depth);
    const CmPath path{.peer_qpn = attr.dest_qp_num,
                      .mtu = mtu_bytes(attr.path_mtu),
                      .gid_index = attr.ah_attr.grh.sgid_index};
    TRY(change_state(queue, attr, to_rtr, "RTR").context(path_text(bound, path)));
    const int to_rts = TRY(ask_for(IBV_QPS_RTS, bound, attr));
    set_retries(attr, queue.software);
    attr.max_rd_atomic = std::min(attr.max_rd_atomic, queue.initiator_depth);
    TRY(change_state(queue, attr, to_rts, "RTS"));
    return path;
}

rdma_conn_param connection_parameters(const CmQueue& queue) {
    rdma_conn_param param{};
    param.responder_resources = queue.responder_depth;
    param.initiator_depth = queue.initiator_depth;
    param.flow_control = 1;
    param.retry_count = 7;
    param.rnr_retry_count = 7;
    param.qp_num = queue.qp->qp_num;
    return param;
}

CmConnection::~CmConnection() {
    if (established_ && bound_.id)
        (void)bound_.cm->disconnect(bound_.id.get());
}

CmConnection& CmConnection::operator=(CmConnection&& other) noexcept {
    std::swap(bound_, other.bound_);
    std::swap(path_, other.path_);
    std::swap(established_, other.established_);
    return *this;
}

Result<CmConnection> CmConnection::open(Cm& cm, const CmPlace& place) {
    return CmConnection(TRY(bind_id(cm, place)));
}

Result<> CmConnection::init(const CmQueue& queue) {
    return move_to_init(queue, bound_);
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
        TRY(request(bound_, param, deadline, wait));
        if (bound_.device.iwarp) {
            TRY(await_event(bound_, RDMA_CM_EVENT_ESTABLISHED, deadline, wait));
            established_ = true;
            return {};
        }
        TRY(await_event(bound_, RDMA_CM_EVENT_CONNECT_RESPONSE, deadline, wait));
        path_ = TRY(move_to_rts(queue, bound_));
        // From here on the peer may believe that there is a connection.
        established_ = true;
        if (bound_.cm->establish(bound_.id.get()) != 0)
            return call_error("confirm the connection");
        return {};
    }();
    return std::move(done).context(
        fmt::format("connect lane {} to {} port {} by rdma_cm", lane, to.text(), ticket.port));
}

Result<CmDevice> cm_device_of(Cm& cm, const Address& local) {
    return TRY(bind_id(cm, {local, ""})).device;
}

}  // namespace perf
