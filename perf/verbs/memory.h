// SPDX-License-Identifier: Apache-2.0
// Memory and its layout. A side of a point has an area for what it sends ("out"), one for what it
// receives ("in"), or both. An area is a ring of slots, one message each, with guard bands before
// the first slot and behind each; the bands hold a poison that nothing may change.
//
// Buffer: memory that a device reads and writes, and BufferSource: where it comes from. That is the
// host's memory, huge pages, a GPU, or a dma-buf that this process was started with. A buffer that
// processors should not touch has a copy in the host's memory. Rounds of verification write and
// read the copy; push() and pull() take it to the buffer and back, outside of what is timed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "perf/protocol/plan.h"
#include "perf/system/budget.h"
#include "perf/verbs/verbs.h"

namespace perf {

class BufferSource;

class Buffer {
  public:
    explicit Buffer(const BufferSource& from) : source(&from) {}

    virtual ~Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    // From the copy to the buffer, and back. Without a copy there is nothing to do.
    virtual Result<> push(size_t, size_t) { return {}; }

    virtual Result<> pull(size_t, size_t) { return {}; }

    const BufferSource* source;
    std::span<std::byte> host;  // the buffer itself, or the copy
    uint64_t address = 0;       // as work requests have it
    int dma_buf = -1;           // a descriptor of one that has the buffer, if there is any
    uint64_t offset = 0;        // where in it that is
};

class BufferSource {
  public:
    // What holds for all of its buffers.
    struct Kind {
        std::string word;         // of --memory
        size_t page = 0;          // the size of a buffer is a multiple of this
        bool is_host = false;     // processors read and write the buffers themselves
        bool has_driver = false;  // a driver of another vendor's works in this process
        std::string fix = {};     // what helps where a device does not take the buffers
    };

    explicit BufferSource(Kind of) : kind(std::move(of)) {}

    virtual ~BufferSource() = default;
    BufferSource(const BufferSource&) = delete;
    BufferSource& operator=(const BufferSource&) = delete;

    // The source must live longer. Thread safe.
    virtual Result<std::unique_ptr<Buffer>> allocate(size_t bytes) = 0;

    const Kind kind;
};

using Buffers = std::shared_ptr<BufferSource>;

const Buffers& host_memory();

// By the word of --memory: host, huge, cuda[:N], rocm[:N] or dmabuf:FD. Call it before any thread is
// there: providers that copy small messages by a processor learn by the environment not to.
Result<Buffers> open_memory(std::string_view word);

// Of a GPU, "cuda" or "rocm", through the vendor's library (gpu.cc): libcuda (CUDA's driver API) or
// libamdhip64 (ROCm). It is loaded where somebody asks for it; nothing of it is needed to build.
Result<Buffers> open_gpu(std::string_view word, unsigned number);

// The first `bytes` of the buffer: as a dma-buf where it has one and the provider takes it, else by
// its address, which for a GPU's is up to the kernel's peer memory.
Result<Owned<ibv_mr>> register_buffer(
    Verbs& verbs, ibv_pd* pd, const Buffer& buffer, size_t bytes, int access);

// ---- what a side of a point has -----------------------------------------------------------------
// Ping-pong: the server answers each message with one of its own.
constexpr bool is_ping_pong(const Point& point) {
    return point.mode == Mode::Latency && !fetches(point.verb);
}

// WRITE bandwidth: the responder is told of nothing but an empty SEND behind the writes of a verify
// round. Where that could overtake them, or one gets lost, all writes carry immediates instead.
constexpr bool arrives_by_credit(const Point& point) {
    return point.verb == Verb::Write && is_ordered(point.transport) && !is_ping_pong(point);
}

// A write that tells the other side of itself: because the verb says so, because a ping-pong must,
// or because it may get lost, and only those that arrive count.
constexpr bool writes_with_immediate(const Point& point) {
    return point.verb == Verb::WriteImm || (point.verb == Verb::Write && !arrives_by_credit(point));
}

// Each message of the measurement takes a receive of the other side.
constexpr bool takes_receives(const Point& point) {
    return is_send(point.verb) || writes_with_immediate(point);
}

// Who posts the work requests.
constexpr bool posts_data(const Point& point, Side side) {
    if (is_ping_pong(point) || point.direction == Direction::Both)
        return true;
    return (side == Side::Client) == (point.direction == Direction::Forward);
}

// A side is passive towards the other's requests; in both directions each side is both.
constexpr bool serves_data(const Point& point, Side side) {
    return posts_data(point, side == Side::Client ? Side::Server : Side::Client);
}

// Who holds data to be sent or read, and who memory to be filled. Atomics: the words of the side
// that does not post are "in", because the other one changes them; so are the results of the side
// that does.
constexpr bool has_out(const Point& point, Side side) {
    return !is_atomic(point.verb) &&
           (point.verb == Verb::Read ? serves_data(point, side) : posts_data(point, side));
}

constexpr bool has_in(const Point& point, Side side) {
    return is_atomic(point.verb) ||
           (point.verb == Verb::Read ? posts_data(point, side) : serves_data(point, side));
}

// Whether each slot is written again and again with the same data, and nothing gets lost. Then it is
// checked while bandwidth is measured, and at its end. Of SEND the next receive has the next slot,
// as long as nothing else takes one (a credit in between), and both sides go round in step.
constexpr bool looks_at_memory(const Point& point) {
    const bool in_step = is_ordered(point.transport) && point.iterations == 0 &&
                         point.depth % point.slots == 0 &&
                         (point.direction != Direction::Both || point.connect != Connect::Cm);
    return point.verify != Verify::Off && point.mode == Mode::Bandwidth &&
           is_reliable(point.transport) && !is_atomic(point.verb) &&
           (in_step || !is_send(point.verb));
}

// Whether the loops of latency look at some messages, all of which have the data of slot 0. Where
// messages get lost, a late one of a round before may come among them.
constexpr bool looks_at_messages(const Point& point) {
    return point.verify != Verify::Off && point.mode == Mode::Latency && point.rate == 0 &&
           is_reliable(point.transport) && !is_atomic(point.verb);
}

// The messages of the measurement complete a receive on this side.
constexpr bool receives_data(const Point& point, Side side) {
    return takes_receives(point) && serves_data(point, side);
}

// One area inside of the registered memory; all numbers in bytes from its start.
struct Area {
    size_t start = 0;   // of the leading guard
    size_t first = 0;   // of slot 0
    size_t stride = 0;  // from slot to slot
    size_t end = 0;     // behind the last guard
    size_t lead = 0;    // bytes before each slot that the device writes (the GRH of a datagram)
    uint32_t slots = 0;
    uint32_t size = 0;  // of a message

