// SPDX-License-Identifier: Apache-2.0
// The hot loops. That of bandwidth is a template over group and completer: all verbs, both roles,
// both directions. Those of latency are templates over lane and completer: ping and pong, and
// OpenLoop. A loop calls no virtual function, allocates nothing, logs nothing (but where ping or
// pong look at a message), and ends with everything that it posted completed, or with the reason.
//
// Threads: one group belongs to one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "perf/engine/completer.h"
#include "perf/engine/crew.h"
#include "perf/engine/ring.h"
#include "perf/engine/stats.h"

namespace perf {

inline constexpr size_t kPollBatch = 16;
using CompletionArray = std::array<ibv_wc, kPollBatch>;

// How far one lane has come.
struct alignas(kCacheLine) Flow {
    uint64_t quota = 0;  // data messages to post, of all there will be
    uint64_t posted = 0;
    uint64_t completed = 0;
    uint32_t at = 0;     // position of the next one
    uint64_t taken = 0;  // data messages of the other side
    uint32_t owed = 0;   // receives that were taken and are not posted again
    // By credits (lane.cc):
    uint64_t granted = 0;   // of those posted, how many the other side has taken for sure
    uint64_t credited = 0;  // of those taken, for how many we gave credits
};

// Keeps the window of every lane full of data messages until its quota or the worker's close, and
// takes the messages that come in. Each of send() and receive() does both; they differ in what they
// wait for.
template <class G, class C>
class Stream {
  public:
    // flows[i] belongs to group.lanes[i].
    Stream(G& group, C& completer, Worker& worker, std::span<Flow> flows)
        : group_(group),
          completer_(completer),
          worker_(worker),
          flows_(flows),
          by_credits_(group.lanes.front().messages_per_credit != 0),
          reposts_(by_credits_ ? 1 : group.lanes.front().hot.reposts) {}

    // Until the quotas are posted (or the worker was closed) and completed. May be called again
    // with larger quotas.
    Ending send() noexcept {
        for (uint32_t place = 0; place < flows_.size(); ++place) {
            if (!fill(place))
                return end_;
        }
        return run([this] { return outstanding_ == 0 && credits_are_in(); });
    }

    // Until all messages that are expected have come. What an unreliable transport has not brought
    // some time after the sender stopped is lost, and no error. Until then it may bring nothing for
    // as long as it likes: who holds the control connection sees whether the peer lives, and aborts
    // us if it does not.
    Ending receive() noexcept {
        const auto all_came = [this] {
            return received_ >= worker_.expected() && credits_are_in();
        };
        Ending end = run(all_came);
        while (end.wake == Wake::TimedOut && loses() && !sender_stopped_)
            end = run(all_came);
        if (end.wake != Wake::TimedOut || !loses())
            return end;
        end_ = {};
        (void)repost_all();
        return end_;
    }

  private:
    [[nodiscard]] bool loses() const noexcept {
        return !is_reliable(group_.lanes.front().point.transport);
    }

    template <class Done>
    Ending run(Done&& done) noexcept {
        end_ = {};
        while (!done()) {
            int got = 0;
            end_.wake = completer_.wait(wc_, got);
            if (end_.wake == Wake::Word) {
                if (!hear())
                    return end_;
                continue;
            }
            if (end_.wake != Wake::Completions || !take(got)) [[unlikely]]
                return end_;
        }
        (void)repost_all();
        return end_;
    }

    bool hear() noexcept {
        worker_.hear();
        end_.wake = worker_.phase() == Phase::Abort ? Wake::Stopped : Wake::Completions;
        const uint64_t expected = worker_.expected();
        // Who only sends expects none, and its own completions may take their time.
        if (loses() && expected != Worker::kUnknown && received_ < expected) {
            sender_stopped_ = true;
            completer_.be_patient_for(kLossPatience);
        }
        return end_.good();
    }

    bool take(int got) noexcept {
        const Phase phase = worker_.phase();
        if (phase == Phase::Abort) [[unlikely]] {
            end_.wake = Wake::Stopped;
            return false;
        }
        open_ = phase == Phase::Run;
        // A lane is filled once for all of its completions that follow each other.
        constexpr uint32_t kNone = UINT32_MAX;
        uint32_t to_fill = kNone;
        for (int i = 0; i < got; ++i) {
            const ibv_wc& wc = wc_[static_cast<size_t>(i)];
            if (wc.status != IBV_WC_SUCCESS) [[unlikely]] {
                end_.bad = wc;
                return false;
            }
            if ((wc.opcode & IBV_WC_RECV) != 0) {
                if (!take_received(wc)) [[unlikely]]
                    return false;
            } else if (take_sent(wc)) {
                if (to_fill != place_of(wc) && to_fill != kNone && !fill(to_fill)) [[unlikely]]
                    return false;
                to_fill = place_of(wc);
            }
        }
        if (to_fill != kNone && !fill(to_fill)) [[unlikely]]
            return false;
        worker_.note_sent(sent_);
        worker_.note_received(received_);
        return true;
    }

    // Whether its lane may have room for more.
    bool take_sent(const ibv_wc& wc) noexcept {
        const uint32_t messages = low_of(wc);
        // A credit. They go on when all is sent, and then `completed` is read by another thread
        // (Team::posted()): not even the same value may be written there.
        if (messages == 0) {
            --credits_out_;
            return false;
        }
        flows_[place_of(wc)].completed += messages;
        outstanding_ -= messages;
        sent_ += messages;
        return true;
    }

