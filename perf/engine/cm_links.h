// SPDX-License-Identifier: Apache-2.0
// CmLinks: the connections of one side of a point whose queue pairs rdma_cm connects (perf/verbs/cm/):
// the client has one for each lane, the server a listener that takes them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "perf/protocol/control.h"
#include "perf/system/tcp.h"
#include "perf/verbs/cm/connection.h"
#include "perf/verbs/memory.h"

namespace perf {

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

class CmLinks {
  public:
    // `device`: of the queue pairs.
    static Result<std::unique_ptr<CmLinks>> create(const CmEnds& ends,
                                                   Side side,
                                                   const std::string& device) {
        std::unique_ptr<CmLinks> links(new CmLinks(ends, device));
        if (side == Side::Server)
            links->listener_ =
                TRY(CmListener::open(*ends.cm, {.address = ends.local, .device = device}));
        return links;
    }

    // RESET to INIT of the next lane; called in the order of lanes.
    Result<> init(const CmQueue& queue) {
        if (listener_)
            return listener_->init(queue);
        connections_.push_back(
            TRY(CmConnection::open(*ends_.cm, {.address = ends_.local, .device = device_})));
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
    CmLinks(const CmEnds& ends, std::string device) : ends_(ends), device_(std::move(device)) {}

    CmEnds ends_;
    std::string device_;
    std::optional<CmListener> listener_;
    std::vector<CmConnection> connections_;
};

}  // namespace perf