    [[nodiscard]] bool exists() const { return slots != 0; }

    [[nodiscard]] size_t slot(uint32_t number) const { return first + number * stride; }
};

struct Layout {
    Area in;
    Area out;
    size_t bytes = 0;  // of all, a multiple of the page size, at least one page
};

// Both sides compute the same strides from the same point.
Layout layout_of(const Point& point, Side side);

struct MemoryUnits {
    static constexpr std::string_view kUnit = "byte";
    static constexpr std::string_view kFix =
        "wait until other clients of the server are done, or use a smaller --size or --depth";
};

using MemoryBudget = Budget<MemoryUnits>;

// A buffer filled with poison. Where it is not in host memory, all() is its copy there.
class Memory {
  public:
    // Busy: the budget has less left. The source must live longer.
    static Result<Memory> map(const Layout& layout, BufferSource& source = *host_memory());

    [[nodiscard]] std::span<std::byte> all() const { return all_; }

    [[nodiscard]] std::span<std::byte> slot(const Area& area, uint32_t number) const {
        return all_.subspan(area.slot(number), area.size);
    }

    [[nodiscard]] const Buffer& buffer() const { return *buffer_; }

    // For the device.
    [[nodiscard]] uint64_t address(size_t offset) const { return buffer_->address + offset; }

    // What was written in the area goes where the device reads it.
    [[nodiscard]] Result<> push(const Area& area) const {
        return area.exists() ? buffer_->push(area.start, area.end - area.start) : Result<>();
    }

    // What the device wrote in the area, or in one slot of it, comes to where it is checked.
    [[nodiscard]] Result<> pull(const Area& area) const {
        return buffer_->pull(area.start, area.end - area.start);
    }

    [[nodiscard]] Result<> pull(const Area& area, uint32_t number) const {
        return buffer_->pull(area.slot(number), area.size);
    }

  private:
    Memory(MemoryBudget::Share share, std::unique_ptr<Buffer> buffer, size_t bytes)
        : share_(std::move(share)), buffer_(std::move(buffer)), all_(buffer_->host.first(bytes)) {}

    MemoryBudget::Share share_;
    std::unique_ptr<Buffer> buffer_;
    std::span<std::byte> all_;
};

// What the byte at `offset` of the memory holds while nobody has written it.
constexpr uint8_t poison(size_t offset) {
    return static_cast<uint8_t>(0xa5U ^ (offset * 131));
}

// The first byte of the area's guard bands that is not poison any more.
struct GuardHit {
    uint32_t slot = 0;    // whose band it is in: the one before it, 0 also for the leading band
    uint64_t offset = 0;  // from the end of that slot's message; in the leading band from its start
    uint8_t expected = 0;
    uint8_t got = 0;
};

std::optional<GuardHit> check_guards(std::span<const std::byte> all, const Area& area);

}  // namespace perf
