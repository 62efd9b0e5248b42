// SPDX-License-Identifier: Apache-2.0
#include "perf/engine/teams.h"

#include <fmt/format.h>

namespace perf {

namespace {
// RFC 5040 and 5041 have no immediate data and no atomic operations, and nothing connects an iWARP
// queue pair but rdma_cm.
Result<> check_iwarp(const Device& device, const Point& point) {
    if (!device.info.iwarp)
        return {};
    if (point.connect != Connect::Cm)
        return make_error(Code::Unsupported, device.info.device + " is an iWARP device")
            .advise("use --cm: only rdma_cm connects its queue pairs");
    if (point.marks != Marks{})
        return make_error(Code::Unsupported,
                          device.info.device +
                              " is an iWARP device: its packets are TCP's, and "
                              "nothing here marks them")
            .advise("leave out --tclass, --dscp, --sl, --flow-label and --pkey-index");
    const bool immediate = point.verb == Verb::SendImm || writes_with_immediate(point);
    if (immediate || is_atomic(point.verb))
        return make_error(Code::Unsupported,
                          fmt::format("{} is an iWARP device: no immediate data, which latency of "
                                      "write needs as well, and no atomic operations",
                                      device.info.device))
            .advise("use --verb send,read, or --verb write --mode bw");
    return {};
}
}  // namespace

Result<std::unique_ptr<VerbsTeam>> VerbsTeam::create(const Device& device,
                                                     const Point& point,
                                                     Side side,
                                                     const Waiting& waiting,
                                                     const CmEnds& ends) {
    TRY(check_iwarp(device, point));
    std::unique_ptr<VerbsTeam> team(new VerbsTeam(point, side, waiting));
    if (point.connect == Connect::Cm)
        team->cm_ = TRY(CmLinks::create(ends, side, device.info.device));
    TRY(team->make_groups([&](uint32_t first, uint32_t count) {
        return Group::create({device, point, side, team->cm_.get()}, first, count);
    }));
    return team;
}

VerbsTeam::~VerbsTeam() {
    dismiss();
    groups_.clear();
}

std::vector<Endpoint> VerbsTeam::endpoints() const {
    std::vector<Endpoint> endpoints;
    for (const Group& group : groups_) {
        for (const Lane& lane : group.lanes)
            endpoints.push_back(lane.endpoint());
    }
    return endpoints;
}

Result<> VerbsTeam::connect(const DeviceInfo& peer,
                            std::span<const Endpoint> remote,
                            uint32_t mtu) {
    if (remote.size() != point_.qps)
        return make_error(
            Code::BadInput,
            fmt::format("the peer has {} queue pairs instead of {}", remote.size(), point_.qps));
    mtu_ = mtu;
    for (uint32_t number = 0; number < point_.qps; ++number)
        TRY(cm_ ? lane(number).aim(peer, remote[number], mtu)
                : lane(number).connect(peer, remote[number], mtu));
    return {};
}

std::optional<CmTicket> VerbsTeam::ticket() const {
    return cm_ ? cm_->ticket() : std::nullopt;
}

Result<> VerbsTeam::link(const std::optional<CmTicket>& ticket) {
    if (!cm_)
        return {};
    std::vector<CmQueue> queues;
    for (uint32_t number = 0; number < point_.qps; ++number)
        queues.push_back(lane(number).cm_queue(mtu_));
    Control& control = *waiting_.control;
    TRY(cm_->connect(
        queues,
        ticket,
        {.timeout = waiting_.patience, .stop = control.stop(), .control = control.fd()}));
    if (ticket && ticket->confirm)
        TRY(control.ask(message("link"), "linked", Deadline::in(waiting_.patience)));
    return {};
}

Result<Checked> VerbsTeam::fetch(uint32_t number, const Round& round) {
    return fetch_round(seat(number), waiting_, round);
}

}  // namespace perf
