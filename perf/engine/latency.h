// SPDX-License-Identifier: Apache-2.0
// The hot loops of latency, as templates over lane and completer: ping and pong, and
// OpenLoop. What engine.h says of its loop holds for these.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "perf/engine/engine.h"
#include "perf/engine/stats.h"

namespace perf {

// When a latency loop stops: after so many messages, or at that time (0: no such limit).
struct Limit {
    uint64_t messages = UINT64_MAX;
    uint64_t until_ns = 0;

    [[nodiscard]] bool reached(uint64_t now) const noexcept {
        return until_ns != 0 && now >= until_ns;
    }
};

// One wait of a latency loop. False: end it, for the reason in `end`.
template <class C>
bool take_completions(
    C& completer, Worker& worker, CompletionArray& wc, int& got, Ending& end) noexcept {
    got = 0;
    end.wake = completer.wait(wc, got);
    if (end.wake == Wake::Word) {
        worker.hear();
        end.wake = worker.phase() == Phase::Abort ? Wake::Stopped : Wake::Completions;
        return end.good();
    }
    if (end.wake == Wake::Completions && worker.phase() == Phase::Abort) [[unlikely]]
        end.wake = Wake::Stopped;
    if (end.wake != Wake::Completions) [[unlikely]]
        return false;
    for (int i = 0; i < got; ++i) {
        if (wc[static_cast<size_t>(i)].status != IBV_WC_SUCCESS) [[unlikely]] {
            end.bad = wc[static_cast<size_t>(i)];
            return false;
        }
    }
    return true;
}

// Of a ping-pong's own sends few ask for a completion, and these pass by among the messages. None
// may be left behind for whoever uses the queue next.
class OwnSends {
  public:
    explicit OwnSends(uint32_t every) : every_(every) {}

    // Whether message `number` asks for one.
    bool ask(uint64_t number) noexcept {
        const bool signaled = number % every_ == 0;
        due_ += signaled ? 1 : 0;
        return signaled;
    }

    // How many of these completions are messages of the other side.
    uint64_t pass(const CompletionArray& wc, int got) noexcept {
        const auto messages = static_cast<uint64_t>(
            std::count_if(wc.begin(), wc.begin() + got, [](const ibv_wc& one) {
                return (one.opcode & IBV_WC_RECV) != 0;
            }));
        due_ -= static_cast<uint64_t>(got) - messages;
        return messages;
    }

    template <class C>
    Ending settle(C& completer, Worker& worker) noexcept {
        CompletionArray wc;
        Ending end;
        int got = 0;
        while (due_ != 0 && take_completions(completer, worker, wc, got, end))
            (void)pass(wc, got);
        return end;
    }

  private:
    uint32_t every_;
    uint64_t due_ = 0;
};

// One message at a time. kAnswered (SEND, or WRITE with immediate): waits for the answer, and
// records half of the time from before the post to after the answer's completion. Else (READ and
// atomics): to after its own completion, and all of that.
template <bool kAnswered, class L, class C>
Ending ping(
    L& lane, C& completer, Worker& worker, const Limit& limit, Histogram& histogram) noexcept {
    CompletionArray wc;
    Ending end;
    OwnSends own(lane.signal_every);
    for (uint64_t sent = 0; sent < limit.messages; ++sent) {
        const uint64_t begin = now_ns();
        if (limit.reached(begin) || worker.is_closed())
            break;
        end.post_error = lane.post_one(0, !kAnswered || own.ask(sent));
        if (end.post_error != 0) [[unlikely]]
            return end;
        int got = 0;
        uint64_t answers = 0;
        do {
            if (!take_completions(completer, worker, wc, got, end)) [[unlikely]]
                return end;
            answers = kAnswered ? own.pass(wc, got) : static_cast<uint64_t>(got);
        } while (answers == 0);
        histogram.record((now_ns() - begin) / (kAnswered ? 2 : 1));
        if constexpr (kAnswered) {
            // One, unless a late one of a datagram came with it.
            end.post_error = lane.post_receives(static_cast<uint32_t>(answers));
            if (end.post_error != 0) [[unlikely]]
                return end;
        }
        worker.note_sent(worker.sent() + 1);
    }
    return own.settle(completer, worker);
}

// The other side of ping and open_loop: answers each message, until all that are expected are
// answered.
template <class L, class C>
Ending pong(L& lane, C& completer, Worker& worker) noexcept {
    CompletionArray wc;
    Ending end;
    OwnSends own(lane.signal_every);
    uint64_t answered = 0;
    while (answered < worker.expected()) {
        int got = 0;
        if (!take_completions(completer, worker, wc, got, end)) [[unlikely]]
            return end;
        for (uint64_t left = own.pass(wc, got); left != 0; --left) {
            end.post_error = lane.post_one(0, own.ask(answered));
            if (end.post_error == 0) [[likely]]
                end.post_error = lane.post_receives(1);
            if (end.post_error != 0) [[unlikely]]
                return end;
            worker.note_received(++answered);
        }
    }
    return own.settle(completer, worker);
}

// Posts message k at begin + k / rate, whatever has become of those before, as long as the depth
// allows; records from the time at which it was due, so that a stall counts for every message that
// it held up. Answers come in order: the transport is reliable. Records whole round trips.
//
// By time it ends by the clock, however many messages are due and wait for a place: else a rate
// above what the path can do would make the run as much longer. They are recorded all the same. A
// worker that is closed ends it as if its time were over.
template <class L, class C>
class OpenLoop {
  public:
    OpenLoop(L& lane, C& completer, Worker& worker)
        : lane_(lane),
          completer_(completer),
          worker_(worker),
          rate_(lane.point.rate),
          due_(lane.point.depth),
          own_(lane.signal_every) {}

