// SPDX-License-Identifier: Apache-2.0
#include "perf/suites/kv/link.h"

#include "perf/engine/lane.h"

namespace perf::kv {

namespace {
constexpr uint32_t kSends = 4 * kSignalEvery;
// Of the answers; a request always fits.
constexpr size_t kInlineMessage = 220;
}  // namespace

Result<Region> Region::create(const Device& device, size_t bytes, int access) {
    Memory memory = TRY(Memory::map({.in = {}, .out = {}, .bytes = bytes}));
    auto mr = TRY(register_memory(*device.verbs, device.pd.get(), memory.all(), access));
    return Region(std::move(memory), std::move(mr));
}

Result<Link> Link::create(const Device& device, size_t message, int access) {
    Link link(device);
    link.queue_ = std::make_unique<CompletionQueue>(
        TRY(create_cq(*device.verbs, device.context.get(), kSends + kReceives)));
    ibv_qp_cap caps{};
    caps.max_send_wr = kSends;
    caps.max_recv_wr = kReceives;
    caps.max_send_sge = 1;
    caps.max_recv_sge = 1;
    caps.max_inline_data = message <= kInlineMessage ? static_cast<uint32_t>(message) : 0;
    link.qp_ =
        TRY(create_qp(*device.verbs, device.pd.get(), link.queue_->cq.get(), IBV_QPT_RC, caps));
    link.inline_bytes_ = caps.max_inline_data;
    TRY(to_init(link.end_, link.qp_.get(), access, 0));
    return link;
}

Result<> Link::connect(const DeviceInfo& peer, const Endpoint& remote, uint32_t mtu) {
    TRY(to_rtr(end_, qp_.get(), peer, remote, mtu));
    return to_rts(end_, qp_.get(), peer, psn_);
}

int Link::post_receive(ibv_sge to, uint64_t id) noexcept {
    ibv_recv_wr request{};
    request.wr_id = id;
    request.sg_list = &to;
    request.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    return ibv_post_recv(qp_.get(), &request, &bad);
}

int Link::post_send(ibv_sge from) noexcept {
    ibv_send_wr request{};
    request.opcode = IBV_WR_SEND;
    request.sg_list = &from;
    request.num_sge = 1;
    if (++sent_ % kSignalEvery == 0)
        request.send_flags |= IBV_SEND_SIGNALED;
    if (from.length <= inline_bytes_)
        request.send_flags |= IBV_SEND_INLINE;
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(qp_.get(), &request, &bad);
}

int Link::post_read(ibv_sge to, uint64_t address, uint32_t rkey, uint64_t id) noexcept {
    ibv_send_wr request{};
    request.wr_id = id;
    request.opcode = IBV_WR_RDMA_READ;
    request.sg_list = &to;
    request.num_sge = 1;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.rdma.remote_addr = address;
    request.wr.rdma.rkey = rkey;
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(qp_.get(), &request, &bad);
}

}  // namespace perf::kv