    // Each lane's receives are posted again several at a time: one call for each would cost a good
    // part of a small message.
    bool take_received(const ibv_wc& wc) noexcept {
        const uint32_t place = place_of(wc);
        Flow& flow = flows_[place];
        ++flow.owed;
        // A credit: no data message is empty.
        if (by_credits_ && wc.byte_len == 0) {
            flow.granted += group_.lanes[place].messages_per_credit;
            return repost(place) && fill(place);
        }
        ++received_;
        ++flow.taken;
        return flow.owed < reposts_ || repost(place);
    }

    bool repost(uint32_t place) noexcept {
        Flow& flow = flows_[place];
        end_.post_error = group_.lanes[place].post_receives(flow.owed);
        flow.owed = 0;
        return end_.post_error == 0 && (!by_credits_ || give_credits(place));
    }

    // The next user of the lanes finds all of their receives posted.
    bool repost_all() noexcept {
        for (uint32_t place = 0; place < flows_.size(); ++place) {
            if (flows_[place].owed != 0 && !repost(place)) [[unlikely]]
                return false;
        }
        return true;
    }

    bool give_credits(uint32_t place) noexcept {
        auto& lane = group_.lanes[place];
        Flow& flow = flows_[place];
        if constexpr (requires { lane.post_credit(); }) {
            const uint64_t each = lane.messages_per_credit;
            for (; flow.taken - flow.credited >= each; ++credits_out_) {
                end_.post_error = lane.post_credit();
                if (end_.post_error != 0) [[unlikely]]
                    return false;
                flow.credited += each;
            }
        }
        return true;
    }

    // All that we gave are sent, all that we were owed have come: none is left for whoever uses the
    // queue next.
    [[nodiscard]] bool credits_are_in() const noexcept {
        if (!by_credits_)
            return true;
        const uint64_t each = group_.lanes.front().messages_per_credit;
        return credits_out_ == 0 && std::ranges::all_of(flows_, [each](const Flow& flow) {
                   return flow.posted - flow.granted < each;
               });
    }

    bool fill(uint32_t place) noexcept {
        auto& lane = group_.lanes[place];
        Flow& flow = flows_[place];
        const uint64_t batch = lane.hot.batch;
        uint64_t left = flow.quota - flow.posted;
        uint64_t space = std::min(lane.hot.window - (flow.posted - flow.completed),
                                  lane.hot.room - (flow.posted - flow.granted));
        // A lane that is closed in the middle of what one completion stands for goes on to its end.
        while (space >= batch && left != 0 && (open_ || flow.at % lane.hot.signal != 0)) {
            // What is left of a quota may end in the middle of a batch; the next one starts anew.
            const auto count = static_cast<uint32_t>(std::min(batch, left));
            left -= count;
            space -= count;
            if (const int rc = lane.post_batch(flow.at, count, left == 0); rc != 0) [[unlikely]] {
                end_.post_error = rc;
                return false;
            }
            flow.posted += count;
            outstanding_ += count;
            flow.at = left == 0 || flow.at + count == lane.hot.window ? 0 : flow.at + count;
        }
        return true;
    }

    G& group_;
    C& completer_;
    Worker& worker_;
    std::span<Flow> flows_;
    const bool by_credits_;
    const uint32_t reposts_;  // receives at once; by credits 1: none may wait for a next message
    CompletionArray wc_;
    Ending end_;
    bool open_ = true;
    bool sender_stopped_ = false;  // we know what it sent, and not all of it is here
    uint64_t outstanding_ = 0;
    uint64_t credits_out_ = 0;  // given, not completed yet
    uint64_t sent_ = 0;
    uint64_t received_ = 0;
};

// ---- latency ------------------------------------------------------------------------------------
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
bool take_completions(C& completer,
                      Worker& worker,
                      CompletionArray& wc,
                      int& got,
                      Ending& end,
                      uint64_t until_ns = UINT64_MAX) noexcept {
    got = 0;
    end.wake = completer.wait(wc, got, until_ns);
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
// atomics): to after its own completion, and all of that. Between two messages that are timed
// looks() gets the number of the one before and the completions that it came with.
template <bool kAnswered, class L, class C, class Looks>
Ending ping(L& lane,
            C& completer,
            Worker& worker,
            const Limit& limit,
            Histogram& histogram,
            const Looks& looks) noexcept {
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
        looks(sent, std::span(wc).first(static_cast<size_t>(got)));
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
template <class L, class C, class Looks>
Ending pong(L& lane, C& completer, Worker& worker, const Looks& looks) noexcept {
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
            looks(answered, std::span(wc).first(static_cast<size_t>(got)));
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
            const bool comes_back = is_ping_pong(lane_.point);
            const uint64_t answers = comes_back ? own_.pass(wc_, got) : static_cast<uint64_t>(got);
            for (uint64_t i = 0; i < answers; ++i)
                histogram.record(arrival - due_[done++ % due_.size()]);
            worker_.note_sent(worker_.sent() + answers);
            if (comes_back)
                end_.post_error = lane_.post_receives(static_cast<uint32_t>(answers));
            if (!end_.good())
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
        if (!take_completions(completer_, worker_, wc_, got, end_, until_ns) &&
            (end_.wake == Wake::Due || (end_.wake == Wake::TimedOut && !owed)))
            end_.wake = worker_.phase() == Phase::Abort ? Wake::Stopped : Wake::Completions;
        return end_.good();
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
