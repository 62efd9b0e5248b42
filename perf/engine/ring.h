// SPDX-License-Identifier: Apache-2.0
// Ring: what every lane has, whatever carries its messages: the point, the side, and the memory
// with the slots of what goes out and comes in.
//
// Completions are ibv_wc whatever the transport. wr_id: the lane's place in its group in the upper
// 32 bits, below kReceiveMark; below, for a send how many messages its completion stands for, for a
// receive its slot.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include <infiniband/verbs.h>

#include "perf/verbs/memory.h"

namespace perf {

// Which of a side's lanes: `number` of all of them, the same at both sides; `place` in its group.
struct LaneId {
    uint32_t number = 0;
    uint32_t place = 0;
};

constexpr uint32_t place_of(const ibv_wc& wc) {
    return static_cast<uint32_t>((wc.wr_id & ~kReceiveMark) >> 32U);
}

constexpr uint32_t low_of(const ibv_wc& wc) {
    return static_cast<uint32_t>(wc.wr_id);
}

// How often a ping-pong asks for a completion of its own sends; a signaled send frees all before
// it.
inline constexpr uint32_t kSignalEvery = 16;

// Messages that a side may have in flight.
inline uint32_t window_of(const Point& point) {
    return point.mode == Mode::Latency ? point.slots : point.depth;
}

// The next multiple of the slots: so consecutive receives use consecutive slots, and a verify round
// never uses one twice.
inline uint32_t in_whole_rings(const Point& point, uint32_t receives) {
    return (receives + point.slots - 1) / point.slots * point.slots;
}

// The receives of a stream of bandwidth. Twice the depth at least: the sender may run ahead of the
// receiver's reposting. Several queue pairs share the rate, and so what it takes to outlast a pause
// of the receiver.
inline uint32_t stream_receives(const Point& point) {
    // perftest's, too: at 10 to 20 million messages a second they last for as long as a tick of
    // the timer or a yield keeps the receiver from its queue. A sender that finds none waits for
    // 0.64 ms.
    constexpr uint32_t kStreamReceives = 512;
    return std::max(2 * point.depth, kStreamReceives / point.qps);
}

// How many receives a side keeps posted, in whole rings.
inline uint32_t receives_of(const Point& point, Side side) {
    constexpr uint32_t kPingPongReceives = 64;
    constexpr uint32_t kCredits = 4;
    if (fetches(point.verb) || !has_in(point, side))
        return 0;
    if (arrives_by_credit(point))
        return kCredits;
    return in_whole_rings(point, is_ping_pong(point) ? kPingPongReceives : stream_receives(point));
}

// How many of them a stream posts again at once. The rest, three quarters at least, takes what
// comes meanwhile.
inline uint32_t reposts_of(const Point& point, Side side) {
    return std::clamp(receives_of(point, side) / 4, 1U, 16U);
}

// A work request whose operation, data and address are on one cache line.
struct alignas(kCacheLine) SendRequest : ibv_send_wr {};

struct Hot;

// Posts `count` requests that follow each other (poster.cc). An errno value, or 0. By ibv_wr_*(3)
// where the queue pair's provider has them, whose callers decide once what is posted; else by
// ibv_post_send(3), which decides for each request.
using Post = int (*)(const Hot& hot, SendRequest* first, uint32_t count) noexcept;

// Of requests that all have the operation, with their data inline or not, to a datagram's address
// or a connected peer. `extended`: whether the queue pair has ibv_wr_*(3).
Post poster_of(ibv_wr_opcode opcode, bool has_inline, bool has_address, bool extended);

// What a queue pair must be created for (IBV_QP_EX_WITH_*), so that ibv_wr_*(3) post the operation.
uint64_t send_calls_of(ibv_wr_opcode opcode);

// What a loop reads of a lane for each completion, on one cache line.
struct alignas(kCacheLine) Hot {
    uint32_t window = 0;         // data messages that may be in flight,
    uint32_t batch = 0;          // and how many of them are posted at once
    uint32_t signal = 0;         // data messages that one completion stands for
    uint32_t reposts = 0;        // receives that a stream posts again at once
    uint64_t tag = 0;            // the place, where wr_id has it
    uint64_t room = UINT64_MAX;  // messages that may be under way without a credit
    // Of a queue pair:
    ibv_qp* qp = nullptr;
    ibv_qp_ex* extended = nullptr;  // null: its provider has no ibv_wr_*(3)
    SendRequest* sends = nullptr;
    Post post = nullptr;
};

static_assert(sizeof(Hot) == kCacheLine);

// Only `missing` changes once the lane is connected: its requests are built from the rest.
struct Ring {
    static Result<Ring> make(const Point& point,
                             Side side,
                             LaneId id,
                             BufferSource& source = *host_memory()) {
        const Layout layout = layout_of(point, side);
        Memory memory = TRY(Memory::map(layout, source));
        return Ring{.hot = {.window = window_of(point),
                            .batch = point.batch,
                            .signal = signal_of(point),
                            .reposts = reposts_of(point, side),
                            .tag = uint64_t{id.place} << 32U},
                    .point = point,
                    .side = side,
                    .id = id,
                    .layout = layout,
                    .memory = std::move(memory)};
    }

    Hot hot;
    Point point;
    Side side;
    LaneId id;
    Layout layout;
    Memory memory;
    // So many more messages were sent to this lane than have come: lost, or late. Fewer than none:
    // late ones came, and were counted as others.
    int64_t missing = 0;
    uint32_t signal_every = kSignalEvery;  // sends of a ping-pong for each completion
    // Of a queue pair; 0: the transport itself holds the sender back, or loses what is too much.
    uint32_t messages_per_credit = 0;
};

}  // namespace perf
