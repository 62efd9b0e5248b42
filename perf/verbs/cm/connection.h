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

#include "perf/protocol/message.h"
#include "perf/protocol/plan.h"
#include "perf/verbs/cm/cm.h"
#include "perf/verbs/verbs.h"

namespace perf {

// ---- the state changes of a queue pair, with the attributes that rdma_cm has for them -----------
// What is not about the connection (access, timers, retries, MTU, depth of reads) is as it is
// without rdma_cm, so that the numbers of both can be compared: rdma_cm's own RNR timer would be
// 655 ms, its timeout seconds.
//
// iWARP: the kernel moves the queue pair to RTS by itself, when rdma_connect's answer comes and
// within rdma_accept; here it only gets its INIT.

// A queue pair to be connected.
struct CmQueue {
    Verbs* verbs = nullptr;
    ibv_qp* qp = nullptr;
    unsigned access = 0;  // IBV_ACCESS_REMOTE_*: what the peer may do
    uint32_t mtu = 0;     // bytes; 0: what rdma_cm finds (iWARP has none)
    // RDMA READs and atomics in flight: what this side starts, and what it answers. At most what
    // the device can do; the peer's values limit them further.
    uint8_t initiator_depth = 0;
    uint8_t responder_depth = 0;
    bool software = false;  // the device: our own processors do its work
    Marks marks = {};       // put into the path: rdma-perf sets no TOS on ids that it accepts
};

// How a queue pair was connected, as far as the transport knows such things: all 0 for iWARP.
struct CmPath {
    uint32_t peer_qpn = 0;
    uint32_t mtu = 0;  // bytes
    uint32_t gid_index = 0;
};

// RESET to INIT.
Result<> move_to_init(const CmQueue& queue, const CmBound& bound);

// INIT to RTS, for an id that knows its peer.
Result<CmPath> move_to_rts(const CmQueue& queue, const CmBound& bound);

// What either side says of its queue pair.
rdma_conn_param connection_parameters(const CmQueue& queue);

// ---- connections --------------------------------------------------------------------------------
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
