// SPDX-License-Identifier: Apache-2.0
// Worker: what one measuring thread and the thread that holds the control connection say to each
// other. The measuring thread never talks to the peer and never waits for anybody but its
// completions, the start, and a word; everything it counts may be read while it runs.
//
// A sending worker is told to close (post nothing more); a receiving one how many messages there
// are to come, which ends it once they are there. Either may be aborted.
#pragma once

#include <atomic>
#include <cstdint>

#include <sys/eventfd.h>

#include "perf/engine/completer.h"

namespace perf {

enum class Phase : uint8_t { Run, Close, Abort };

class Worker {
  public:
    static constexpr uint64_t kUnknown = UINT64_MAX;

    // `expects`: receives messages, and learns later how many there will be.
    Worker(UniqueFd word, bool expects)
        : word_(std::move(word)), expected_(expects ? kUnknown : 0) {}

    // ---- of the measuring thread ---------------------------------------------------------------
    [[nodiscard]] Phase phase() const noexcept { return phase_.load(std::memory_order_acquire); }

    // To post nothing more, and end with what is under way.
    [[nodiscard]] bool is_closed() const noexcept { return phase() == Phase::Close; }

    [[nodiscard]] uint64_t expected() const noexcept {
        return expected_.load(std::memory_order_acquire);
    }

    [[nodiscard]] int word_fd() const noexcept { return word_.get(); }

    // Wake::Word was for this: look at phase() and expected().
    void hear() noexcept {
        eventfd_t ignored = 0;
        // Non-blocking; empty if two words came at once and the first look saw both.
        (void)::eventfd_read(word_.get(), &ignored);
    }

    void note_sent(uint64_t messages) noexcept { sent_.store(messages, std::memory_order_relaxed); }

    void note_received(uint64_t messages) noexcept {
        received_.store(messages, std::memory_order_relaxed);
    }

    // ---- of the other thread -------------------------------------------------------------------
    void close() noexcept { tell(phase_, Phase::Close); }

    void abort() noexcept { tell(phase_, Phase::Abort); }

    void expect(uint64_t messages) noexcept { tell(expected_, messages); }

    // ---- of both: messages since the worker began, with the warm-up -----------------------------
    [[nodiscard]] uint64_t sent() const noexcept { return sent_.load(std::memory_order_relaxed); }

    [[nodiscard]] uint64_t received() const noexcept {
        return received_.load(std::memory_order_relaxed);
    }

  private:
    template <class T>
    void tell(std::atomic<T>& what, T value) noexcept {
        what.store(value, std::memory_order_release);
        (void)::eventfd_write(word_.get(), 1);
    }

    UniqueFd word_;
    std::atomic<Phase> phase_{Phase::Run};
    std::atomic<uint64_t> expected_;
    // Written with each batch of completions: not on a line that the others read all the time.
    alignas(64) std::atomic<uint64_t> sent_{0};
    std::atomic<uint64_t> received_{0};
};

}  // namespace perf
