// SPDX-License-Identifier: Apache-2.0
#include "perf/suites/isolate/probe.h"

#include <algorithm>

namespace perf {

Result<Probe> Probe::create(const Device& device, ibv_qp_type type, uint32_t queue_key) {
    Probe probe;
    probe.end_ = end_of(device);
    probe.psn_ = random_psn();
    probe.queue_ = std::make_unique<CompletionQueue>(
        TRY(create_cq(*device.verbs, device.context.get(), 2 * kProbeDepth)));
    ibv_qp_cap caps{};
    caps.max_send_wr = caps.max_recv_wr = kProbeDepth;
    caps.max_send_sge = caps.max_recv_sge = 1;
    probe.qp_ = TRY(create_qp(*device.verbs, device.pd.get(), probe.queue_->cq.get(), type, caps));
    TRY(to_init(
        probe.end_, probe.qp_.get(), IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE, queue_key));
    return probe;
}

Endpoint Probe::endpoint() const {
    return {.qpn = qp_->qp_num, .psn = psn_};
}

Result<> Probe::connect(const DeviceInfo& peer, const Endpoint& remote) {
    const uint32_t mtu = std::min(end_.own.active_mtu, peer.active_mtu);
    TRY(to_rtr(end_, qp_.get(), peer, remote, mtu));
    return to_rts(end_, qp_.get(), peer, psn_);
}

Result<ibv_wc> Probe::carry_out(ibv_send_wr request, ibv_sge piece, const Waiting& waiting) {
    request.sg_list = &piece;
    request.num_sge = 1;
    request.send_flags |= IBV_SEND_SIGNALED;
    ibv_send_wr* bad = nullptr;
    if (const int rc = ibv_post_send(qp_.get(), &request, &bad); rc != 0)
        return sys_error(rc, "post a request");
    const auto completion = TRY(next(waiting));
    if (!completion)
        return wake_error(Wake::TimedOut, waiting);
    return *completion;
}

Result<> Probe::receive_into(ibv_sge piece) {
    ibv_recv_wr request{};
    request.sg_list = &piece;
    request.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    if (const int rc = ibv_post_recv(qp_.get(), &request, &bad); rc != 0)
        return sys_error(rc, "post a receive");
    return {};
}

Result<std::optional<ibv_wc>> Probe::next(const Waiting& waiting) {
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

}  // namespace perf
