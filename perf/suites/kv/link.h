// SPDX-License-Identifier: Apache-2.0
// What both sides of the key-value exercise have: one RC queue pair with a completion queue of its
// own, and registered memory.
#pragma once

#include "perf/verbs/memory.h"
#include "perf/verbs/queue_pair.h"

namespace perf::kv {

// Memory that the device may use.
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

class Link {
  public:
    // `message`: bytes of what this side sends; small ones ride in the work request. `access`: what
    // the other side may do, of the remote ones.
    static Result<Link> create(const Device& device, size_t message, int access);

    // Queue pair and first packet.
    [[nodiscard]] Endpoint endpoint() const { return {.qpn = qp_->qp_num, .psn = psn_}; }

    // To RTR and RTS. `mtu` in bytes.
    Result<> connect(const DeviceInfo& peer, const Endpoint& remote, uint32_t mtu);

    [[nodiscard]] CompletionQueue& completions() { return *queue_; }

    // ---- hot: errno values as libibverbs gives them, 0 if posted --------------------------------
    int post_receive(ibv_sge to, uint64_t id) noexcept;

    // Its completions, now and then, have id 0.
    int post_send(ibv_sge from) noexcept;

    int post_read(ibv_sge to, uint64_t address, uint32_t rkey, uint64_t id) noexcept;

    static constexpr uint32_t kReceives = 4;  // that may be posted

  private:
    explicit Link(const Device& device) : end_(end_of(device)) {}

    End end_;
    uint32_t psn_ = random_psn();
    uint32_t inline_bytes_ = 0;
    uint32_t sent_ = 0;
    // The queue pair uses the queue.
    std::unique_ptr<CompletionQueue> queue_;
    Owned<ibv_qp> qp_;
};

}  // namespace perf::kv
