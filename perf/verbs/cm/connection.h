// SPDX-License-Identifier: Apache-2.0
// Queue pairs connected by rdma_cm instead of by values that a control connection exchanged: for
// RoCE and InfiniBand another way, for iWARP the only one. Device, memory and queue pair stay the
// caller's own (the rdma_cm id has none); rdma_cm gives the attributes of its state changes.
//
// Server, for each point:
//     CmListener listener = TRY(CmListener::open(cm, {address, device.info.device}));
//     for each lane:  qp = create_qp(...)                             // RESET
//                     TRY(listener.init(queue));                      // INIT
//                     post receives
//     tell the client listener.ticket() over the control connection
//     connections = TRY(listener.accept(queues, wait));               // all RTS, in lane order
//     destroy the listener
//
// Client, for each lane:
//     CmConnection connection = TRY(CmConnection::open(cm, {address, device.info.device}));
//     qp = create_qp(...)                                             // RESET
//     TRY(connection.init(queue));                                    // INIT
//     post receives
// and, once it has the server's ticket, one lane after the other in any order:
//     TRY(connection.connect(queue, server, ticket, lane, wait));     // RTS
// and then says so over the control connection. The server sends nothing on a queue pair before
// that: accept() promises that its own side is ready. (RoCE would bear it, iWARP breaks off when
// data overtakes the connection's own reply.)
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

#include <span>
#include <utility>
#include <vector>

#include "perf/protocol/tag.h"
#include "perf/verbs/cm/cm.h"
#include "perf/verbs/cm/queue.h"

namespace perf {

// Finds the device that rdma_cm uses for a local address of this network namespace. The address is
// neither a loopback nor a link-local one. For iWARP there is no other way to know: its GIDs are no
// addresses.
Result<CmDevice> cm_device_of(Cm& cm, const Address& local);

class CmConnection {
  public:
    // Client: binds to the address. Nothing is sent yet.
    static Result<CmConnection> open(Cm& cm, const CmPlace& place);

    // Client: RESET to INIT.
    Result<> init(const CmQueue& queue);

    // Client: INIT to RTS, as that lane of the listener at `to` whose ticket it is. Once.
    Result<> connect(const CmQueue& queue,
                     const Address& to,
                     const CmTicket& ticket,
                     uint16_t lane,
                     const CmWait& wait);

    [[nodiscard]] const CmPath& path() const { return path_; }

    CmConnection(CmConnection&&) noexcept = default;
    CmConnection& operator=(CmConnection&& other) noexcept;
    CmConnection(const CmConnection&) = delete;
    CmConnection& operator=(const CmConnection&) = delete;
    ~CmConnection();  // disconnects

  private:
    friend class CmAcceptor;

    explicit CmConnection(CmBound bound) : bound_(std::move(bound)) {}

    CmBound bound_;  // without an id: it was moved from
    CmPath path_;
    bool established_ = false;
};

class CmListener {
  public:
    static Result<CmListener> open(Cm& cm, const CmPlace& place);

    [[nodiscard]] const CmTicket& ticket() const { return ticket_; }

    // RESET to INIT.
    Result<> init(const CmQueue& queue);

    // INIT to RTS, each when its lane is asked for; returns when all are established, in their
    // order. Requests without our ticket, for no lane of ours or for one that is taken are
    // rejected, and the wait goes on as if they had never been.
    Result<std::vector<CmConnection>> accept(std::span<const CmQueue> queues, const CmWait& wait);

  private:
    CmListener(CmBound bound, CmTicket ticket) : bound_(std::move(bound)), ticket_(ticket) {}

    CmBound bound_;
    CmTicket ticket_;
};

}  // namespace perf
