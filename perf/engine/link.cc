// SPDX-License-Identifier: Apache-2.0
#include "perf/engine/link.h"

#include <algorithm>

namespace perf {

Result<Region> Region::create(const Device& device, size_t bytes, int access) {
    Memory memory = TRY(Memory::map({.in = {}, .out = {}, .bytes = bytes}));
    auto mr = TRY(register_memory(*device.verbs, device.pd.get(), memory.all(), access));
    return Region(std::move(memory), std::move(mr));
}

Result<Link> Link::create(const Device& device, const LinkOptions& options) {
    Link link(device);
    link.queue_ = std::make_unique<CompletionQueue>(TRY(create_cq(
        *device.verbs, device.context.get(), static_cast<int>(options.sends + options.receives))));
    ibv_qp_cap caps{};
    caps.max_send_wr = options.sends;
    caps.max_recv_wr = options.receives;
    caps.max_send_sge = caps.max_recv_sge = 1;
    caps.max_inline_data = options.inline_bytes;
    link.qp_ =
        TRY(create_qp(*device.verbs, device.pd.get(), link.queue_->cq.get(), options.type, caps));
    link.inline_bytes_ = options.inline_bytes != 0 ? caps.max_inline_data : 0;
    TRY(to_init(link.end_, link.qp_.get(), options.access, options.queue_key));
    return link;
}

Result<> Link::connect(const DeviceInfo& peer, const Endpoint& remote, uint32_t mtu) {
    if (mtu == 0)
        mtu = std::min(end_.own.active_mtu, peer.active_mtu);
    TRY(to_rtr(end_, qp_.get(), peer, remote, mtu));
    return to_rts(end_, qp_.get(), peer, psn_);
}

int Link::receive(ibv_sge to, uint64_t id) noexcept {
    ibv_recv_wr request{};
    request.wr_id = id;
    request.sg_list = &to;
    request.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    return ibv_post_recv(qp_.get(), &request, &bad);
}

int Link::send(ibv_send_wr request, ibv_sge piece) noexcept {
    request.sg_list = &piece;
    request.num_sge = 1;
    if (request.opcode != IBV_WR_RDMA_READ && piece.length <= inline_bytes_)
        request.send_flags |= IBV_SEND_INLINE;
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(qp_.get(), &request, &bad);
}

Result<std::optional<ibv_wc>> Link::next(const Waiting& waiting) {
    ibv_wc completion{};
    int count = 0;
    Completer<PollMode::Event, CompletionQueue> completer(*queue_, waiting);
    const Wake wake = completer.wait({&completion, 1}, count);
    if (wake == Wake::TimedOut)
        return std::optional<ibv_wc>();
    if (wake != Wake::Completions)
        return wake_error(wake, waiting);
    return std::optional(completion);
}

Result<ibv_wc> Link::carry_out(ibv_send_wr request, ibv_sge piece, const Waiting& waiting) {
    request.send_flags |= IBV_SEND_SIGNALED;
    TRY(outcome_of(send(request, piece), "post a request"));
    const auto completion = TRY(next(waiting));
    if (!completion)
        return wake_error(Wake::TimedOut, waiting);
    return *completion;
}

}  // namespace perf
