// SPDX-License-Identifier: Apache-2.0
// The data path of FakeVerbs: what libibverbs's inline functions call through the context's table.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include <unistd.h>

#include "tests/unit/perf/fake_objects.h"

namespace test {

namespace {
using Guard = std::lock_guard<std::mutex>;
constexpr unsigned kPatience = 2;  // empty polls that return at once
}  // namespace

FakeVerbs::Queue* FakeVerbs::queue_of(ibv_cq* cq) {
    return static_cast<Queue*>(reinterpret_cast<ibv_cq_ex*>(cq));
}

int FakeVerbs::poll_cq(ibv_cq* cq, int count, ibv_wc* out) {
    auto& self = *static_cast<Context*>(cq->context)->owner;
    std::unique_lock lock(self.lock_);
    Queue& queue = *queue_of(cq);
    if (queue.is_open)
        self.complain("a queue is polled between ibv_start_poll and ibv_end_poll");
    return take(queue, lock, {out, static_cast<size_t>(count)});
}

int FakeVerbs::take(Queue& queue, std::unique_lock<std::mutex>& lock, std::span<ibv_wc> out) {
    const auto& context = *static_cast<Context*>(queue.context);
    if (context.removed)
        return 0;
    auto& entries = queue.entries;
    // A thread that spins keeps the processor from the one that it waits for.
    queue.empty_polls = entries.empty() ? queue.empty_polls + 1 : 0;
    if (queue.empty_polls > kPatience && !queue.was_armed)
        queue.filled.wait_for(lock, context.owner->nap_, [&] { return !entries.empty(); });
    size_t taken = 0;
    while (taken < out.size() && !entries.empty()) {
        out[taken++] = entries.front().wc;
        if (Pair* pair = entries.front().pair; pair != nullptr)
            pair->freed = std::max(pair->freed, entries.front().index + 1);
        entries.pop_front();
    }
    return static_cast<int>(taken);
}

// The first of a batch, or the next.
int FakeVerbs::step(ibv_cq_ex* cq, bool starts) {
    auto& self = *static_cast<Context*>(cq->context)->owner;
    std::unique_lock lock(self.lock_);
    auto& queue = *static_cast<Queue*>(cq);
    if (queue.is_open == starts)
        self.complain("ibv_start_poll, ibv_next_poll and ibv_end_poll are out of order");
    if (take(queue, lock, {&queue.current, 1}) == 0)
        return ENOENT;
    queue.is_open = true;
    queue.wr_id = queue.current.wr_id;
    queue.status = queue.current.status;
    ++self.polled_lazily_;
    return 0;
}

void FakeVerbs::end_poll(ibv_cq_ex* cq) {
    auto& self = *static_cast<Context*>(cq->context)->owner;
    const Guard guard(self.lock_);
    auto& queue = *static_cast<Queue*>(cq);
    if (!queue.is_open)
        self.complain("ibv_end_poll without ibv_start_poll");
    queue.is_open = false;
}

int FakeVerbs::req_notify_cq(ibv_cq* cq, int) {
    auto& self = *static_cast<Context*>(cq->context)->owner;
    const Guard guard(self.lock_);
    Queue& queue = *queue_of(cq);
    queue.armed = queue.was_armed = true;
    return static_cast<Context*>(cq->context)->removed ? EIO : 0;
}

int FakeVerbs::post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
    auto& self = *static_cast<Context*>(qp->context)->owner;
    for (const ibv_send_wr* one = wr; one != nullptr; one = one->next)
        std::this_thread::sleep_for(self.slowness_);
    const Guard guard(self.lock_);
    auto& pair = *static_cast<Pair*>(qp);
    for (; wr != nullptr; wr = wr->next) {
        *bad = wr;
        if (static_cast<Context*>(qp->context)->removed)
            return EIO;
        Request request;
        request.wr = *wr;
        request.wr.next = nullptr;
        if (wr->num_sge == 1)
            request.piece = *wr->sg_list;
        if (pair.is_datagram()) {
            request.to = wr->wr.ud.remote_qpn;
            request.queue_key = wr->wr.ud.remote_qkey;
        }
        if ((wr->send_flags & IBV_SEND_INLINE) != 0)
            request.copy_data();
        if (const int rc = self.accept(pair, std::move(request)); rc != 0)
            return rc;
        ++self.posted_by_lists_;
    }
    if (pair.extended && pair.extended->is_open)
        self.complain("a list of requests is posted between ibv_wr_start and ibv_wr_complete");
    self.progress(pair);
    return 0;
}

