// SPDX-License-Identifier: Apache-2.0
// TcpLane: a stream of messages over one TCP connection that takes work as a queue pair does, so
// that the loops of engine.h and the rounds of integrity.h measure and verify both in the same way.
//
// On the wire are the messages of the point, one behind the other, and nothing else but marks: what
// the kernel has taken has not arrived, and of a short measurement the socket buffers could swallow
// all. So, where bandwidth is measured by iterations, the completion of the last message of the
// warm-up and of the last one of all waits for a mark, the byte with which the other side says that
// it has everything. A side that sends data as well puts its mark behind its own last message.
// Measured by time, messages are counted where they arrive (client.h).
//
// A send completes when the kernel has taken it. The kernel alone decides how much is in flight.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include <sys/uio.h>

#include "perf/base/names.h"
#include "perf/engine/ring.h"

namespace perf {

class TcpQueue;

class TcpLane : public Ring {
  public:
    // The queue must live longer than the lane.
    static Result<TcpLane> create(TcpQueue& queue, const Point& point, Side side, LaneId id);

    // Takes a connected, non-blocking socket.
    Result<> connect(UniqueFd fd);

    // ---- hot: as Lane has them ------------------------------------------------------------------
    int post_batch(uint32_t at, uint32_t count, bool) noexcept { return post(at, count, true); }

    int post_one(uint32_t at, bool signaled) noexcept { return post(at, 1, signaled); }

    int post_receives(uint32_t count) noexcept {
        free_ += count;
        return 0;
    }

    // ---------------------------------------------------------------------------------------------
    // Before a verify round. Nothing is numbered: TCP keeps the order.
    void number_messages(uint32_t) noexcept {}

    // A measurement begins: marks are due after what its messages are by iterations.
    void plain_messages() noexcept;

    [[nodiscard]] TcpQueue& completions() { return *queue_; }

  private:
    friend class TcpQueue;

    // Messages in one call of the kernel.
    static constexpr size_t kPieces = 64;
    using Pieces = std::array<iovec, kPieces>;

    // What was posted at once.
    struct Job {
        uint32_t at = 0;
        uint32_t count = 0;
        uint32_t sent = 0;  // messages that the kernel has taken entirely
        bool signaled = false;
        uint64_t end = 0;  // messages posted up to and with this one, as out_posted_
    };

    explicit TcpLane(Ring ring) : Ring(std::move(ring)) {}

    int post(uint32_t at, uint32_t count, bool signaled) noexcept;

    // Puts what has completed into `out`, and says how much that was.
    size_t report(std::span<ibv_wc> out) noexcept;

    void flush() noexcept;
    size_t gather_sends(Pieces& pieces) noexcept;
    void advance_sends(size_t bytes) noexcept;
    void read_messages() noexcept;
    size_t gather_receives(Pieces& pieces) noexcept;
    void read_mark() noexcept;
    void write_mark() noexcept;
    [[nodiscard]] bool waits_for_mark(const Job& job) const noexcept;
    void fail(int number) noexcept;

    Job& job(uint64_t number) noexcept { return jobs_[number % jobs_.size()]; }

    TcpQueue* queue_ = nullptr;
    UniqueFd fd_;
    int error_ = 0;
    // What epoll(7) said last; edges, so they stay until the kernel refuses.
    bool may_read_ = true;
    bool may_write_ = true;
    bool hung_up_ = false;
    // Out. Jobs are numbered from 0: reported_ <= written_ <= posted_.
    std::vector<Job> jobs_;
    uint64_t posted_ = 0;
    uint64_t written_ = 0;
    uint64_t reported_ = 0;
    size_t out_offset_ = 0;  // bytes of the message that the kernel has taken in part
    // In. Messages are numbered from 0: told_ <= arrived_.
    uint64_t arrived_ = 0;
    uint64_t told_ = 0;
    size_t in_offset_ = 0;  // bytes of the message that has come in part
    uint32_t free_ = 0;     // receives that are posted and not taken
    // Marks: after how many messages of the measurement, either way, each is due.
    std::array<uint64_t, 2> ends_{};
    size_t ends_count_ = 0;
    size_t marks_in_ = 0;
    size_t marks_out_ = 0;
    uint64_t out_posted_ = 0;  // messages of the measurement: posted,
    uint64_t out_ = 0;         // taken by the kernel,
    uint64_t in_ = 0;          // arrived
};

// Where the lanes of one thread complete. Its words are those of CompletionQueue.
class TcpQueue {
  public:
    // Of epoll(7).
    explicit TcpQueue(UniqueFd epoll) : epoll_(std::move(epoll)) {}

    // The lanes, in the order of their places; they must stay where they are.
    void drive(std::span<TcpLane> lanes) { lanes_ = lanes; }

    int poll(std::span<ibv_wc> out) noexcept;

    int arm() noexcept { return 0; }

    [[nodiscard]] int fd() const noexcept { return epoll_.get(); }

  private:
    // Notes which sockets are ready.
    void take_events() noexcept;
    size_t report(std::span<ibv_wc> out) noexcept;
    // Sends and receives what goes without waiting.
    void progress() noexcept;

    UniqueFd epoll_;
    std::span<TcpLane> lanes_;
    size_t first_ = 0;  // whose turn it is to report first
    uint32_t polls_ = 0;
};

// The lanes that one thread drives.
struct TcpGroup {
    std::unique_ptr<TcpQueue> queue;  // the lanes point to it; goes after them
    std::vector<TcpLane> lanes;

    // Lanes number `first` to `first` + `count` - 1 of the side, not connected yet.
    static Result<TcpGroup> create(const Point& point, Side side, uint32_t first, uint32_t count);
};

}  // namespace perf
