// SPDX-License-Identifier: Apache-2.0
// Link: one queue pair with a completion queue of its own, for suites whose messages are no lane's,
// and registered memory. What each work request says is the caller's, the wrong things too. A
// refused request leaves a queue pair in error: then a fresh one is needed.
#pragma once

#include <memory>
#include <optional>

#include "perf/engine/completer.h"
#include "perf/verbs/memory.h"
#include "perf/verbs/queue_pair.h"

namespace perf {

class Region {
  public:
    // `access` as of ibv_reg_mr(3).
    static Result<Region> create(const Device& device, size_t bytes, int access);

    [[nodiscard]] std::span<std::byte> bytes() const { return memory_.all(); }

    [[nodiscard]] ibv_sge piece(size_t offset, size_t length) const {
        return {memory_.address(offset), static_cast<uint32_t>(length), mr_->lkey};
    }

    [[nodiscard]] uint64_t address() const { return memory_.address(0); }

    [[nodiscard]] uint32_t rkey() const { return mr_->rkey; }

  private:
    Region(Memory memory, Owned<ibv_mr> mr) : memory_(std::move(memory)), mr_(std::move(mr)) {}

    Memory memory_;
    Owned<ibv_mr> mr_;
};

struct LinkOptions {
    ibv_qp_type type = IBV_QPT_RC;
    uint32_t sends = 32;  // that may be posted
    uint32_t receives = 32;
    uint32_t inline_bytes = 0;  // of data that rides in the work request, if the device can
    int access = 0;             // RC: what the other side may do, of the remote ones
    uint32_t queue_key = 0;     // UD
};

class Link {
  public:
    // In INIT.
    static Result<Link> create(const Device& device, const LinkOptions& options);

    // Queue pair and first packet.
    [[nodiscard]] Endpoint endpoint() const { return {.qpn = qp_->qp_num, .psn = psn_}; }

    // To RTR and RTS. `mtu` in bytes; 0: the lesser one of both ports.
    Result<> connect(const DeviceInfo& peer, const Endpoint& remote, uint32_t mtu = 0);

    [[nodiscard]] CompletionQueue& completions() { return *queue_; }

    [[nodiscard]] const End& end() const { return end_; }

    // ---- hot: errno values as libibverbs gives them, 0 if posted --------------------------------
    int receive(ibv_sge to, uint64_t id = 0) noexcept;

    // The request with `piece` as its data.
    int send(ibv_send_wr request, ibv_sge piece) noexcept;

    // ---------------------------------------------------------------------------------------------
    // The next completion; nothing if none comes for as long as patience lasts.
    Result<std::optional<ibv_wc>> next(const Waiting& waiting);

    // send() of a signaled request; and its completion, whatever its status.
    Result<ibv_wc> carry_out(ibv_send_wr request, ibv_sge piece, const Waiting& waiting);

  private:
    explicit Link(const Device& device) : end_(end_of(device)) {}

    End end_;
    uint32_t psn_ = random_psn();
    uint32_t inline_bytes_ = 0;
    // The queue pair uses the queue.
    std::unique_ptr<CompletionQueue> queue_;
    Owned<ibv_qp> qp_;
};

}  // namespace perf