int FakeVerbs::accept(Pair& pair, Request request) {
    if (pair.state != IBV_QPS_RTS || request.inline_data.size() > pair.caps.max_inline_data)
        return EINVAL;
    const ibv_wr_opcode opcode = request.wr.opcode;
    const bool send = opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM;
    if (static_cast<Context*>(pair.context)->device->is_efa &&
        ((request.wr.send_flags & IBV_SEND_SIGNALED) == 0 ||
         (!send && !request.inline_data.empty())))
        return EINVAL;
    if (pair.posted - pair.freed >= pair.caps.max_send_wr) {
        complain("the send queue overflows");
        return ENOMEM;
    }
    unsignaled_ += (request.wr.send_flags & IBV_SEND_SIGNALED) == 0 ? 1 : 0;
    request.index = pair.posted++;
    pair.sends.push_back(std::move(request));
    return 0;
}

// ---- ibv_wr_*(3): nothing is posted before complete ---------------------------------------------
FakeVerbs::Request& FakeVerbs::build(ibv_qp_ex* qp, ibv_wr_opcode opcode, uint64_t operation) {
    auto& calls = *static_cast<Extended*>(qp);
    if (!calls.is_open || (calls.operations & operation) == 0)
        calls.error = EINVAL;
    Request& request = calls.built.emplace_back().request;
    request.wr.wr_id = qp->wr_id;
    request.wr.send_flags = qp->wr_flags;
    request.wr.opcode = opcode;
    return request;
}

void FakeVerbs::set_data(ibv_qp_ex* qp, uint64_t address, size_t length, bool is_inline) {
    auto& building = static_cast<Extended*>(qp)->built.back();
    ++building.data;
    building.request.piece = {address, static_cast<uint32_t>(length), 0};
    if (is_inline)
        building.request.copy_data();
}

int FakeVerbs::complete_calls(ibv_qp_ex* qp) {
    auto& calls = *static_cast<Extended*>(qp);
    Pair& pair = *calls.pair;
    auto& context = *static_cast<Context*>(pair.context);
    auto& self = *context.owner;
    const auto built = std::exchange(calls.built, {});
    for (size_t i = 0; i < built.size(); ++i)
        std::this_thread::sleep_for(self.slowness_);
    const Guard guard(self.lock_);
    calls.is_open = false;
    if (std::exchange(calls.error, 0) != 0) {
        self.complain("an operation is posted that the queue pair was not created for");
        return EINVAL;
    }
    if (context.removed)
        return EIO;
    const unsigned addresses = pair.is_datagram() ? 1 : 0;
    for (const auto& building : built) {
        if (building.data != 1 || building.addresses != addresses)
            self.complain("a request has no data or no address, or two of them");
        const bool is_inline = !building.request.inline_data.empty();
        if (is_inline != ((building.request.wr.send_flags & IBV_SEND_INLINE) != 0))
            self.complain("inline data lacks its flag, which rxe goes by");
        if (const int rc = self.accept(pair, building.request); rc != 0)
            return rc;
        ++self.posted_by_calls_;
    }
    self.progress(pair);
    return 0;
}

