// SPDX-License-Identifier: Apache-2.0
// CmLinks: the connections of one side of a point whose queue pairs rdma_cm connects (perf/verbs/cm/):
// the client has one for each lane, the server a listener that takes them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "perf/protocol/control.h"
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
CmEnds cm_ends_of(Cm& cm, const Control& control);

class CmLinks {
  public:
    // `device`: of the queue pairs.
    static Result<std::unique_ptr<CmLinks>> create(const CmEnds& ends,
                                                   Side side,
                                                   const std::string& device);

    // RESET to INIT of the next lane; called in the order of lanes.
    Result<> init(const CmQueue& queue);

    // Server: what the client needs.
    [[nodiscard]] std::optional<CmTicket> ticket() const;

    // INIT to RTS of all lanes, in their order. The client needs the ticket.
    Result<> connect(std::span<const CmQueue> queues,
                     const std::optional<CmTicket>& ticket,
                     const CmWait& wait);

  private:
    CmLinks(const CmEnds& ends, std::string device) : ends_(ends), device_(std::move(device)) {}

    CmEnds ends_;
    std::string device_;
    std::optional<CmListener> listener_;
    std::vector<CmConnection> connections_;
};

}  // namespace perf
