// SPDX-License-Identifier: Apache-2.0
// Lane: one queue pair of one side with its memory and prebuilt work requests; the hot loops
// (engine.h) only advance positions in these arrays. Group: the lanes that one thread drives, with
// one completion queue for all of them: one poll tells what happened on any of them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "perf/engine/ring.h"
#include "perf/protocol/message.h"
#include "perf/verbs/cm/connection.h"
#include "perf/verbs/device.h"
#include "perf/verbs/queue_pair.h"
#include "perf/verbs/verbs.h"

namespace perf {

struct Group;

// Bandwidth of SEND over iWARP: nothing there holds a sender back. Its sends complete once TCP has
// them, and one that finds no receive ends the connection (RFC 5041, 7.2: no buffer available),
// where InfiniBand would answer RNR and try again. So the receiver grants what it has room for: a
// credit, an empty SEND, for each so many messages that it has taken.
bool needs_credits(const Device& device, const Point& point);

// All that the lanes of a side are made of. For one call: it refers to the caller's.
struct SideSetup {
    const Device& device;
    const Point& point;
    Side side;
    CmLinks* cm = nullptr;  // moves the queue pairs to INIT, where rdma_cm connects
};

class Lane : public Ring {
  public:
    // Makes everything up to a queue pair in INIT with its receives posted. Domain and queue of the
    // group must live longer than the lane.
    static Result<Lane> create(const SideSetup& setup, const Group& group, LaneId id);

    // What the other side needs to know.
    [[nodiscard]] Endpoint endpoint() const;

    // Aims the work requests, and goes to RTR and RTS, unless rdma_cm does that. `mtu` in bytes.
    // After this the other side may send.
    Result<> connect(const DeviceInfo& peer, const Endpoint& remote, uint32_t mtu);

    [[nodiscard]] CmQueue cm_queue(uint32_t mtu) const;

    // ---- hot: errno values as libibverbs gives them, 0 if posted --------------------------------
    // Posts `count` data messages from position `at`, a multiple of the batch: a whole batch, or
    // fewer if `is_last`. A completion for each hot.signal messages, and for what is left of them
    // once `is_last`: nothing follows, or the next one begins at 0.
    int post_batch(uint32_t at, uint32_t count, bool is_last) noexcept {
        return is_last ? post_last(at, count) : hot.post(hot, hot.sends + at, count);
    }

    // Posts the message at position `at` alone, with a completion only if `signaled`.
    int post_one(uint32_t at, bool signaled) noexcept {
        SendRequest& request = hot.sends[at];
        request.send_flags = signaled ? flags_ | IBV_SEND_SIGNALED : flags_;
        return hot.post(hot, &request, 1);
    }

    // Posts the next `count` receives of the ring (count <= receives()).
    int post_receives(uint32_t count) noexcept;

    // An empty SEND; its completion stands for no message. Behind a round of writes it tells the
    // responder that they are in its memory, which an RDMA WRITE alone does not; in a stream by
    // credits it grants messages_per_credit() more.
    int post_credit() noexcept;

    // ---------------------------------------------------------------------------------------------
    // Before a verify round: the message at position i carries the immediate `first` + i, and where
    // messages may get lost a SEND goes as the one with immediate.
    void number_messages(uint32_t first);
    // The operands of the atomic at a position: compare or addend, and what to swap in.
    void set_operands(uint32_t at, uint64_t compare_add, uint64_t swap);
    // After verify rounds: the plan's own verb, an addend of 1, a compare that never matches. Where
    // it has an immediate, that is one of the last round.
    void plain_messages();

    // Shared with the other lanes of the group.
    [[nodiscard]] CompletionQueue& completions() { return *queue_; }

    [[nodiscard]] uint32_t receives() const { return static_cast<uint32_t>(receives_.size()); }

    uint32_t inline_bytes = 0;
    // In flight, of a side that posts what fetches; else 0. Known once it is connected.
    uint32_t reads = 0;

  private:
    explicit Lane(Ring ring) : Ring(std::move(ring)) {}

    // post_batch(), with a completion for what is left.
    int post_last(uint32_t at, uint32_t count) noexcept;
    Result<> create_queue_pair(const Device& device, const Group& group);
    Result<> choose_reads(const DeviceInfo& peer);
    void build_receives();
    void build_sends(const Endpoint& remote);
    void set_opcode(ibv_wr_opcode opcode);

    CompletionQueue* queue_ = nullptr;
    End end_;
    uint32_t psn_ = 0;
    unsigned flags_ = 0;
    uint32_t next_receive_ = 0;
    ibv_wr_opcode opcode_ = IBV_WR_SEND;
    // From here on each member needs the ones before it, and goes before them.
    Owned<ibv_mr> mr_;
    Owned<ibv_qp> qp_;
    Owned<ibv_ah> ah_;  // of the peer, for datagrams
    std::vector<ibv_sge> send_pieces_;
    std::vector<SendRequest> sends_;
    std::vector<ibv_sge> receive_pieces_;
    std::vector<ibv_recv_wr> receives_;
};

struct Group {
    ThreadDomain domain;                     // of the queue pairs; goes after them
    std::unique_ptr<CompletionQueue> queue;  // the lanes point to it; goes after them
    std::vector<Lane> lanes;

    // Lanes number `first` to `first` + `count` - 1 of the side, each in INIT.
    static Result<Group> create(const SideSetup& setup, uint32_t first, uint32_t count);
};

}  // namespace perf