void FakeVerbs::equip(Extended& calls) {
    calls.wr_start = [](ibv_qp_ex* qp) {
        auto& own = *static_cast<Extended*>(qp);
        own.error = own.is_open ? EINVAL : 0;
        own.is_open = true;
    };
    calls.wr_complete = complete_calls;
    calls.wr_send = [](ibv_qp_ex* qp) { build(qp, IBV_WR_SEND, IBV_QP_EX_WITH_SEND); };
    calls.wr_send_imm = [](ibv_qp_ex* qp, __be32 immediate) {
        build(qp, IBV_WR_SEND_WITH_IMM, IBV_QP_EX_WITH_SEND_WITH_IMM).wr.imm_data = immediate;
    };
    calls.wr_rdma_write = [](ibv_qp_ex* qp, uint32_t key, uint64_t to) {
        build(qp, IBV_WR_RDMA_WRITE, IBV_QP_EX_WITH_RDMA_WRITE).wr.wr.rdma = {to, key};
    };
    calls.wr_rdma_write_imm = [](ibv_qp_ex* qp, uint32_t key, uint64_t to, __be32 immediate) {
        ibv_send_wr& wr =
            build(qp, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM).wr;
        wr.wr.rdma = {to, key};
        wr.imm_data = immediate;
    };
    calls.wr_rdma_read = [](ibv_qp_ex* qp, uint32_t key, uint64_t from) {
        build(qp, IBV_WR_RDMA_READ, IBV_QP_EX_WITH_RDMA_READ).wr.wr.rdma = {from, key};
    };
    calls.wr_atomic_fetch_add = [](ibv_qp_ex* qp, uint32_t key, uint64_t at, uint64_t addend) {
        build(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD).wr.wr.atomic = {
            at, addend, 0, key};
    };
    calls.wr_atomic_cmp_swp =
        [](ibv_qp_ex* qp, uint32_t key, uint64_t at, uint64_t compare, uint64_t swap) {
            build(qp, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP).wr.wr.atomic = {
                at, compare, swap, key};
        };
    calls.wr_set_ud_addr = [](ibv_qp_ex* qp, ibv_ah* ah, uint32_t number, uint32_t key) {
        auto& building = static_cast<Extended*>(qp)->built.back();
        ++building.addresses;
        building.request.to = ah != nullptr ? number : 0;
        building.request.queue_key = key;
    };
    calls.wr_set_sge = [](ibv_qp_ex* qp, uint32_t, uint64_t address, uint32_t length) {
        set_data(qp, address, length, false);
    };
    calls.wr_set_inline_data = [](ibv_qp_ex* qp, void* data, size_t length) {
        set_data(qp, reinterpret_cast<uint64_t>(data), length, true);
    };
}

void FakeVerbs::progress(Pair& pair) {
    while (!pair.sends.empty()) {
        // Of SRD the first one comes last.
        const ptrdiff_t at = pair.kind == IBV_QPT_DRIVER && pair.sends.size() > 1 ? 1 : 0;
        const Request request = pair.sends[static_cast<size_t>(at)];
        if (!execute(pair, request))
            return;
        pair.sends.erase(pair.sends.begin() + at);
    }
}

// A message of an unreliable transport that nobody hears of, again or for now.
bool FakeVerbs::lose(const Pair& pair, uint32_t to, const Request& request) {
    const uint64_t behind = messages_ - fault_at_;
    const bool is_hit =
        messages_ >= fault_at_ && behind % fault_step_ == 0 && behind / fault_step_ < fault_count_;
    if (pair.is_reliable() || request.piece.length == 0 || !is_hit)
        return false;
    if (fault_ == Fault::Late) {
        fault_ = Fault::None;
        late_ = std::make_shared<Request>(request);
        late_for_ = to;
        if (late_->inline_data.empty())
            late_->copy_data(at(request.piece.addr));
        return true;
    }
    if (fault_ != Fault::Lost)
        return false;
    ++messages_;
    return true;
}

void FakeVerbs::deliver_late() {
    const auto late = std::exchange(late_, nullptr);
    const auto it = pairs_.find(late_for_);
    ibv_wc ignored{};
    if (late && it != pairs_.end())
        (void)deliver(*it->second, *late, ignored, false);
}

