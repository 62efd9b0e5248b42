// SPDX-License-Identifier: Apache-2.0
// Completer: how a loop waits for completions. One class for each poll mode, chosen once before the
// loop, so that the loop itself is straight code. While it waits it also watches what must end it:
// a stop, a word (of the peer, or of the thread that talks with the peer), and patience, the
// longest time without any completion. A look around is a system call, and would be part of what is
// timed: there is none before a wait has lasted for a millisecond. Loops whose completions come
// sooner look at their worker's phase themselves.
//
//   Spin    polls. Lowest latency with a core to spare; starves a software device on a small
//           machine.
//   Yield   polls, and gives the core away after an empty poll (sched_yield).
//   Event   polls, arms the queue, polls again (a completion may come in between), then sleeps in
//           a read(2) of the channel for as long as a tick, and then in ppoll(2) on the channel,
//           the word and the stop. Where a software device needs the processor it gives that away
//           once before.
//   Hybrid  spins for some microseconds after the last completion, then does as Event.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include <poll.h>
#include <sched.h>

#include "perf/protocol/control.h"
#include "perf/protocol/plan.h"
#include "perf/system/tick.h"
#include "perf/verbs/device.h"
#include "perf/verbs/verbs.h"

namespace perf {

inline uint64_t now_ns() noexcept {
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// Sleeps until a descriptor is ready or `until_ns` (of now_ns(); UINT64_MAX: never) has come; a
// signal ends it as well. False: it failed; errno says why.
bool poll_until(std::span<pollfd> fds, uint64_t until_ns) noexcept;

// Why wait() came back.
enum class Wake {
    Completions,
    Due,       // the time that the loop named has come
    Word,      // there is a word for this worker
    Gone,      // the peer closed the control connection
    Stopped,   // a signal
    TimedOut,  // no completion for as long as patience lasts
    Removed,   // the device is gone, and no completion will ever come
    Failed     // poll or event failed; errno says why
};

// What a loop watches besides its completion queue. A worker watches its word and leaves the
// control connection to the thread that holds it; without a word, the connection's hang-up is
// watched.
struct Waiting {
    Control* control = nullptr;
    const Device* device = nullptr;  // null: TCP needs none
    std::chrono::milliseconds patience{5000};
    Poll poll;      // never Auto
    int word = -1;  // eventfd
};

// How long nothing more must come before what is missing of an unreliable transport is lost, and
// how long nothing at all of a verify round: its sender only fills the ring, and large messages
// take their time. (Once a round was lost as a whole the former holds for that, too.)
inline constexpr std::chrono::milliseconds kLossPatience{300};
inline constexpr std::chrono::milliseconds kFirstPatience{2000};

// The Error of a wake that is not Completions; reads the peer's own words if there are any.
Error wake_error(Wake wake, const Waiting& waiting);

// Where a loop ended.
struct Ending {
    Wake wake = Wake::Completions;  // Completions: as planned
    int post_error = 0;             // errno of a refused post, or 0
    ibv_wc bad{};                   // with status != 0: the failed completion

    [[nodiscard]] bool good() const {
        return wake == Wake::Completions && post_error == 0 && bad.status == IBV_WC_SUCCESS;
    }
};

// The Error of an ending that is not good. For the thread that holds the control connection.
Error ending_error(const Ending& ending, const Waiting& waiting);

// The part that all modes share: the look around, taken now and then.
class Lookout {
  public:
    explicit Lookout(const Waiting& waiting)
        : device_(waiting.device),
          watched_fd_(waiting.word >= 0 ? waiting.word : waiting.control->fd()),
          stop_(&waiting.control->stop()),
          has_word_(waiting.word >= 0) {
        be_patient_for(waiting.patience);
    }

    void be_patient_for(std::chrono::milliseconds time) noexcept {
        patience_ns_ = static_cast<uint64_t>(std::chrono::nanoseconds(time).count());
    }

  protected:
    // Completions: nothing to report. Sleeps until something happens if `channel_fd` is given, but
    // not beyond `until_ns` (of now_ns()).
    Wake look_around(int channel_fd, uint64_t until_ns) noexcept;

    const Device* device_;
    int watched_fd_;
    const Stop* stop_;
    uint64_t patience_ns_;
    uint64_t idle_since_ = 0;
    bool has_word_;
    bool has_event_ = false;  // the channel was readable at the last look
};

// When a wait that polls looks around: once it has lasted for a millisecond, and then once in each.
// The clock is read after 1, 2, 4 and so on empty polls, at last after every `most` of them, and
// once a look was due after each. So few polls that take long, as each sched_yield(2) may on a busy
// machine, are noticed as soon as many short ones.
class Pace {
  public:
    explicit constexpr Pace(uint64_t most) : most_(most) {}

    // After an empty poll: whether to read the clock, and ask is_due().
    [[nodiscard]] bool reads_clock() noexcept { return ++polls_ == next_; }

    [[nodiscard]] bool is_due(uint64_t now) noexcept {
        constexpr uint64_t kMillisecond = 1'000'000;
        const bool due = due_ns_ != 0 && now >= due_ns_;
        if (due)
            most_ = 1;
        if (due || due_ns_ == 0)
            due_ns_ = now + kMillisecond;
        next_ += std::min(polls_, most_);
        return due;
    }

  private:
    uint64_t most_;
    uint64_t polls_ = 0;
    uint64_t next_ = 1;
    uint64_t due_ns_ = 0;  // 0: the clock was not read yet
};

// Q, where completions come from (CompletionQueue and LazyQueue of verbs.h, or TCP's), needs poll(),
// arm() and fd(), and take_event() where arm() asks for an event.
template <PollMode kMode, class Q>
class Completer : public Lookout {
  public:
    Completer(Q& queue, const Waiting& waiting)
        : Lookout(waiting), queue_(&queue), spin_ns_(uint64_t{waiting.poll.spin_us} * 1000) {
        if (kTakesEvents && has_word_)
            tick_.emplace();
    }

    // At least one completion in `out` and their number in `count`, or another reason: Wake::Due
    // once it is `until_ns` (of now_ns()).
    Wake wait(std::span<ibv_wc> out, int& count, uint64_t until_ns = UINT64_MAX) noexcept {
        if (stop_->requested()) [[unlikely]]
            return Wake::Stopped;
        idle_since_ = 0;
        uint64_t spin_end = 0;
        Pace pace(kMostPolls);
        for (;;) {
            count = queue_->poll(out);
            if (count > 0) [[likely]]
                return Wake::Completions;
            if (count < 0) [[unlikely]]
                return Wake::Failed;
            if (until_ns != UINT64_MAX && now_ns() >= until_ns)
                return Wake::Due;
            if (sleeps(spin_end)) {
                if (const Wake wake = sleep(until_ns, out, count);
                    wake != Wake::Completions || count > 0)
                    return wake;
                continue;
            }
            if constexpr (kMode == PollMode::Yield)
                (void)::sched_yield();
            if (!pace.reads_clock() || !pace.is_due(now_ns()))
                continue;
            if (const Wake wake = look(out, count); wake != Wake::Completions || count > 0)
                return wake;
        }
    }

  private:
    // Between two looks at the clock.
    static constexpr uint64_t kMostPolls = kMode == PollMode::Spin ? 512 : 8;
    static constexpr bool kSleeps = kMode == PollMode::Event || kMode == PollMode::Hybrid;
    static constexpr bool kTakesEvents = kSleeps && requires(Q & queue) { queue.take_event(); };

    // After an empty poll: whether it is time to sleep.
    bool sleeps(uint64_t& spin_end) const noexcept {
        if constexpr (kMode == PollMode::Event)
            return true;
        if constexpr (kMode == PollMode::Hybrid) {
            const uint64_t now = now_ns();
            if (spin_end == 0)
                spin_end = now + spin_ns_;
            return now >= spin_end;
        }
        return false;
    }

    // Whether to yield before a sleep. Of large messages few yields bring any: then each 16th tries.
    bool gives_way() noexcept { return ++sleeps_ % 16 == 0 || credit_ != 0; }

    Wake sleep(uint64_t until_ns, std::span<ibv_wc> out, int& count) noexcept {
        // What a software device has to do on this processor is done first, and needs no event.
        if (device_ != nullptr && device_->software && gives_way()) {
            (void)::sched_yield();
            count = queue_->poll(out);
            credit_ = count > 0 ? std::min(credit_ + 1, 16U) : std::max(credit_, 1U) - 1;
            if (count != 0)
                return count > 0 ? Wake::Completions : Wake::Failed;
        }
        if (const int rc = queue_->arm(); rc != 0) {
            errno = rc;
            return Wake::Failed;
        }
        count = queue_->poll(out);
        if (count != 0)
            return count > 0 ? Wake::Completions : Wake::Failed;
        if constexpr (kTakesEvents) {
            if (until_ns == UINT64_MAX && tick_ && tick_->runs()) {
                if (idle_since_ == 0)
                    idle_since_ = now_ns();
                if (queue_->take_event())
                    return Wake::Completions;
            }
        }
        const Wake wake = look(out, count, queue_->fd(), until_ns);
        if constexpr (kTakesEvents) {
            if (has_event_)
                (void)queue_->take_event();
        }
        return wake;
    }

    // It may be the processor that was away for so long: what came meanwhile is no loss.
    Wake look(std::span<ibv_wc> out,
              int& count,
              int channel_fd = -1,
              uint64_t until_ns = UINT64_MAX) noexcept {
        const Wake wake = look_around(channel_fd, until_ns);
        if (wake != Wake::TimedOut)
            return wake;
        count = queue_->poll(out);
        if (count == 0)
            return wake;
        return count > 0 ? Wake::Completions : Wake::Failed;
    }

    Q* queue_;
    uint64_t spin_ns_;
    std::optional<Tick> tick_;
    uint32_t sleeps_ = 0;
    uint32_t credit_ = 16;  // one more for each yield that brought completions, else one less
};

// Calls body(completer) with the completer of the mode.
template <class Q, class Body>
auto with_completer(Q& queue, const Waiting& waiting, Body&& body) {
    const auto with = [&](auto completer) { return body(completer); };
    switch (waiting.poll.mode) {
        case PollMode::Spin:
            return with(Completer<PollMode::Spin, Q>(queue, waiting));
        case PollMode::Event:
            return with(Completer<PollMode::Event, Q>(queue, waiting));
        case PollMode::Hybrid:
            return with(Completer<PollMode::Hybrid, Q>(queue, waiting));
        case PollMode::Auto:
        case PollMode::Yield:
            break;
    }
    return with(Completer<PollMode::Yield, Q>(queue, waiting));
}

}  // namespace perf
