// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "perf/engine/ring.h"

namespace perf {

namespace {
// The requests are linked as far as they go.
int post_list(const Hot& hot, SendRequest* first, uint32_t) noexcept {
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(hot.qp, first, &bad);
}

template <ibv_wr_opcode kOpcode, bool kAddress>
void begin_request(ibv_qp_ex* qp, const ibv_send_wr& request) noexcept {
    // What an RDMA operation is of. With an address of its own a request has it elsewhere (lane.cc).
    [[maybe_unused]] const uint32_t rkey = kAddress ? request.bind_mw.rkey : request.wr.rdma.rkey;
    [[maybe_unused]] const uint64_t there =
        kAddress ? request.bind_mw.bind_info.addr : request.wr.rdma.remote_addr;
    [[maybe_unused]] const auto& atomic = request.wr.atomic;
    if constexpr (kOpcode == IBV_WR_SEND)
        ibv_wr_send(qp);
    else if constexpr (kOpcode == IBV_WR_SEND_WITH_IMM)
        ibv_wr_send_imm(qp, request.imm_data);
    else if constexpr (kOpcode == IBV_WR_RDMA_WRITE)
        ibv_wr_rdma_write(qp, rkey, there);
    else if constexpr (kOpcode == IBV_WR_RDMA_WRITE_WITH_IMM)
        ibv_wr_rdma_write_imm(qp, rkey, there, request.imm_data);
    else if constexpr (kOpcode == IBV_WR_RDMA_READ)
        ibv_wr_rdma_read(qp, rkey, there);
    else if constexpr (kOpcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
        ibv_wr_atomic_fetch_add(qp, atomic.rkey, atomic.remote_addr, atomic.compare_add);
    else
        ibv_wr_atomic_cmp_swp(qp, atomic.rkey, atomic.remote_addr, atomic.compare_add, atomic.swap);
}

// Inline in both places: a call for each request costs more than its id and flags do.
template <ibv_wr_opcode kOpcode, bool kInline, bool kAddress>
[[gnu::always_inline]] inline void add_request(ibv_qp_ex* qp, const ibv_send_wr& request) noexcept {
    begin_request<kOpcode, kAddress>(qp, request);
    if constexpr (kAddress)
        ibv_wr_set_ud_addr(
            qp, request.wr.ud.ah, request.wr.ud.remote_qpn, request.wr.ud.remote_qkey);
    const ibv_sge& piece = *request.sg_list;
    if constexpr (kInline)
        ibv_wr_set_inline_data(qp, reinterpret_cast<void*>(piece.addr), piece.length);
    else
        ibv_wr_set_sge(qp, piece.lkey, piece.addr, piece.length);
}

// With IBV_SEND_INLINE: librxe (rdma-core 65) marks no inline data as such by itself.
void set_id_and_flags(ibv_qp_ex* qp, const ibv_send_wr& request) noexcept {
    qp->wr_id = request.wr_id;
    qp->wr_flags = request.send_flags;
}

// Requests between two completions have one id and the same flags, and the queue pair keeps both:
// they are set for the first of them, and for the one with the completion. A post has whole runs of
// these, or is part of one: the batch is a multiple or a part of `signal` (check_limits()).
template <ibv_wr_opcode kOpcode, bool kInline, bool kAddress>
int post_calls(const Hot& hot, SendRequest* first, uint32_t count) noexcept {
    ibv_qp_ex* qp = hot.extended;
    ibv_wr_start(qp);
    for (uint32_t left = count; left != 0;) {
        const uint32_t run = std::min(left, hot.signal);
        const SendRequest* last = first + run - 1;
        if (first != last)  // one branch with the loop: it asks the same at first
            set_id_and_flags(qp, *first);
        for (; first != last; ++first)
            add_request<kOpcode, kInline, kAddress>(qp, *first);
        set_id_and_flags(qp, *last);
        add_request<kOpcode, kInline, kAddress>(qp, *last);
        ++first;
        left -= run;
    }
    return ibv_wr_complete(qp);
}

// The posters of one operation, by whether requests have an address of their own and inline data.
struct Calls {
    ibv_wr_opcode opcode;
    uint64_t flag;
    Post posters[2][2];
};

template <ibv_wr_opcode kOpcode>
constexpr Calls calls_of(uint64_t flag) {
    return {kOpcode,
            flag,
            {{post_calls<kOpcode, false, false>, post_calls<kOpcode, true, false>},
             {post_calls<kOpcode, false, true>, post_calls<kOpcode, true, true>}}};
}

constexpr Calls kCalls[] = {
    calls_of<IBV_WR_SEND>(IBV_QP_EX_WITH_SEND),
    calls_of<IBV_WR_SEND_WITH_IMM>(IBV_QP_EX_WITH_SEND_WITH_IMM),
    calls_of<IBV_WR_RDMA_WRITE>(IBV_QP_EX_WITH_RDMA_WRITE),
    calls_of<IBV_WR_RDMA_WRITE_WITH_IMM>(IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM),
    calls_of<IBV_WR_RDMA_READ>(IBV_QP_EX_WITH_RDMA_READ),
    calls_of<IBV_WR_ATOMIC_FETCH_AND_ADD>(IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD),
    calls_of<IBV_WR_ATOMIC_CMP_AND_SWP>(IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)};

// Every operation of opcode_of() (lane.cc) is one of them.
const Calls& calls_for(ibv_wr_opcode opcode) {
    return *std::ranges::find(kCalls, opcode, &Calls::opcode);
}
}  // namespace

uint64_t send_calls_of(ibv_wr_opcode opcode) {
    return calls_for(opcode).flag;
}

Post poster_of(ibv_wr_opcode opcode, bool has_inline, bool has_address, bool extended) {
    return extended ? calls_for(opcode).posters[has_address ? 1 : 0][has_inline ? 1 : 0]
                    : post_list;
}

}  // namespace perf