// False: must wait (the peer has no receive, or the wire is silent).
bool FakeVerbs::execute(Pair& pair, const Request& request) {
    if (messages_ >= silent_at_)
        return false;
    deliver_late();
    const bool ud = pair.is_datagram();
    const uint32_t to = ud ? request.to : pair.peer;
    const auto it = pairs_.find(to);
    const bool reliable = pair.is_reliable();
    ibv_wc mine{};
    mine.wr_id = request.wr.wr_id;
    constexpr unsigned kPartition = 0x7fff;
    const bool parted = it != pairs_.end() && ((it->second->pkey ^ pair.pkey) & kPartition) != 0;
    if (messages_ >= fail_at_ || (reliable && (it == pairs_.end() || parted))) {
        mine.status = IBV_WC_RETRY_EXC_ERR;
        mine.vendor_err = 0x81;
    } else if (it != pairs_.end() && !lose(pair, to, request) &&
               (!ud || leaks(Leak::QueueKey) || knows_queue_key(*it->second, request))) {
        const bool twice = fault_ == Fault::Twice && messages_ == fault_at_;
        if (!deliver(*it->second, request, mine, reliable))
            return false;
        if (twice)
            (void)deliver(*it->second, request, mine, reliable);
    }
    if ((request.wr.send_flags & IBV_SEND_SIGNALED) != 0 || mine.status != IBV_WC_SUCCESS)
        complete(*queue_of(pair.send_cq), mine, &pair, request.index);
    return true;
}

bool FakeVerbs::deliver(Pair& peer, const Request& request, ibv_wc& mine, bool reliable) {
    const ibv_wr_opcode opcode = request.wr.opcode;
    const bool send = opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM;
    const bool takes_receive = send || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    if (takes_receive && peer.receives.empty()) {
        if (!static_cast<Context*>(peer.context)->device->iwarp)
            return !reliable;  // RNR: tried again when a receive is posted, or dropped
        complain("a SEND finds no receive: that ends an iWARP connection");
        mine.status = IBV_WC_WR_FLUSH_ERR;
        return true;
    }
    if (!send)
        mine.status = copy_remote(peer, request);
    if (takes_receive && mine.status == IBV_WC_SUCCESS)
        arrive(peer, request, mine);
    return true;
}

void FakeVerbs::arrive(Pair& peer, const Request& request, ibv_wc& mine) {
    const ibv_wr_opcode opcode = request.wr.opcode;
    const bool send = opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM;
    const uint32_t lead = peer.kind == IBV_QPT_UD ? 40 : 0;
    const auto [receive, piece] = peer.receives.front();
    peer.receives.pop_front();
    ibv_wc theirs{};
    theirs.wr_id = receive.wr_id;
    theirs.byte_len = request.piece.length + lead;
    theirs.opcode = send ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM;
    if (opcode != IBV_WR_SEND) {
        theirs.imm_data = request.wr.imm_data;
        theirs.wc_flags = IBV_WC_WITH_IMM;
    }
    auto* to = at(piece.addr);
    if (send && request.piece.length + lead > piece.length) {
        theirs.status = mine.status = IBV_WC_REM_INV_REQ_ERR;
    } else if (send && request.piece.length != 0) {
        std::memset(to, 0x60, lead);
        copy(to + lead,
             request.inline_data.empty() ? at(request.piece.addr) : request.inline_data.data(),
             request.piece.length);
    }
    complete(*queue_of(peer.recv_cq), theirs, nullptr, 0);
}

ibv_wc_status FakeVerbs::copy_remote(Pair& peer, const Request& request) {
    const ibv_wr_opcode opcode = request.wr.opcode;
    const bool read = opcode == IBV_WR_RDMA_READ;
    const bool is_atomic =
        opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
    const auto& rdma = request.wr.wr.rdma;
    const auto& words = request.wr.wr.atomic;
    const auto needed = static_cast<unsigned>(is_atomic ? IBV_ACCESS_REMOTE_ATOMIC
                                              : read    ? IBV_ACCESS_REMOTE_READ
                                                        : IBV_ACCESS_REMOTE_WRITE);
    const uint64_t from = is_atomic ? words.remote_addr : rdma.remote_addr;
    const Region* region = find_region(peer, is_atomic ? words.rkey : rdma.rkey);
    if (region == nullptr)
        return access_refusal_;
    const auto start = reinterpret_cast<uint64_t>(region->addr);
    if (!leaks(Leak::Range) &&
        (from < start || from + request.piece.length > start + region->length))
        return access_refusal_;
    if (!admits(peer, *region, needed)) {
        if (leaks(Leak::SilentWrite))
            move_data(request, from);
        return access_refusal_;
    }
    if (is_atomic && (from % 8 != 0 || request.piece.length != 8))
        return IBV_WC_REM_INV_REQ_ERR;
    move_data(request, from);
    return IBV_WC_SUCCESS;
}

