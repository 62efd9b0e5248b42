// SPDX-License-Identifier: Apache-2.0
// Queue pairs connected by rdma_cm instead of by values that a control connection exchanged: for
// RoCE and InfiniBand another way, for iWARP the only one. Device, memory and queue pair stay the
// caller's own (the rdma_cm id has none); rdma_cm gives the attributes of its state changes.
//
// A server opens a CmListener, takes each queue pair to INIT by it, posts its receives, and tells
// the client the ticket; accept() takes all to RTS, in lane order. A client opens a CmConnection for
// each lane, goes to INIT by that and posts its receives; once it has the ticket, connect() takes
// one lane after the other to RTS, in any order. Then it says so over the control connection. The
// server sends nothing on a queue pair before that: accept() promises that its own side is ready.
// (RoCE would bear it, iWARP breaks off when data overtakes the connection's own reply.) So does
// CmLinks.
//
// Where ticket.confirm is set, over iWARP, the client in turn sends nothing before the server has
// said that accept() is done. Soft-iWARP loses sight of what comes earlier: siw_accept() in
// siw_cm.c sends the reply, and only then makes the socket's data the queue pair's. Data in between
// wakes nobody, and nothing looks for it afterwards: it lies there until more comes. So it is in
// Linux 6.12 and 7.3. The event behind accept() comes after that change.
//
// A connection ends with its CmConnection, before or after its queue pair. It is not watched
// meanwhile: what ends it shows in completions and on the control connection.
//
// iWARP's kernel lets an id go only when the peer has answered or its own limit has passed (10 s):
// so long can the end of a connection take that a stopped server never answered.
//
// Each wait ends with an event, its deadline (Code::Timeout), the stop (ECANCELED) or the control
// connection's hang-up (Code::Unavailable; what the peer said before it is still to be read there).
// Other errors: Code::Unavailable when the peer refuses or cannot be reached, Code::Unsupported
// without librdmacm or a device at the address, Code::Kernel for what the kernel refused.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "perf/protocol/control.h"
#include "perf/protocol/message.h"
#include "perf/system/tcp.h"
#include "perf/verbs/queue_pair.h"
#include "perf/verbs/verbs.h"

namespace perf {

// A channel (non-blocking) outlives its ids, which share it.
using CmChannel = std::shared_ptr<rdma_event_channel>;

// ---- an id that is bound to a local address, and so to a device: how both sides begin -----------
// Where an id is bound.
struct CmPlace {
    Address address;     // a local one; any free port is taken
    std::string device;  // of the queue pairs: an address that leads to another one is an error
};

// The port of an RDMA device, and its GID. That of iWARP is made of the MAC, and no address.
struct CmDevice : GidRow {
    bool iwarp = false;
};

struct CmBound {
    Cm* cm = nullptr;
    CmChannel channel{};
    CmOwned<rdma_cm_id> id{};  // goes before its channel
    CmDevice device{};
    // For INIT. Taken at once: an id that listens has none any more.
    ibv_qp_attr init{};
    int init_mask = 0;
};

// An empty device in the place is any. Code::Unsupported if no device, or another one, has the
// address.
Result<CmBound> bind_id(Cm& cm, const CmPlace& place);

// What ends a wait besides what it waits for.
struct CmWait {
    std::chrono::milliseconds timeout{5000};  // of each step
    const Stop& stop;
    int control = -1;  // the control connection; -1: none

    [[nodiscard]] Deadline step() const { return Deadline::in(timeout); }
};

// A queue pair to be connected. What is not about the connection (access, timers, retries, MTU,
// depth of reads) is as it is without rdma_cm, so that the numbers of both can be compared:
// rdma_cm's own RNR timer would be 655 ms, its timeout seconds.
struct CmQueue {
    End end;  // its marks are put into the path: rdma-perf sets no TOS on ids that it accepts
    ibv_qp* qp = nullptr;
    unsigned access = 0;  // IBV_ACCESS_REMOTE_*: what the peer may do
    uint32_t mtu = 0;     // bytes; 0: what rdma_cm finds (iWARP has none)
};

// RESET to INIT.
Result<> move_to_init(const CmQueue& queue, const CmBound& bound);

// Finds the device that rdma_cm uses for a local address of this network namespace. The address is
// neither a loopback nor a link-local one. For iWARP there is no other way to know: its GIDs are no
// addresses.
inline Result<CmDevice> cm_device_of(Cm& cm, const Address& local) {
    return TRY(bind_id(cm, {local, ""})).device;
}

class CmConnection {
  public:
    // Client: binds to the address. Nothing is sent yet.
    static Result<CmConnection> open(Cm& cm, const CmPlace& place) {
        return CmConnection(TRY(bind_id(cm, place)));
    }

