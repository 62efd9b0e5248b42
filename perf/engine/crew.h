// SPDX-License-Identifier: Apache-2.0
// Crew: the measuring threads of one side of a point, as the thread that holds the control
// connection sees them. They begin together; that one is told by a descriptor when one of them has
// news, and may read what they have done so far at any time.
#pragma once

#include <atomic>
#include <barrier>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <thread>

#include "perf/engine/worker.h"

namespace perf {

class Crew {
  public:
    // One worker and its place in the crew.
    class Hand {
      public:
        Hand(Crew& crew, base::UniqueFd word, bool expects)
            : worker(std::move(word), expects), crew_(&crew) {}

        Worker worker;

        // Waits until every hand that has not ended has come here as often.
        void meet() { crew_->meeting_->arrive_and_wait(); }

        // All that this worker ever posts is complete; from now on it only receives.
        void drained() noexcept;

      private:
        friend class Crew;

        enum class State : uint8_t { Works, Drained, Ended };

        Crew* crew_;
        std::atomic<State> state_ = State::Works;
        Ending ending_;
        std::jthread thread_;
    };

    using Body = std::function<Ending(Hand&)>;

    static base::Result<std::unique_ptr<Crew>> create();

    // Aborts those that still work, and waits for them.
    ~Crew();
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    // Before start(). `expects`: the worker receives messages (worker.h).
    base::Result<> hire(bool expects, Body body);

    // Returns when all have begun.
    base::Result<> start();

    // Readable when a hand has drained or ended since the last clear_news().
    [[nodiscard]] int news_fd() const { return news_.get(); }

    void clear_news() noexcept;

    [[nodiscard]] bool all_drained() const;
    [[nodiscard]] bool all_ended() const;

    // The first ending that was not as planned.
    [[nodiscard]] const Ending* failure() const;

    void close() noexcept;

    // How many messages worker `hand` is to receive in all.
    void expect(size_t hand, uint64_t messages) noexcept;

    // Messages so far, of all, with the warm-up.
    [[nodiscard]] uint64_t sent() const;
    [[nodiscard]] uint64_t received() const;

    [[nodiscard]] size_t size() const { return hands_.size(); }

  private:
    Crew() = default;

    void work(Hand& hand, const Body& body);
    void announce(Hand& hand, Hand::State state) noexcept;

    base::UniqueFd news_;
    std::unique_ptr<std::barrier<>> meeting_;
    std::list<Hand> hands_;  // addresses stay
    std::list<Body> bodies_;
};

}  // namespace perf
