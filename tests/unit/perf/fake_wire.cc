// SPDX-License-Identifier: Apache-2.0
// The data path of FakeVerbs: what libibverbs's inline functions call through the context's table.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <unistd.h>

#include "tests/unit/perf/fake_objects.h"

namespace test {

namespace {
using Guard = std::lock_guard<std::mutex>;
}  // namespace

int FakeVerbs::poll_cq(ibv_cq* cq, int count, ibv_wc* out) {
    auto& self = *static_cast<Context*>(cq->context)->owner;
    const Guard guard(self.lock_);
    auto& entries = static_cast<Queue*>(cq)->entries;
    int taken = 0;
    while (taken < count && !entries.empty()) {
        out[taken++] = entries.front().wc;
        if (Pair* pair = entries.front().pair; pair != nullptr)
            pair->freed = std::max(pair->freed, entries.front().index + 1);
        entries.pop_front();
    }
    return taken;
}

int FakeVerbs::req_notify_cq(ibv_cq* cq, int) {
    auto& self = *static_cast<Context*>(cq->context)->owner;
    const Guard guard(self.lock_);
    static_cast<Queue*>(cq)->armed = true;
    return 0;
}

int FakeVerbs::post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
    auto& self = *static_cast<Context*>(qp->context)->owner;
    const Guard guard(self.lock_);
    auto& pair = *static_cast<Pair*>(qp);
    for (; wr != nullptr; wr = wr->next) {
        *bad = wr;
        if (const int rc = self.accept(pair, *wr); rc != 0)
            return rc;
    }
    self.progress(pair);
    return 0;
}

int FakeVerbs::accept(Pair& pair, const ibv_send_wr& wr) {
    if (pair.state != IBV_QPS_RTS)
        return EINVAL;
    if (pair.posted - pair.freed >= pair.caps.max_send_wr) {
        complain("the send queue overflows");
        return ENOMEM;
    }
    Request request;
    request.wr = wr;
    request.wr.next = nullptr;
    if (wr.num_sge == 1)
        request.piece = *wr.sg_list;
    if ((wr.send_flags & IBV_SEND_INLINE) != 0) {
        if (request.piece.length > pair.caps.max_inline_data)
            return EINVAL;
        const auto* data = reinterpret_cast<const std::byte*>(request.piece.addr);
        request.inline_data.assign(data, data + request.piece.length);
    }
    request.index = pair.posted++;
    pair.sends.push_back(std::move(request));
    return 0;
}

void FakeVerbs::progress(Pair& pair) {
    while (!pair.sends.empty()) {
        const Request request = pair.sends.front();
        if (!execute(pair, request))
            return;
        pair.sends.pop_front();
    }
}

// False: must wait (the peer has no receive, or the wire is silent).
bool FakeVerbs::execute(Pair& pair, const Request& request) {
    if (messages_ >= silent_at_)
        return false;
    const auto it = pairs_.find(pair.peer);
    if (it == pairs_.end() || messages_ >= fail_at_) {
        ibv_wc wc{};
        wc.wr_id = request.wr.wr_id;
        wc.status = IBV_WC_RETRY_EXC_ERR;
        wc.vendor_err = 0x81;
        complete(*static_cast<Queue*>(pair.send_cq), wc, &pair, request.index);
        return true;
    }
    return deliver(pair, *it->second, request);
}