    Result<> init(const CmQueue& queue) { return move_to_init(queue, bound_); }

    // Client: INIT to RTS, as that lane of the listener at `to` whose ticket it is. Once.
    Result<> connect(const CmQueue& queue,
                     const Address& to,
                     const CmTicket& ticket,
                     uint16_t lane,
                     const CmWait& wait);

    CmConnection(CmConnection&&) noexcept = default;
    ~CmConnection();  // disconnects

  private:
    friend class CmListener;

    explicit CmConnection(CmBound bound) : bound_(std::move(bound)) {}

    // Server: INIT to RTS, if the peer's end is as it asked.
    Result<> accept(const CmQueue& queue, const rdma_conn_param& asked);

    CmBound bound_;  // without an id: it was moved from
    bool established_ = false;
};

class CmListener {
  public:
    static Result<CmListener> open(Cm& cm, const CmPlace& place);

    [[nodiscard]] const CmTicket& ticket() const { return ticket_; }

    Result<> init(const CmQueue& queue) { return move_to_init(queue, bound_); }

    // INIT to RTS, each when its lane is asked for; returns when all are established, in their
    // order. Requests without our ticket, for no lane of ours or for one that is taken are
    // rejected, and the wait goes on as if they had never been.
    Result<std::vector<CmConnection>> accept(std::span<const CmQueue> queues, const CmWait& wait);

  private:
    CmListener(CmBound bound, CmTicket ticket) : bound_(std::move(bound)), ticket_(ticket) {}

    using Lanes = std::vector<std::optional<CmConnection>>;  // on their way

    // True if a lane came further by it.
    Result<bool> take(const rdma_cm_event& event, std::span<const CmQueue> queues, Lanes& lanes);
    Result<bool> admit(const rdma_cm_event& event, std::span<const CmQueue> queues, Lanes& lanes);

    CmBound bound_;
    CmTicket ticket_;
};

// Where rdma_cm works for a side: its own address of the control connection, and the peer's.
struct CmEnds {
    Cm* cm = nullptr;
    Address local;
    Address peer;
};

// Those of the control connection.
inline CmEnds cm_ends_of(Cm& cm, const Control& control) {
    return {.cm = &cm,
            .local = local_address(control.fd()).value_or(Address{}),
            .peer = peer_address(control.fd()).value_or(Address{})};
}

// The connections of one side of a point: the client has one for each lane, the server a listener
// that takes them.
class CmLinks {
  public:
    // `device`: of the queue pairs.
    static Result<std::unique_ptr<CmLinks>> create(const CmEnds& ends,
                                                   Side side,
                                                   const std::string& device) {
        std::unique_ptr<CmLinks> links(new CmLinks(ends, device));
        if (side == Side::Server)
            links->listener_ = TRY(CmListener::open(*ends.cm, links->place_));
        return links;
    }

    // RESET to INIT of the next lane; called in the order of lanes.
    Result<> init(const CmQueue& queue) {
        if (listener_)
            return listener_->init(queue);
        connections_.push_back(TRY(CmConnection::open(*ends_.cm, place_)));
        return connections_.back().init(queue);
    }

    // Server: what the client needs.
    [[nodiscard]] std::optional<CmTicket> ticket() const {
        return listener_ ? std::optional(listener_->ticket()) : std::nullopt;
    }

    // INIT to RTS of all lanes, in their order. The client needs the ticket.
    Result<> connect(std::span<const CmQueue> queues,
                     const std::optional<CmTicket>& ticket,
                     const CmWait& wait) {
        if (listener_) {
            connections_ = TRY(listener_->accept(queues, wait));
            listener_.reset();
            return {};
        }
        if (!ticket)
            return make_error(Code::BadInput, "the server did not say where rdma_cm finds it");
        for (size_t lane = 0; lane < queues.size(); ++lane)
            TRY(connections_[lane].connect(
                queues[lane], ends_.peer, *ticket, static_cast<uint16_t>(lane), wait));
        return {};
    }

  private:
    CmLinks(const CmEnds& ends, const std::string& device)
        : ends_(ends), place_{.address = ends.local, .device = device} {}

    CmEnds ends_;
    CmPlace place_;
    std::optional<CmListener> listener_;
    std::vector<CmConnection> connections_;
};

}  // namespace perf
