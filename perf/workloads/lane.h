// SPDX-License-Identifier: Apache-2.0
// Lane: one queue pair of one side with its memory, completion queue and prebuilt work requests.
// The hot loops (engine.h) only advance positions in these arrays.
#pragma once

#include <cstdint>
#include <vector>

#include "perf/device.h"
#include "perf/memory.h"
#include "perf/message.h"
#include "perf/verbs.h"

namespace perf {

class Lane {
  public:
    // Makes everything up to a queue pair in INIT with its receives posted.
    static base::Result<Lane> create(const Device& device, const Point& point, Side side);

    // What the other side needs to know.
    [[nodiscard]] Endpoint endpoint() const;

    // To RTR and RTS. `mtu` in bytes. After this the other side may send.
    base::Result<> connect(const DeviceInfo& peer, const Endpoint& remote, uint32_t mtu);

    // ---- hot: errno values as libibverbs gives them, 0 if posted
    // ------------------------------------ Posts `count` data messages from position `at`; `at` is
    // a multiple of the batch, and count a batch or a shorter last piece. One completion, for the
    // last one, with wr_id = count.
    int post_batch(uint32_t at, uint32_t count) noexcept {
        ibv_send_wr& last = sends_[at + count - 1];
        ibv_send_wr* bad = nullptr;
        if (count == batch_) [[likely]]
            return ibv_post_send(qp_.get(), &sends_[at], &bad);
        const ibv_send_wr kept = last;
        last.next = nullptr;
        last.wr_id = count;
        last.send_flags |= IBV_SEND_SIGNALED;
        const int rc = ibv_post_send(qp_.get(), &sends_[at], &bad);
        last = kept;
        return rc;
    }

    // Posts the message at position `at` alone, with a completion only if `signaled`.
    int post_one(uint32_t at, bool signaled) noexcept {
        ibv_send_wr& request = sends_[at];
        request.send_flags = signaled ? flags_ | IBV_SEND_SIGNALED : flags_;
        ibv_send_wr* bad = nullptr;
        return ibv_post_send(qp_.get(), &request, &bad);
    }

    // Posts the next `count` receives of the ring (count <= receives()).
    int post_receives(uint32_t count) noexcept;

    // write bw: an empty SEND behind the writes, whose receive tells the responder that they are in
    // its memory; an RDMA WRITE alone tells it nothing. One completion with wr_id 0.
    int post_credit() noexcept;

    // -------------------------------------------------------------------------------------------------
    // Before a verify round: the message at position i carries the immediate `first` + i, and where
    // messages may get lost a verb without immediate is sent as the one with it.
    void number_messages(uint32_t first);
    // The operands of the atomic at a position: compare or addend, and what to swap in.
    void set_operands(uint32_t at, uint64_t compare_add, uint64_t swap);
    // After verify rounds: the plan's own verb, an addend of 1, a compare that never matches.
    void plain_messages();

    [[nodiscard]] const Point& point() const { return point_; }

    [[nodiscard]] Side side() const { return side_; }

    [[nodiscard]] CompletionQueue& completions() { return queue_; }

    [[nodiscard]] const Memory& memory() const { return memory_; }

    [[nodiscard]] const Layout& layout() const { return layout_; }

    // Data messages that may be in flight, and how many of them are posted at once.
    [[nodiscard]] uint32_t window() const { return window_; }

    [[nodiscard]] uint32_t batch() const { return batch_; }

    [[nodiscard]] uint32_t receives() const { return static_cast<uint32_t>(receives_.size()); }

    [[nodiscard]] uint32_t inline_bytes() const { return inline_bytes_; }

  private:
    explicit Lane(Memory memory) : memory_(std::move(memory)) {}

    base::Result<> create_queues(const Device& device);
    base::Result<> to_init();
    base::Result<> to_rtr(const DeviceInfo& peer, const Endpoint& remote, uint32_t mtu);
    base::Result<> to_rts(const DeviceInfo& peer);
    [[nodiscard]] ibv_ah_attr path_to(const DeviceInfo& peer) const;
    base::Result<> make_address_handle(const DeviceInfo& peer);
    void build_receives();
    void build_sends(const Endpoint& remote);

    Point point_;
    Side side_ = Side::Client;
    Verbs* verbs_ = nullptr;
    DeviceInfo own_;
    bool infiniband_ = false;
    uint32_t psn_ = 0;
    uint32_t window_ = 1;
    uint32_t batch_ = 1;
    uint32_t inline_bytes_ = 0;
    unsigned flags_ = 0;
    uint32_t next_receive_ = 0;
    ibv_wr_opcode opcode_ = IBV_WR_SEND;
    Layout layout_;
    // From here on each member needs the ones before it, and goes before them.
    Memory memory_;
    Owned<ibv_mr> mr_;
    CompletionQueue queue_;
    Owned<ibv_qp> qp_;
    Owned<ibv_ah> ah_;  // of the peer, for datagrams
    std::vector<ibv_sge> send_pieces_;
    std::vector<ibv_send_wr> sends_;
    std::vector<ibv_sge> receive_pieces_;
    std::vector<ibv_recv_wr> receives_;
};

// How often a ping-pong asks for a completion of its own sends; a signaled send frees all before
// it.
inline constexpr uint32_t kSignalEvery = 16;

}  // namespace perf