    Ending run(const Limit& limit, Histogram& histogram) {
        begin_ = now_ns();
        uint64_t all = due_within(limit);
        uint64_t posted = 0;
        uint64_t done = 0;
        for (bool over = false;;) {
            const uint64_t now = now_ns();
            const bool room = posted - done < due_.size();
            // Where the path keeps up there is room for what was due at the very end.
            over = over || (!room && limit.reached(now));
            if (worker_.is_closed() && !over) {
                over = true;
                all = std::clamp(due_within({.until_ns = now}), posted, all);
            }
            const bool more = posted < all && !over;
            if (!more && done == posted) {
                record_unsent(posted, all, histogram);
                return own_.settle(completer_, worker_);
            }
            if (more && room && now >= due(posted)) {
                due_[posted % due_.size()] = due(posted);
                if (!post(posted++))
                    return end_;
                continue;
            }
            int got = 0;
            if (!wait(more && room ? due(posted) : UINT64_MAX, posted != done, got))
                return end_;
            const uint64_t arrival = now_ns();
            const uint64_t answers = answers_of(got);
            for (uint64_t i = 0; i < answers; ++i)
                histogram.record(arrival - due_[done++ % due_.size()]);
            worker_.note_sent(worker_.sent() + answers);
            if (!repost(answers))
                return end_;
        }
    }

  private:
    static constexpr uint64_t kSecond = 1'000'000'000;

    // Without the overflow of message * 10^9.
    [[nodiscard]] uint64_t due(uint64_t message) const noexcept {
        return begin_ + message / rate_ * kSecond + message % rate_ * kSecond / rate_;
    }

    // How many messages are due before the end, without the overflow of time * rate.
    [[nodiscard]] uint64_t due_within(const Limit& limit) const noexcept {
        if (limit.until_ns == 0)
            return limit.messages;
        const uint64_t time = limit.until_ns > begin_ ? limit.until_ns - begin_ : 0;
        const uint64_t whole = time / kSecond * rate_;
        return std::min(limit.messages, whole + (time % kSecond * rate_ + kSecond - 1) / kSecond);
    }

    // What was due and never left: answers come in order, so its own would have come later than the
    // last one, which came now; and it is none of the fastest. There may be 10^11 of them: in
    // groups whose times differ less than the histogram can tell.
    void record_unsent(uint64_t first, uint64_t all, Histogram& histogram) const noexcept {
        constexpr uint64_t kFineness = 1024;
        const uint64_t now = now_ns();
        const uint64_t least = histogram.min();
        while (first < all) {
            const uint64_t group = (all - first) / kFineness + 1;
            first += group;
            histogram.record(std::max(now - due(first - 1), least), group);
        }
    }

    bool post(uint64_t message) noexcept {
        const bool signaled = !is_ping_pong(lane_.point) || own_.ask(message);
        const auto at = static_cast<uint32_t>(message % lane_.hot.window);
        end_.post_error = lane_.post_one(at, signaled);
        return end_.post_error == 0;
    }

    // While all that was sent is answered, no answer is owed: then patience ends nothing.
    bool wait(uint64_t until_ns, bool owed, int& got) noexcept {
        end_.wake = completer_.wait_until(until_ns, wc_, got);
        if (end_.wake == Wake::Due || (end_.wake == Wake::TimedOut && !owed))
            end_.wake = Wake::Completions;
        if (end_.wake == Wake::Word) {
            worker_.hear();
            end_.wake = Wake::Completions;
        }
        if (end_.wake == Wake::Completions && worker_.phase() == Phase::Abort)
            end_.wake = Wake::Stopped;
        got = end_.good() ? std::max(got, 0) : 0;
        for (int i = 0; i < got; ++i) {
            if (wc_[static_cast<size_t>(i)].status != IBV_WC_SUCCESS)
                end_.bad = wc_[static_cast<size_t>(i)];
        }
        return end_.good();
    }

    [[nodiscard]] uint64_t answers_of(int got) noexcept {
        return is_ping_pong(lane_.point) ? own_.pass(wc_, got) : static_cast<uint64_t>(got);
    }

    bool repost(uint64_t answers) noexcept {
        if (is_ping_pong(lane_.point))
            end_.post_error = lane_.post_receives(static_cast<uint32_t>(answers));
        return end_.post_error == 0;
    }

    L& lane_;
    C& completer_;
    Worker& worker_;
    const uint64_t rate_;
    uint64_t begin_ = 0;
    std::vector<uint64_t> due_;  // of the messages under way, by number modulo depth
    CompletionArray wc_;
    Ending end_;
    OwnSends own_;
};

}  // namespace perf
