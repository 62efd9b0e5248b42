// SPDX-License-Identifier: Apache-2.0
#include "perf/engine/cm_links.h"

#include "perf/system/tcp.h"

namespace perf {

CmEnds cm_ends_of(Cm& cm, const Control& control) {
    return {.cm = &cm,
            .local = local_address(control.fd()).value_or(Address{}),
            .peer = peer_address(control.fd()).value_or(Address{})};
}

Result<std::unique_ptr<CmLinks>> CmLinks::create(const CmEnds& ends,
                                                 Side side,
                                                 const std::string& device) {
    std::unique_ptr<CmLinks> links(new CmLinks(ends, device));
    if (side == Side::Server)
        links->listener_ =
            TRY(CmListener::open(*ends.cm, {.address = ends.local, .device = device}));
    return links;
}

Result<> CmLinks::init(const CmQueue& queue) {
    if (listener_)
        return listener_->init(queue);
    connections_.push_back(
        TRY(CmConnection::open(*ends_.cm, {.address = ends_.local, .device = device_})));
    return connections_.back().init(queue);
}

std::optional<CmTicket> CmLinks::ticket() const {
    return listener_ ? std::optional(listener_->ticket()) : std::nullopt;
}

Result<> CmLinks::connect(std::span<const CmQueue> queues,
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

}  // namespace perf