bool FakeVerbs::deliver(Pair& pair, Pair& peer, const Request& request) {
    const ibv_wr_opcode opcode = request.wr.opcode;
    const bool takes_receive = opcode == IBV_WR_SEND || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    if (takes_receive && peer.receives.empty())
        return false;  // RNR: tried again when a receive is posted
    ibv_wc mine{};
    mine.wr_id = request.wr.wr_id;
    if (opcode != IBV_WR_SEND)
        mine.status = copy_remote(pair, request);
    if (takes_receive && mine.status == IBV_WC_SUCCESS) {
        const auto [receive, piece] = peer.receives.front();
        peer.receives.pop_front();
        ibv_wc theirs{};
        theirs.wr_id = receive.wr_id;
        theirs.byte_len = request.piece.length;
        theirs.opcode = opcode == IBV_WR_SEND ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM;
        if (opcode == IBV_WR_SEND && request.piece.length > piece.length)
            theirs.status = mine.status = IBV_WC_REM_INV_REQ_ERR;
        else if (opcode == IBV_WR_SEND && request.piece.length != 0)
            copy(reinterpret_cast<std::byte*>(piece.addr),
                 request.inline_data.empty() ? reinterpret_cast<std::byte*>(request.piece.addr)
                                             : request.inline_data.data(),
                 request.piece.length);
        complete(*static_cast<Queue*>(peer.recv_cq), theirs, nullptr, 0);
    }
    if ((request.wr.send_flags & IBV_SEND_SIGNALED) != 0 || mine.status != IBV_WC_SUCCESS)
        complete(*static_cast<Queue*>(pair.send_cq), mine, &pair, request.index);
    return true;
}

ibv_wc_status FakeVerbs::copy_remote(Pair& pair, const Request& request) {
    const auto it = regions_.find(request.wr.wr.rdma.rkey);
    const bool read = request.wr.opcode == IBV_WR_RDMA_READ;
    const auto needed =
        static_cast<unsigned>(read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE);
    const uint64_t from = request.wr.wr.rdma.remote_addr;
    if (it == regions_.end() || (static_cast<unsigned>(it->second->access) & needed) == 0 ||
        (pairs_.at(pair.peer)->access & needed) == 0)
        return IBV_WC_REM_ACCESS_ERR;
    const auto start = reinterpret_cast<uint64_t>(it->second->addr);
    if (from < start || from + request.piece.length > start + it->second->length)
        return IBV_WC_REM_ACCESS_ERR;
    auto* remote = reinterpret_cast<std::byte*>(from);
    auto* local = request.inline_data.empty() ? reinterpret_cast<std::byte*>(request.piece.addr)
                                              : const_cast<std::byte*>(request.inline_data.data());
    copy(read ? local : remote, read ? remote : local, request.piece.length);
    return IBV_WC_SUCCESS;
}

void FakeVerbs::copy(std::byte* to, const std::byte* from, size_t size) {
    const Fault fault = messages_++ == fault_at_ ? fault_ : Fault::None;
    if (fault == Fault::Stale)
        return;
    const size_t shift = fault == Fault::Shift ? std::min<size_t>(16, size) : 0;
    std::memcpy(to + shift, from, size - shift);
    if (fault == Fault::BitFlip)
        to[size / 2] ^= std::byte{0x10};
    if (fault == Fault::Stray)
        to[size + 3] ^= std::byte{0x01};
}

void FakeVerbs::complete(Queue& queue, const ibv_wc& wc, Pair* pair, uint64_t index) {
    if (queue.entries.size() >= static_cast<size_t>(queue.cqe))
        complain("the completion queue overflows");
    queue.entries.push_back({wc, pair, index});
    if (!queue.armed)
        return;
    queue.armed = false;
    queue.fake_channel->events.push_back(&queue);
    const uint64_t one = 1;
    (void)!::write(queue.fake_channel->fd, &one, sizeof one);
}

int FakeVerbs::post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad) {
    auto& self = *static_cast<Context*>(qp->context)->owner;
    const Guard guard(self.lock_);
    auto& pair = *static_cast<Pair*>(qp);
    for (; wr != nullptr; wr = wr->next) {
        *bad = wr;
        if (pair.state == IBV_QPS_RESET)
            return EINVAL;
        if (pair.receives.size() >= pair.caps.max_recv_wr) {
            self.complain("the receive queue overflows");
            return ENOMEM;
        }
        pair.receives.emplace_back(*wr, wr->num_sge == 1 ? *wr->sg_list : ibv_sge{});
    }
    if (const auto peer = self.pairs_.find(pair.peer); peer != self.pairs_.end())
        self.progress(*peer->second);
    return 0;
}

}  // namespace test
