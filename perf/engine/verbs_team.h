// SPDX-License-Identifier: Apache-2.0
// VerbsTeam: a team over queue pairs.
#pragma once

#include "perf/engine/cm_links.h"
#include "perf/engine/team_of.h"

namespace perf {

class VerbsTeam : public TeamOf<Group> {
  public:
    // Everything up to queue pairs in INIT with their receives posted. `waiting` says how to wait
    // and whose words explain a failure; the device must live longer. `ends`: for rdma_cm, if the
    // point wants it.
    static Result<std::unique_ptr<VerbsTeam>> create(const Device& device,
                                                     const Point& point,
                                                     Side side,
                                                     const Waiting& waiting,
                                                     const CmEnds& ends);

    // Queue pairs go before what rdma_cm connected them with.
    ~VerbsTeam() override;
    VerbsTeam(const VerbsTeam&) = delete;
    VerbsTeam& operator=(const VerbsTeam&) = delete;

    // One for each lane.
    [[nodiscard]] std::vector<Endpoint> endpoints() const;

    // To RTR and RTS. Code::BadInput if there is not one endpoint for each lane. Where rdma_cm
    // connects, only prepares it.
    Result<> connect(const DeviceInfo& peer, std::span<const Endpoint> remote, uint32_t mtu);

    // Of a server that rdma_cm connects: what the client needs.
    [[nodiscard]] std::optional<CmTicket> ticket() const;

    // After connect() of both sides: rdma_cm connects; nothing to do without it. The client calls
    // it with the ticket, the server at the same time. If the ticket wants it, the client also asks
    // "link", which the server answers after this.
    Result<> link(const std::optional<CmTicket>& ticket);

    [[nodiscard]] uint32_t inline_bytes() { return lane(0).inline_bytes(); }

    [[nodiscard]] uint32_t reads() { return lane(0).reads(); }

    Result<Checked> fetch(uint32_t lane, const Round& round) override;

  private:
    using TeamOf::TeamOf;

    uint32_t mtu_ = 0;
    std::unique_ptr<CmLinks> cm_;  // where rdma_cm connects
};

}  // namespace perf
