// SPDX-License-Identifier: Apache-2.0
#include "perf/engine/lane.h"

#include <algorithm>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "perf/verbs/limit.h"

namespace perf {

namespace {
constexpr uint32_t kPingPongSends = 4 * kSignalEvery;
// A credit is for half of the depth or more, and there are never more messages than twice the depth
// or two credits without one (Hot::room): four under way, six where the half is rounded down.
constexpr uint32_t kCreditsUnderWay = 8;

// The least access that the point needs.
int access_of(const Point& point, Side side) {
    if (is_atomic(point.verb))
        return posts_data(point, side) ? IBV_ACCESS_LOCAL_WRITE
                                       : IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_LOCAL_WRITE;
    int access = has_in(point, side) ? IBV_ACCESS_LOCAL_WRITE : 0;
    if (point.verb == Verb::Read)
        return has_out(point, side) ? access | IBV_ACCESS_REMOTE_READ : access;
    if (has_in(point, side) && !is_send(point.verb))
        access |= IBV_ACCESS_REMOTE_WRITE;
    return access;
}

// Of the memory itself.
int memory_access(const Device& device, const Point& point, Side side) {
    int access = access_of(point, side);
    // Relaxed ordering is safe here: no side looks at data before a completion says that it is
    // there, and completions keep their order (PCIe: they are written without the attribute).
    if (point.ordering == Ordering::Relaxed)
        access |= IBV_ACCESS_RELAXED_ORDERING;
    // RFC 5040: what answers an RDMA READ of iWARP is written to the reader's memory by the peer.
    if (device.info.iwarp && point.verb == Verb::Read && posts_data(point, side))
        access |= IBV_ACCESS_REMOTE_WRITE;
    return access;
}

// By Verb.
constexpr ibv_wr_opcode kOpcodes[] = {IBV_WR_RDMA_WRITE,
                                      IBV_WR_RDMA_READ,
                                      IBV_WR_SEND,
                                      IBV_WR_RDMA_WRITE_WITH_IMM,
                                      IBV_WR_SEND_WITH_IMM,
                                      IBV_WR_ATOMIC_FETCH_AND_ADD,
                                      IBV_WR_ATOMIC_CMP_AND_SWP};
static_assert(std::size(kOpcodes) == static_cast<size_t>(Verb::CompareSwap) + 1);

ibv_wr_opcode opcode_of(const Point& point) {
    // A ping-pong by WRITE must tell the other side that the data is complete. Watching the last
    // byte of the buffer would assume that bytes are placed in order, which neither the verbs nor
    // relaxed PCIe ordering promise; an immediate costs one receive and is sure.
    return writes_with_immediate(point) ? IBV_WR_RDMA_WRITE_WITH_IMM
                                        : kOpcodes[static_cast<size_t>(point.verb)];
}

ibv_wr_opcode with_immediate(ibv_wr_opcode opcode) {
    return opcode == IBV_WR_SEND ? IBV_WR_SEND_WITH_IMM : opcode;
}

// Those that messages ever have: in rounds of verification they are numbered.
uint64_t operations_of(const Point& point) {
    const ibv_wr_opcode opcode = opcode_of(point);
    return send_calls_of(opcode) |
           (is_ordered(point.transport) ? 0 : send_calls_of(with_immediate(opcode)));
}

ibv_qp_type type_of(Transport transport) {
    return transport == Transport::Ud    ? IBV_QPT_UD
           : transport == Transport::Uc  ? IBV_QPT_UC
           : transport == Transport::Srd ? IBV_QPT_DRIVER
                                         : IBV_QPT_RC;
}

// Any value will do: a queue key keeps strangers' datagrams out, and only by chance.
constexpr uint32_t kQueueKey = 0x1ee7a11;

struct QueueDepths {
    uint32_t sends = 0;
    uint32_t receives = 0;
};

QueueDepths queue_depths(const Point& point, Side side, bool by_credits) {
    uint32_t sends = arrives_by_credit(point) ? 1 : 0;
    if (posts_data(point, side))
        sends += is_ping_pong(point) ? kPingPongSends : std::max(window_of(point), point.depth);
    uint32_t receives = receives_of(point, side);
    if (by_credits) {
        sends += has_in(point, side) ? 2 * kCreditsUnderWay : 0;
        receives = in_whole_rings(point, receives + kCreditsUnderWay);
    }
    return {.sends = std::max(sends, 1U), .receives = receives};
}
}  // namespace

bool needs_credits(const Device& device, const Point& point) {
    return device.info.iwarp && point.mode == Mode::Bandwidth && is_send(point.verb);
}

Result<Lane> Lane::create(const SideSetup& setup, const Group& group, LaneId id) {
    const auto& [device, point, side, cm] = setup;
    Lane lane(TRY(Ring::make(point, side, id, *device.memory)));
    lane.queue_ = group.queue.get();
    lane.end_ = end_of(device);
    lane.end_.marks = point.marks;
    lane.psn_ = random_psn();
    lane.mr_ = TRY(register_buffer(*device.verbs,
                                   device.pd.get(),
                                   lane.memory.buffer(),
                                   lane.memory.all().size(),
                                   memory_access(device, point, side))
                       .context(device.info.device));
    if (device.signals_all)
        lane.hot.signal = 1;
    // Linux's siw (siw_qp_tx.c) sends the pages of a larger message without a completion itself, as
    // TCP segments of their own; one with a completion is copied.
    if (device.signals_all || device.attr.vendor_id == kSiwVendor)
        lane.signal_every = 1;
    if (needs_credits(device, point)) {
        const uint32_t each = point.credit != 0 ? point.credit : point.depth / 2;
        lane.messages_per_credit = std::clamp(each, 1U, stream_receives(point) / 2);
        lane.hot.room = 2UL * std::max(point.depth, lane.messages_per_credit);
    }
    TRY(lane.create_queue_pair(device, group));
    TRY(cm != nullptr ? cm->init(lane.cm_queue(0))
                      : to_init(lane.end_, lane.qp_.get(), access_of(point, side), kQueueKey));
    lane.build_receives();
    TRY(outcome_of(lane.post_receives(lane.receives()), "post receives"));
    return lane;
}

Result<> Lane::create_queue_pair(const Device& device, const Group& group) {
    const QueueDepths depths = queue_depths(point, side, messages_per_credit != 0);
    ibv_qp_cap caps{};
    caps.max_send_wr = depths.sends;
    caps.max_recv_wr = std::max(depths.receives, 1U);
    caps.max_send_sge = 1;
    caps.max_recv_sge = 1;
    const uint32_t longest = device.port.max_msg_sz;
    if (point.transport == Transport::Srd && is_send(point.verb) && point.size > longest)
        return make_error(Code::Unsupported,
                          "{} sends messages of {} bytes at most, not of {}",
                          device.info.device,
                          longest,
                          point.size)
            .advise("use a smaller --size, or --verb write,read");
    // A processor reads inline data. EFA takes none with an RDMA WRITE.
    const bool can_inline =
        device.memory->kind.is_host && (point.transport != Transport::Srd || is_send(point.verb));
    const uint32_t most =
        point.inline_bytes.value_or(can_inline ? inline_limit(device.attr.vendor_id, point) : 0);
    if (posts_data(point, side) && !fetches(point.verb) && point.size <= most) {
        if (!can_inline)
            return make_error(
                       Code::Unsupported,
                       device.memory->kind.is_host
                           ? fmt::format("no inline data goes with {} over srd",
                                         name_of(point.verb))
                           : fmt::format("no processor reads {}, and inline data is read by one",
                                         device.memory->kind.word))
                .advise("use --inline 0, or auto");
        caps.max_inline_data = point.size;
    }
    const uint32_t wanted_inline = caps.max_inline_data;
    SendCalls calls{.wanted = posts_data(point, side) ? operations_of(point) : 0};
    ibv_pd* pd = group.domain.pd ? group.domain.pd.get() : device.pd.get();
    qp_ =
        TRY(create_qp(*device.verbs, pd, queue_->cq.get(), type_of(point.transport), caps, &calls));
    hot.qp = qp_.get();
    hot.extended = calls.qp;
    if (wanted_inline != 0 && caps.max_inline_data >= wanted_inline)
        inline_bytes = wanted_inline;
    if (point.inline_bytes && inline_bytes != wanted_inline)
        return make_error(Code::Unsupported,
                          "{} takes no {} bytes inline with {} sends queued",
                          device.info.device,
                          wanted_inline,
                          depths.sends)
            .advise("use a smaller --inline, or auto");
    flags_ = inline_bytes != 0 ? IBV_SEND_INLINE : 0;
    receives_.resize(depths.receives);
    return {};
}

Endpoint Lane::endpoint() const {
    // The area that the other side reads or writes: what goes out for READ, what comes in else.
    const bool out = point.verb == Verb::Read ? layout.out.exists() : !layout.in.exists();
    const Area& area = out ? layout.out : layout.in;
    return {.qpn = qp_->qp_num,
            .psn = psn_,
            .address = memory.address(area.first),
            .length = area.slots * area.stride,
            .rkey = mr_->rkey};
}

CmQueue Lane::cm_queue(uint32_t mtu) const {
    const int remote = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    return {.end = end_,
            .qp = qp_.get(),
            .access = static_cast<unsigned>(access_of(point, side) & remote),
            .mtu = mtu};
}

Result<> Lane::connect(const DeviceInfo& peer, const Endpoint& remote, uint32_t mtu) {
    const Area& own = fetches(point.verb) ? layout.in : layout.out;
    const bool one_sided = posts_data(point, side) && !is_send(point.verb);
    if (one_sided && remote.length < own.slots * own.stride)
        return make_error(Code::BadInput, "the peer's memory is smaller than the point needs");
    TRY(choose_reads(peer));
    if (point.transport == Transport::Ud && point.size > mtu)
        return make_error(Code::Unsupported,
                          "a datagram of {} bytes is larger than the path MTU of {}",
                          point.size,
                          mtu)
            .advise("use a smaller --size, or raise the MTU of both netdevs");
    if (is_datagram(point.transport))
        ah_ = TRY(make_address_handle(end_, qp_->pd, peer));
    build_sends(remote);
    if (point.connect == Connect::Cm)
        return {};
    TRY(to_rtr(end_, qp_.get(), peer, remote, mtu));
    return to_rts(end_, qp_.get(), peer, psn_);
}

Result<> Lane::choose_reads(const DeviceInfo& peer) {
    if (!fetches(point.verb) || !posts_data(point, side) || point.transport == Transport::Srd)
        return {};
    const uint32_t most = std::min({end_.own.initiator_depth, peer.responder_depth, kMaxReads});
    if (most == 0)
        return make_error(Code::Unsupported,
                          "one of the devices cannot do RDMA READ and atomic operations");
    if (point.reads > most)
        return make_error(Code::Unsupported,
                          "{} reads in flight are asked for; the devices can do {}",
                          point.reads,
                          most)
            .advise("use a smaller --reads, or auto");
    reads = point.reads != 0 ? point.reads : most;
    end_.own.initiator_depth = reads;
    return {};
}

void Lane::build_receives() {
    receive_pieces_.resize(receives_.size());
    for (uint32_t i = 0; i < receives_.size(); ++i) {
        const uint32_t slot = i % point.slots;
        receives_[i] = {};
        receives_[i].wr_id = kReceiveMark | hot.tag | slot;
        // WRITE places its data by itself, and its receive only takes the immediate or the credit;
        // but libsiw refuses a receive without memory. Where only credits come, nothing does.
        const Area& area = layout.in.exists() ? layout.in : layout.out;
        const auto lead = static_cast<uint32_t>(layout.in.lead);
        receive_pieces_[i] = {memory.address(area.slot(slot)) - lead, point.size + lead, mr_->lkey};
        receives_[i].sg_list = &receive_pieces_[i];
        receives_[i].num_sge = 1;
    }
}

void Lane::build_sends(const Endpoint& remote) {
    if (!posts_data(point, side))
        return;
    const Area& local = fetches(point.verb) ? layout.in : layout.out;
    opcode_ = opcode_of(point);
    send_pieces_.resize(hot.window);
    sends_.resize(hot.window);
    hot.sends = sends_.data();
    for (uint32_t i = 0; i < hot.window; ++i) {
        const uint32_t slot = i % point.slots;
        const bool last = (i + 1) % hot.batch == 0;
        send_pieces_[i] = {memory.address(local.slot(slot)), point.size, mr_->lkey};
        SendRequest& request = sends_[i];
        request = {};
        request.wr_id = hot.tag | hot.signal;
        request.sg_list = &send_pieces_[i];
        request.num_sge = 1;
        request.next = last ? nullptr : &sends_[i + 1];
        const uint64_t there = remote.address + slot * local.stride;
        if (is_atomic(point.verb)) {
            request.wr.atomic.remote_addr = there;
            request.wr.atomic.rkey = remote.rkey;
        } else if (is_datagram(point.transport)) {
            request.wr.ud = {ah_.get(), remote.qpn, kQueueKey};
            // SRD: the memory besides. The place of the others is taken.
            request.bind_mw.rkey = remote.rkey;
            request.bind_mw.bind_info.addr = there;
        } else {
            request.wr.rdma.remote_addr = there;
            request.wr.rdma.rkey = remote.rkey;
        }
    }
    number_messages(0);
    plain_messages();
}

void Lane::set_opcode(ibv_wr_opcode opcode) {
    for (SendRequest& request : sends_)
        request.opcode = opcode;
    hot.post = poster_of(opcode, flags_ != 0, ah_ != nullptr, hot.extended != nullptr);
}

void Lane::number_messages(uint32_t first) {
    if (!is_ordered(point.transport))
        set_opcode(with_immediate(opcode_));
    for (uint32_t i = 0; i < sends_.size(); ++i) {
        sends_[i].imm_data = htonl(first + i);
        // post_one() may have left it otherwise.
        sends_[i].send_flags = (i + 1) % hot.signal == 0 ? flags_ | IBV_SEND_SIGNALED : flags_;
    }
}

void Lane::set_operands(uint32_t at, uint64_t compare_add, uint64_t swap) {
    sends_[at].wr.atomic.compare_add = compare_add;
    sends_[at].wr.atomic.swap = swap;
}

void Lane::plain_messages() {
    set_opcode(opcode_);
    for (uint32_t i = 0; i < sends_.size(); ++i) {
        // What comes late must not look like a message of the round behind the measurement, as the
        // numbers beyond the ring do.
        sends_[i].imm_data = sends_.front().imm_data;
        if (is_atomic(point.verb))
            set_operands(i, 1, 0);
    }
}

int Lane::post_last(uint32_t at, uint32_t count) noexcept {
    const uint32_t left = (at + count) % hot.signal;
    SendRequest* first = hot.sends + at;
    SendRequest& last = first[count - 1];
    const SendRequest kept = last;
    last.next = nullptr;
    last.wr_id = hot.tag | (left != 0 ? left : hot.signal);
    last.send_flags |= IBV_SEND_SIGNALED;
    const int rc = hot.post(hot, first, count);
    last = kept;
    return rc;
}

int Lane::post_receives(uint32_t count) noexcept {
    while (count != 0) {
        const uint32_t run = std::min(count, receives() - next_receive_);
        for (uint32_t i = next_receive_; i < next_receive_ + run; ++i)
            receives_[i].next = i + 1 < next_receive_ + run ? &receives_[i + 1] : nullptr;
        ibv_recv_wr* bad = nullptr;
        if (const int rc = ibv_post_recv(qp_.get(), &receives_[next_receive_], &bad); rc != 0)
            return rc;
        next_receive_ = (next_receive_ + run) % receives();
        count -= run;
    }
    return 0;
}

int Lane::post_credit() noexcept {
    ibv_send_wr request{};
    request.wr_id = hot.tag;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(qp_.get(), &request, &bad);
}

// ---- group --------------------------------------------------------------------------------------
Result<Group> Group::create(const SideSetup& setup, uint32_t first, uint32_t count) {
    const Device& device = setup.device;
    const Point& point = setup.point;
    const bool by_credits = needs_credits(device, point);
    const QueueDepths depths = queue_depths(point, setup.side, by_credits);
    const uint64_t entries = uint64_t{count} * (depths.sends + std::max(depths.receives, 1U));
    if (std::cmp_greater(std::max(depths.sends, depths.receives), device.attr.max_qp_wr) ||
        std::cmp_greater(entries, device.attr.max_cqe))
        return make_error(Code::Unsupported,
                          "depth {} with {} queue pairs in a thread is more than {} can queue",
                          point.depth,
                          (point.qps + point.threads - 1) / point.threads,
                          device.info.device)
            .advise(point.qps > point.threads
                        ? "use a smaller --depth, fewer --qps or more --threads"
                        : "use a smaller --depth");
    Group group;
    Verbs& verbs = *device.verbs;
    ibv_context* context = device.context.get();
    auto& [td, pd] = group.domain;
    td = {verbs.alloc_td(context), Release{&verbs}};
    if (td)
        pd = {verbs.alloc_parent_domain(context, device.pd.get(), td.get()), Release{&verbs}};
    // A credit is known by its length, which is not read lazily. Nor is librxe polled so: before
    // rdma-core 59 it skips completions and gives its lock back twice.
    const bool lazily = !by_credits && !device.software;
    group.queue = std::make_unique<CompletionQueue>(
        TRY(create_cq(verbs, context, static_cast<int>(entries), lazily)));
    group.lanes.reserve(count);
    for (uint32_t place = 0; place < count; ++place)
        group.lanes.push_back(
            TRY(Lane::create(setup, group, {.number = first + place, .place = place})));
    return group;
}

}  // namespace perf