const FakeVerbs::Region* FakeVerbs::find_region(const Pair& peer, uint32_t rkey) {
    if (const auto it = regions_.find(rkey); it != regions_.end())
        return it->second;
    if (const auto it = stale_.find(rkey); it != stale_.end())
        return it->second.get();
    if (!leaks(Leak::WrongKey))
        return nullptr;
    const auto any = std::ranges::find_if(regions_, [&](const auto& entry) {
        return entry.second->pd == peer.reaches &&
               (entry.second->access & IBV_ACCESS_REMOTE_WRITE) != 0;
    });
    return any == regions_.end() ? nullptr : any->second;
}

bool FakeVerbs::admits(const Pair& peer, const Region& region, unsigned needed) const {
    const bool domain = leaks(Leak::Domain) || region.pd == peer.reaches;
    const bool direction =
        leaks(Leak::Direction) || (static_cast<unsigned>(region.access) & needed) != 0;
    return domain && direction && (peer.is_datagram() || (peer.access & needed) != 0);
}

bool FakeVerbs::knows_queue_key(const Pair& peer, const Request& request) {
    return request.queue_key == peer.queue_key;
}

// The device's own way to an address of work requests.
std::byte* FakeVerbs::at(uint64_t address) {
    for (const Region* region : dma_bufs_) {
        const auto start = reinterpret_cast<uint64_t>(region->addr);
        if (address >= start && address - start < region->length)
            return region->inside + (address - start);
    }
    return reinterpret_cast<std::byte*>(address);
}

void FakeVerbs::move_data(const Request& request, uint64_t from) {
    const ibv_wr_opcode opcode = request.wr.opcode;
    const bool read = opcode == IBV_WR_RDMA_READ;
    auto* remote = at(from);
    auto* local = request.inline_data.empty() ? at(request.piece.addr)
                                              : const_cast<std::byte*>(request.inline_data.data());
    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP)
        atomic(request, remote, local);
    else
        copy(read ? local : remote, read ? remote : local, request.piece.length);
}

void FakeVerbs::atomic(const Request& request, std::byte* remote, std::byte* local) {
    uint64_t before = 0;
    std::memcpy(&before, remote, sizeof before);
    const auto& words = request.wr.wr.atomic;
    uint64_t after = before + words.compare_add;
    if (request.wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP)
        after = before == words.compare_add ? words.swap : before;
    std::memcpy(remote, &after, sizeof after);
    copy(local, reinterpret_cast<const std::byte*>(&before), sizeof before);
}

void FakeVerbs::copy(std::byte* to, const std::byte* from, size_t size) {
    const bool is_hit = messages_ >= fault_at_ && messages_ - fault_at_ < fault_count_;
    const Fault fault = is_hit ? fault_ : Fault::None;
    ++messages_;
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
    queue.filled.notify_one();
    if (!queue.armed)
        return;
    queue.armed = false;
    queue.fake_channel->events.push_back(ibv_cq_ex_to_cq(&queue));
    const uint64_t one = 1;
    (void)!::write(queue.fake_channel->fd, &one, sizeof one);
}

int FakeVerbs::post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad) {
    auto& self = *static_cast<Context*>(qp->context)->owner;
    std::this_thread::sleep_for(self.receive_slowness_);
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
    for (const auto& [number, other] : self.pairs_) {
        if (pair.kind == IBV_QPT_DRIVER && other->kind == IBV_QPT_DRIVER)
            self.progress(*other);
    }
    return 0;
}

}  // namespace test
