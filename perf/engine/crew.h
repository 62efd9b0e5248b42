// SPDX-License-Identifier: Apache-2.0
// Crew: the measuring threads of one side of a point, as the thread that holds the control
// connection sees them. They begin together; that one is told by a descriptor when one of them has
// news, and may read what they have done so far at any time. attend() is how it waits meanwhile.
#pragma once

#include <atomic>
#include <barrier>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <thread>

#include <sys/eventfd.h>

#include "perf/engine/completer.h"
#include "perf/system/budget.h"

namespace perf {

struct ThreadUnits {
    static constexpr std::string_view kUnit = "thread";
    static constexpr std::string_view kFix =
        "wait until other clients of the server are done, use fewer --threads, or start the server "
        "with more --max-threads";
};

using ThreadBudget = Budget<ThreadUnits>;

// Worker: what one measuring thread and the thread that holds the control connection say to each
// other. The measuring thread never talks to the peer and never waits for anybody but its
// completions, the start, and a word; everything it counts may be read while it runs.
//
// Close: a sending worker posts nothing more; a receiving one ends once as many messages have come
// as its peer has sent. Abort ends either at once.
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

// A count, and when it was read, by the clock of the side that counts.
struct Reading {
    uint64_t count = 0;
    uint64_t at_ns = 0;
};

// What read() gives and when, close to each other: after the loss of the processor in between, for
// a time slice, it tries again.
template <class Read>
Reading read_in_time(Read&& read) {
    constexpr uint64_t kClose = 20'000;
    constexpr int kTries = 8;
    Reading best{.count = 0, .at_ns = 0};
    uint64_t best_took = UINT64_MAX;
    for (int i = 0; i < kTries && best_took > kClose; ++i) {
        const uint64_t before = now_ns();
        const uint64_t count = read();
        const uint64_t took = now_ns() - before;
        if (took < best_took) {
            best = {.count = count, .at_ns = before + took / 2};
            best_took = took;
        }
    }
    return best;
}

class Crew {
  public:
    class Hand;
    using Body = std::function<Ending(Hand&)>;

    // One worker and its place in the crew.
    class Hand {
      public:
        Hand(Crew& crew, UniqueFd word, bool expects, Body body)
            : worker(std::move(word), expects), crew_(&crew), body_(std::move(body)) {}

        Worker worker;

        // Waits until every hand that has not ended has come here as often.
        void meet() { crew_->meeting_->arrive_and_wait(); }

        // All that this worker ever posts is complete; from now on it only receives.
        void drained() noexcept { crew_->announce(*this, State::Drained); }

      private:
        friend class Crew;

        enum class State : uint8_t { Works, Drained, Ended };

        [[nodiscard]] bool works() const { return state_ == State::Works; }

        [[nodiscard]] bool has_ended() const { return state_ == State::Ended; }

        // It may block in a read of its channel, and has a word.
        void hurry() noexcept {
            if (thread_.joinable())
                interrupt(thread_.native_handle());
        }

        Crew* crew_;
        Body body_;
        std::atomic<State> state_ = State::Works;
        Ending ending_;
        std::jthread thread_;
    };

    static Result<std::unique_ptr<Crew>> create();

    // Aborts those that still work, and waits for them.
    ~Crew();
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    // Before start(). `expects`: the worker receives messages.
    Result<> hire(bool expects, Body body);

    // Returns when all have begun. Busy: the budget has fewer left.
    Result<> start();

    // Readable when a hand has drained or ended since the last clear_news().
    [[nodiscard]] int news_fd() const { return news_.get(); }

    void clear_news() noexcept;

    [[nodiscard]] bool all_drained() const { return std::ranges::none_of(hands_, &Hand::works); }

    [[nodiscard]] bool all_ended() const { return std::ranges::all_of(hands_, &Hand::has_ended); }

    // The first ending that was not as planned.
    [[nodiscard]] const Ending* failure() const;

    void close() noexcept { tell(&Worker::close); }

    // How many messages worker `hand` is to receive in all.
    void expect(size_t hand, uint64_t messages) noexcept;

    // Messages so far, of all, with the warm-up.
    [[nodiscard]] uint64_t sent() const { return sum(&Worker::sent); }

    [[nodiscard]] uint64_t received() const { return sum(&Worker::received); }

    [[nodiscard]] size_t size() const { return hands_.size(); }

  private:
    Crew() = default;

    [[nodiscard]] uint64_t sum(uint64_t (Worker::*of)() const noexcept) const;
    void tell(void (Worker::*word)() noexcept) noexcept;
    void work(Hand& hand);
    void announce(Hand& hand, Hand::State state) noexcept;

    UniqueFd news_;
    ThreadBudget::Share share_;
    std::unique_ptr<std::barrier<>> meeting_;
    std::deque<Hand> hands_;  // addresses stay
};

// One control connection and the crew whose peer is at its other end.
struct Watched {
    const Control* control = nullptr;
    Crew* crew = nullptr;
};

struct Attention {
    enum class Cause { Done, TimeUp, Spoken, Failed } cause = Cause::Done;
    size_t index = 0;  // Spoken, Failed: of the watched one
};

// Until done() (asked at first, and whenever a worker has news), until `until_ns` of now_ns(),
// until a peer says something or goes, or a worker fails. done() is also asked while `wake_fd` is
// readable. Stopped: the error of stop.h.
Result<Attention> attend(std::span<const Watched> watched,
                         uint64_t until_ns,
                         const std::function<bool()>& done,
                         int wake_fd = -1);

}  // namespace perf
