// SPDX-License-Identifier: Apache-2.0
// Completer: how a loop waits for completions. One class for each poll mode, chosen once before the
// loop, so that the loop itself is straight code. While it waits it also watches what must end it:
// a stop, the control connection, and patience, the longest time without any completion.
//
//   Spin   polls. Lowest latency with a core to spare; starves a software device on a small
//   machine. Yield  polls, and gives the core away after an empty poll (sched_yield). Event  polls,
//   arms the queue, polls again (a completion may come in between), then sleeps in
//          poll(2) on the channel, the control connection and the stop.
#pragma once

#include <cerrno>
#include <chrono>
#include <span>

#include <poll.h>
#include <sched.h>

#include "perf/control.h"
#include "perf/plan.h"
#include "perf/verbs.h"

namespace perf {

inline uint64_t now_ns() noexcept {
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// Why wait() came back.
enum class Wake {
    Completions,
    Control,   // the peer said something, and the loop asked to be told
    Gone,      // the peer closed the control connection
    Stopped,   // a signal
    TimedOut,  // no completion for as long as patience lasts
    Failed     // poll or event failed; errno says why
};

enum class Listen { ForData, ForHangUpOnly };

// What a loop watches besides its completion queue.
struct Waiting {
    Control* control = nullptr;
    std::chrono::milliseconds patience{5000};
    PollMode poll = PollMode::Yield;  // never Auto
    Listen listen = Listen::ForHangUpOnly;
};

// How long nothing more must come before what is missing of an unreliable transport is lost.
inline constexpr std::chrono::milliseconds kLossPatience{300};

// The Error of a wake that is not Completions; reads the peer's own words if there are any.
base::Error wake_error(Wake wake, const Waiting& waiting);

// True if the peer closed the control connection, or does so within the grace.
bool peer_is_gone(const Waiting& waiting, std::chrono::milliseconds grace);

// The part that all modes share: the look around, taken now and then.
class Lookout {
  public:
    explicit Lookout(const Waiting& waiting)
        : control_fd_(waiting.control->fd()),
          stop_(&waiting.control->stop()),
          patience_ns_(static_cast<uint64_t>(waiting.patience.count()) * 1'000'000),
          listens_(waiting.listen == Listen::ForData) {}

    [[nodiscard]] bool stopped() const noexcept { return stop_->requested(); }

    void idle_begins() noexcept { idle_since_ = 0; }

    // A look costs a system call: once in a millisecond is often enough.
    [[nodiscard]] bool due() const noexcept { return now_ns() - last_look_ >= 1'000'000; }

    // Completions: nothing to report. Sleeps until something happens if `channel_fd` is given.
    Wake look(int channel_fd = -1) noexcept;

  private:
    int control_fd_;
    const Stop* stop_;
    uint64_t patience_ns_;
    uint64_t idle_since_ = 0;
    uint64_t last_look_ = 0;
    bool listens_;
};

template <PollMode kMode>
class Completer {
  public:
    Completer(CompletionQueue& queue, const Waiting& waiting) : queue_(&queue), lookout_(waiting) {}

    // At least one completion in `out` and their number in `count`, or another reason.
    Wake wait(std::span<ibv_wc> out, int& count) noexcept {
        if (lookout_.stopped()) [[unlikely]]
            return Wake::Stopped;
        lookout_.idle_begins();
        for (unsigned idle = 1;; ++idle) {
            count = poll(out);
            if (count > 0) [[likely]]
                return Wake::Completions;
            if (count < 0) [[unlikely]]
                return Wake::Failed;
            if constexpr (kMode == PollMode::Event) {
                if (const Wake wake = sleep(out, count); wake != Wake::Completions || count > 0)
                    return wake;
                continue;
            }
            if constexpr (kMode == PollMode::Yield)
                (void)::sched_yield();
            if (idle % kLookEvery != 0 || !lookout_.due())
                continue;
            if (const Wake wake = lookout_.look(); wake != Wake::Completions)
                return wake;
        }
    }

  private:
    // How often to read the clock. On a busy machine each sched_yield may take a whole time slice.
    static constexpr unsigned kLookEvery = kMode == PollMode::Spin ? 512 : 8;

    int poll(std::span<ibv_wc> out) noexcept {
        const int n = ibv_poll_cq(queue_->cq.get(), static_cast<int>(out.size()), out.data());
        if (n < 0)
            errno = EIO;
        return n;
    }

    Wake sleep(std::span<ibv_wc> out, int& count) noexcept {
        if (const int rc = ibv_req_notify_cq(queue_->cq.get(), 0); rc != 0) {
            errno = rc;
            return Wake::Failed;
        }
        count = poll(out);
        if (count != 0)
            return count > 0 ? Wake::Completions : Wake::Failed;
        const Wake wake = lookout_.look(queue_->channel->fd);
        ibv_cq* cq = nullptr;
        // Acknowledged at once: a queue with unacknowledged events could never be destroyed.
        if (queue_->verbs->get_cq_event(queue_->channel.get(), &cq) == 0)
            queue_->verbs->ack_cq_event(cq);
        return wake;
    }

    CompletionQueue* queue_;
    Lookout lookout_;
};

// Calls body(completer) with the completer of the mode.
template <class Body>
auto with_completer(CompletionQueue& queue, const Waiting& waiting, Body&& body) {
    switch (waiting.poll) {
        case PollMode::Spin: {
            Completer<PollMode::Spin> completer(queue, waiting);
            return body(completer);
        }
        case PollMode::Event: {
            Completer<PollMode::Event> completer(queue, waiting);
            return body(completer);
        }
        case PollMode::Auto:
        case PollMode::Yield:
            break;
    }
    Completer<PollMode::Yield> completer(queue, waiting);
    return body(completer);
}

}  // namespace perf
