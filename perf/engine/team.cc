// SPDX-License-Identifier: Apache-2.0
#include "perf/engine/team.h"

namespace perf {

constexpr uint64_t kLookEvery = 20'000'000;  // ns, as the slices of a window

uint64_t warmup_ns(const Point& point) {
    return std::min<uint64_t>(point.time_ms / 10 + 1, 300) * 1'000'000;
}

// The side that answers a latency point learns at the end how often; the other one counts itself.
bool Team::expects() const {
    return receives_data(point_, side_) &&
           (point_.mode == Mode::Bandwidth || side_ == Side::Server);
}

Result<> Team::wipe() {
    if (!looks_at_memory(point_) && !looks_at_messages(point_))
        return {};
    for (uint32_t lane = 0; lane < point_.qps; ++lane)
        TRY(wipe_ring(ring(lane)));
    return {};
}

// Lane after lane, and in each from where it ended before.
void Team::look() {
    constexpr uint64_t kShare = 100;
    constexpr uint32_t kBytes = 64U << 10U;
    const uint64_t begin = now_ns();
    if (begin < due_ns_)
        return;
    const Ring& lane = ring(static_cast<uint32_t>(looks_ % point_.qps));
    const uint32_t count = std::clamp(kBytes / point_.size, 1U, point_.slots);
    const uint64_t first = looks_++ / point_.qps * count;
    for (uint32_t i = 0; i < count; ++i) {
        const auto slot = static_cast<uint32_t>((first + i) % point_.slots);
        look_.at(lane, slot, slot, false);
    }
    due_ns_ = begin + std::max(kLookEvery, kShare * (now_ns() - begin));
}

Result<> Team::start() {
    const auto near = stay_on(waiting_.device != nullptr ? waiting_.device->near : std::nullopt);
    crew_ = TRY(Crew::create());
    shifts_.assign(point_.threads, {});
    expected_.clear();
    due_ns_ = looks_at_memory(point_) && has_in(point_, side_) ? now_ns() + kLookEvery : UINT64_MAX;
    const bool receives = expects();
    for (size_t i = 0; i < shifts_.size(); ++i) {
        shifts_[i].flows.resize(first_lane(i + 1) - first_lane(i));
        // One-sided: the passive side's processor has nothing to do.
        if (!receives && !posts_data(point_, side_))
            continue;
        TRY(crew_->hire(receives, body(i, shifts_[i])));
    }
    return crew_->start();
}

Posted Team::posted() const {
    Posted posted;
    uint64_t begin = UINT64_MAX;
    uint64_t end = 0;
    for (const Shift& shift : shifts_) {
        for (const Flow& flow : shift.flows)
            posted.by_lane.push_back(flow.completed);
        posted.warmup_messages += shift.warmup;
        begin = std::min(begin, shift.begin_ns);
        end = std::max(end, shift.end_ns);
    }
    posted.elapsed_ns = end > begin ? end - begin : 0;
    return posted;
}

void Team::expect(std::span<const uint64_t> messages) {
    // One-sided: what the other side sent never shows here.
    if (!expects())
        return;
    expected_.assign(messages.begin(), messages.end());
    for (size_t i = 0; i < crew_->size(); ++i) {
        const uint32_t first = first_lane(i);
        crew_->expect(i, total_of(messages.subspan(first, first_lane(i + 1) - first)));
    }
}

void Team::finish() {
    dismiss();
    // In a ping-pong nothing can be missing: it would not have come to its end.
    if (expected_.empty() || point_.mode != Mode::Bandwidth)
        return;
    uint32_t number = 0;
    for (const Shift& shift : shifts_) {
        for (const Flow& flow : shift.flows) {
            ring(number).missing += static_cast<int64_t>(expected_[number] - flow.taken);
            ++number;
        }
    }
    expected_.clear();
}

// ---- over queue pairs ---------------------------------------------------------------------------
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
                          "{} is an iWARP device: no immediate data, which latency of "
                          "write needs as well, and no atomic operations",
                          device.info.device)
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
    const auto near = stay_on(device.near);  // its memory is first touched there
    std::unique_ptr<VerbsTeam> team(new VerbsTeam(point, side, waiting));
    if (point.connect == Connect::Cm)
        team->cm_ = TRY(CmLinks::create(ends, side, device.info.device));
    TRY(team->make_groups([&](uint32_t first, uint32_t count) {
        return Group::create({device, point, side, team->cm_.get()}, first, count);
    }));
    return team;
}

Opened VerbsTeam::opened() {
    const Group& group = groups_.front();
    const char* calls = group.lanes.front().hot.extended != nullptr ? "ibv_wr" : "ibv_post_send";
    Opened opened{.mtu = mtu_,
                  .poll = point_.poll,
                  .inline_bytes = lane(0).inline_bytes,
                  .ordering = point_.ordering,
                  .reads = lane(0).reads,
                  .ticket = cm_ ? cm_->ticket() : std::nullopt,
                  .means = {.calls = posts_data(point_, side_) ? calls : "",
                            .polling = group.queue->extended != nullptr ? "lazy" : "plain",
                            .domain = group.domain.pd ? "parent" : "none"}};
    for (uint32_t number = 0; number < point_.qps; ++number)
        opened.endpoints.push_back(lane(number).endpoint());
    return opened;
}

Result<> VerbsTeam::connect(const DeviceInfo& peer,
                            std::span<const Endpoint> remote,
                            uint32_t mtu) {
    if (remote.size() != point_.qps)
        return make_error(
            Code::BadInput, "the peer has {} queue pairs instead of {}", remote.size(), point_.qps);
    mtu_ = mtu;
    for (uint32_t number = 0; number < point_.qps; ++number)
        TRY(lane(number).connect(peer, remote[number], mtu));
    return {};
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

}  // namespace perf
