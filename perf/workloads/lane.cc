// SPDX-License-Identifier: Apache-2.0
#include "perf/workloads/lane.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/random.h>

namespace perf {

using base::Code;
using base::make_error;
using base::Result;

namespace {
constexpr uint32_t kPingPongSends = 4 * kSignalEvery;
constexpr uint32_t kPingPongReceives = 64;
constexpr uint32_t kCredits = 4;
// Small messages ride in the work request itself; larger ones cost more to copy twice.
constexpr uint32_t kInlineLimit = 220;

// The least access that the point needs.
int access_of(const Point& point, Side side) {
    if (is_atomic(point.verb))
        return side == Side::Server ? IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_LOCAL_WRITE
                                    : IBV_ACCESS_LOCAL_WRITE;
    if (point.verb == Verb::Read)
        return side == Side::Server ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_LOCAL_WRITE;
    if (!has_in(point, side))
        return 0;
    return is_send(point.verb) ? IBV_ACCESS_LOCAL_WRITE
                               : IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
}

// How many receives a side keeps posted. A multiple of the slots, so that consecutive receives use
// consecutive slots and a verify round never uses one twice.
uint32_t receive_count(const Point& point, Side side) {
    if (fetches(point.verb) || !has_in(point, side))
        return 0;
    if (arrives_by_credit(point))
        return kCredits;
    // Twice the depth: the sender may run ahead of the receiver's reposting without hitting RNR.
    const uint32_t wanted = is_ping_pong(point) ? kPingPongReceives : 2 * point.depth;
    return (wanted + point.slots - 1) / point.slots * point.slots;
}

ibv_wr_opcode opcode_of(const Point& point) {
    switch (point.verb) {
        case Verb::Read:
            return IBV_WR_RDMA_READ;
        case Verb::Send:
            return IBV_WR_SEND;
        case Verb::SendImm:
            return IBV_WR_SEND_WITH_IMM;
        case Verb::WriteImm:
            return IBV_WR_RDMA_WRITE_WITH_IMM;
        case Verb::FetchAdd:
            return IBV_WR_ATOMIC_FETCH_AND_ADD;
        case Verb::CompareSwap:
            return IBV_WR_ATOMIC_CMP_AND_SWP;
        case Verb::Write:
            break;
    }
    // A ping-pong by WRITE must tell the other side that the data is complete. Watching the last
    // byte of the buffer would assume that bytes are placed in order, which neither the verbs nor
    // relaxed PCIe ordering promise; an immediate costs one receive and is sure.
    return is_ping_pong(point) ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
}

ibv_wr_opcode with_immediate(ibv_wr_opcode opcode) {
    return opcode == IBV_WR_SEND         ? IBV_WR_SEND_WITH_IMM
           : opcode == IBV_WR_RDMA_WRITE ? IBV_WR_RDMA_WRITE_WITH_IMM
                                         : opcode;
}

ibv_qp_type type_of(Transport transport) {
    return transport == Transport::Ud   ? IBV_QPT_UD
           : transport == Transport::Uc ? IBV_QPT_UC
                                        : IBV_QPT_RC;
}

// Any value will do: a queue key keeps strangers' datagrams out, and only by chance.
constexpr uint32_t kQueueKey = 0x1ee7a11;

uint32_t random_psn() {
    uint32_t value = 0;
    if (::getrandom(&value, sizeof value, 0) != sizeof value)
        value = 0x1234;  // a PSN need not be secret, only unlikely to match a stale connection's
    return value & 0xffffff;
}

std::string rtr_hint(int number) {
    switch (number) {
        case ENODEV:
            return "the GID's netdev is not in this network namespace: see --explain-gid";
        case ETIMEDOUT:
            return "no ARP or neighbour answer from the peer's address: wrong network, VLAN, or "
                   "the "
                   "peer's interface is down";
        case EINVAL:
            return "the GID is empty, or the path MTU or read depth does not suit the device: see "
                   "--explain-gid";
        case ENETUNREACH:
        case EHOSTUNREACH:
            return "no route from the GID's netdev to the peer's GID";
        default:
            return "";
    }
}
}  // namespace

Result<Lane> Lane::create(const Device& device, const Point& point, Side side) {
    const Layout layout = layout_of(point, side);
    Lane lane(TRY(Memory::map(layout)));
    lane.point_ = point;
    lane.side_ = side;
    lane.verbs_ = device.verbs;
    lane.own_ = device.info;
    lane.infiniband_ = device.port.link_layer == IBV_LINK_LAYER_INFINIBAND;
    lane.psn_ = random_psn();
    lane.layout_ = layout;
    lane.window_ = point.mode == Mode::Latency ? point.slots : point.depth;
    lane.batch_ = point.batch;
    lane.mr_ = TRY(register_memory(
        *device.verbs, device.pd.get(), lane.memory_.all(), access_of(point, side)));
    TRY(lane.create_queues(device));
    TRY(lane.to_init());
    lane.build_receives();
    if (const int rc = lane.post_receives(lane.receives()); rc != 0)
        return base::sys_error(rc, "post receives");
    return lane;
}

Result<> Lane::create_queues(const Device& device) {
    const uint32_t receive_depth = receive_count(point_, side_);
    ibv_qp_cap caps{};
    caps.max_send_wr = is_ping_pong(point_) ? kPingPongSends : window_ + 1;
    caps.max_recv_wr = std::max(receive_depth, 1U);
    caps.max_send_sge = 1;
    caps.max_recv_sge = 1;
    if (posts_data(point_, side_) && !fetches(point_.verb) && point_.size <= kInlineLimit)
        caps.max_inline_data = point_.size;
    const uint32_t entries = caps.max_send_wr + caps.max_recv_wr;
    const auto limit = [](int value) { return static_cast<uint32_t>(std::max(value, 0)); };
    if (std::max(caps.max_send_wr, caps.max_recv_wr) > limit(device.attr.max_qp_wr) ||
        entries > limit(device.attr.max_cqe))
        return make_error(
                   Code::Unsupported,
                   fmt::format(
                       "depth {} is more than {} can queue", point_.depth, device.info.device))
            .advise("use a smaller --depth");
    queue_ = TRY(create_cq(*verbs_, device.context.get(), static_cast<int>(entries)));
    const uint32_t wanted_inline = caps.max_inline_data;
    qp_ =
        TRY(create_qp(*verbs_, device.pd.get(), queue_.cq.get(), type_of(point_.transport), caps));
    if (wanted_inline != 0 && caps.max_inline_data >= wanted_inline)
        inline_bytes_ = wanted_inline;
    flags_ = inline_bytes_ != 0 ? IBV_SEND_INLINE : 0;
    receives_.resize(receive_depth);
    return {};
}

Result<> Lane::to_init() {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = own_.port;
    const int remote = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    attr.qp_access_flags = static_cast<unsigned>(access_of(point_, side_) & remote);
    attr.qkey = kQueueKey;
    const int rc = verbs_->modify_qp(
        qp_.get(),
        &attr,
        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
            (point_.transport == Transport::Ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
    if (rc != 0)
        return base::sys_error(rc, fmt::format("queue pair {} to INIT", qp_->qp_num));
    return {};
}

Endpoint Lane::endpoint() const {
    // The area that the other side reads or writes: what comes in for WRITE, what goes out for
    // READ.
    const Area& area = layout_.in.exists() ? layout_.in : layout_.out;
    return {.qpn = qp_->qp_num,
            .psn = psn_,
            .address = memory_.address(area.first),
            .length = area.slots * area.stride,
            .rkey = mr_->rkey};
}

Result<> Lane::connect(const DeviceInfo& peer, const Endpoint& remote, uint32_t mtu) {
    const Area own = layout_.out.exists() ? layout_.out : layout_.in;
    const bool one_sided = posts_data(point_, side_) && !is_send(point_.verb);
    if (one_sided && remote.length < own.slots * own.stride)
        return make_error(Code::BadInput, "the peer's memory is smaller than the point needs");
    if (fetches(point_.verb) && std::min(own_.initiator_depth, peer.responder_depth) == 0 &&
        side_ == Side::Client)
        return make_error(Code::Unsupported,
                          "one of the devices cannot do RDMA READ and atomic operations");
    if (point_.transport == Transport::Ud && point_.size > mtu)
        return make_error(Code::Unsupported,
                          fmt::format("a datagram of {} bytes is larger than the path MTU of {}",
                                      point_.size,
                                      mtu))
            .advise("use a smaller --size, or raise the MTU of both netdevs");
    if (point_.transport == Transport::Ud)
        TRY(make_address_handle(peer));
    build_sends(remote);
    TRY(to_rtr(peer, remote, mtu));
    return to_rts(peer);
}

Result<> Lane::to_rtr(const DeviceInfo& peer, const Endpoint& remote, uint32_t mtu) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = mtu_enum(mtu);
    attr.dest_qp_num = remote.qpn;
    attr.rq_psn = remote.psn;
    attr.max_dest_rd_atomic = static_cast<uint8_t>(own_.responder_depth);
    attr.min_rnr_timer = 12;  // 0.64 ms
    attr.ah_attr = path_to(peer);
    // What each transport wants: ibv_modify_qp(3).
    int mask = IBV_QP_STATE;
    if (point_.transport != Transport::Ud)
        mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (point_.transport == Transport::Rc)
        mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    const int rc = verbs_->modify_qp(qp_.get(), &attr, mask);
    if (rc == 0)
        return {};
    return base::sys_error(
               rc,
               fmt::format("queue pair {} to RTR (device {}, GID index {} {}, to {}, MTU {})",
                           qp_->qp_num,
                           own_.device,
                           own_.gid_index,
                           own_.gid.text(),
                           peer.gid.text(),
                           mtu))
        .advise(rtr_hint(rc));
}

ibv_ah_attr Lane::path_to(const DeviceInfo& peer) const {
    ibv_ah_attr path{};
    path.port_num = own_.port;
    path.dlid = peer.lid;
    if (!infiniband_) {
        path.is_global = 1;
        path.grh.hop_limit = 64;
        path.grh.sgid_index = static_cast<uint8_t>(own_.gid_index);
        std::memcpy(path.grh.dgid.raw, peer.gid.bytes.data(), peer.gid.bytes.size());
    }
    return path;
}

Result<> Lane::make_address_handle(const DeviceInfo& peer) {
    ibv_ah_attr path = path_to(peer);
    ah_ = Owned<ibv_ah>(verbs_->create_ah(qp_->pd, &path), Release{verbs_});
    if (ah_)
        return {};
    base::Error error = base::sys_error(
        fmt::format("make an address handle from {} to {}", own_.gid.text(), peer.gid.text()));
    const int number = error.sys;
    return std::move(error).advise(rtr_hint(number));
}

Result<> Lane::to_rts(const DeviceInfo& peer) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTS;
    attr.sq_psn = psn_;
    attr.timeout = 14;  // 4.096 us * 2^14 = 67 ms
    attr.retry_cnt = 7;
    attr.rnr_retry = 7;  // without end: our deadline is the limit, not the device's
    attr.max_rd_atomic = static_cast<uint8_t>(std::min(own_.initiator_depth, peer.responder_depth));
    int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (point_.transport == Transport::Rc)
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    const int rc = verbs_->modify_qp(qp_.get(), &attr, mask);
    if (rc != 0)
        return base::sys_error(rc, fmt::format("queue pair {} to RTS", qp_->qp_num));
    return {};
}

void Lane::build_receives() {
    receive_pieces_.resize(receives_.size());
    for (uint32_t i = 0; i < receives_.size(); ++i) {
        const uint32_t slot = i % point_.slots;
        receives_[i] = {};
        receives_[i].wr_id = slot;
        // WRITE places its data by itself; its receive only takes the immediate or the credit.
        if (!is_send(point_.verb))
            continue;
        const auto lead = static_cast<uint32_t>(layout_.in.lead);
        receive_pieces_[i] = {
            memory_.address(layout_.in.slot(slot)) - lead, point_.size + lead, mr_->lkey};
        receives_[i].sg_list = &receive_pieces_[i];
        receives_[i].num_sge = 1;
    }
}

void Lane::build_sends(const Endpoint& remote) {
    if (!posts_data(point_, side_))
        return;
    const Area& local = fetches(point_.verb) ? layout_.in : layout_.out;
    opcode_ = opcode_of(point_);
    send_pieces_.resize(window_);
    sends_.resize(window_);
    for (uint32_t i = 0; i < window_; ++i) {
        const uint32_t slot = i % point_.slots;
        const bool last = (i + 1) % batch_ == 0;
        send_pieces_[i] = {memory_.address(local.slot(slot)), point_.size, mr_->lkey};
        ibv_send_wr& request = sends_[i];
        request = {};
        request.wr_id = batch_;
        request.sg_list = &send_pieces_[i];
        request.num_sge = 1;
        request.send_flags = last ? flags_ | IBV_SEND_SIGNALED : flags_;
        request.next = last ? nullptr : &sends_[i + 1];
        const uint64_t there = remote.address + slot * local.stride;
        if (is_atomic(point_.verb)) {
            request.wr.atomic.remote_addr = there;
            request.wr.atomic.rkey = remote.rkey;
        } else if (point_.transport == Transport::Ud) {
            request.wr.ud = {ah_.get(), remote.qpn, kQueueKey};
        } else {
            request.wr.rdma.remote_addr = there;
            request.wr.rdma.rkey = remote.rkey;
        }
    }
    plain_messages();
}

void Lane::number_messages(uint32_t first) {
    for (uint32_t i = 0; i < sends_.size(); ++i) {
        if (!is_reliable(point_.transport))
            sends_[i].opcode = with_immediate(opcode_);
        sends_[i].imm_data = htonl(first + i);
    }
}

void Lane::set_operands(uint32_t at, uint64_t compare_add, uint64_t swap) {
    sends_[at].wr.atomic.compare_add = compare_add;
    sends_[at].wr.atomic.swap = swap;
}

void Lane::plain_messages() {
    for (uint32_t i = 0; i < sends_.size(); ++i) {
        sends_[i].opcode = opcode_;
        if (is_atomic(point_.verb))
            set_operands(i, 1, 0);
    }
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
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(qp_.get(), &request, &bad);
}

}  // namespace perf
