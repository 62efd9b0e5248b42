// SPDX-License-Identifier: Apache-2.0
// The hot loop of bandwidth, a template over group and completer: all verbs, both roles, both
// directions. It calls no virtual function, allocates nothing, logs nothing, and ends with
// everything that it posted completed, or with the reason. The loops of latency: latency.h.
//
// Threads: one group belongs to one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "perf/engine/completer.h"
#include "perf/engine/crew.h"
#include "perf/engine/ring.h"

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
          by_credits_(group.lanes.front().messages_per_credit() != 0),
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
        if (by_credits_ && wc.byte_len == 0)
            return repost(place) && take_credit(wc);
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

    // ---- credits: no data message is empty ------------------------------------------------------
    bool take_credit(const ibv_wc& wc) noexcept {
        flows_[place_of(wc)].granted += group_.lanes[place_of(wc)].messages_per_credit();
        return fill(place_of(wc));
    }

    bool give_credits(uint32_t place) noexcept {
        auto& lane = group_.lanes[place];
        Flow& flow = flows_[place];
        if constexpr (requires { lane.post_credit(); }) {
            const uint64_t each = lane.messages_per_credit();
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
        const uint64_t each = group_.lanes.front().messages_per_credit();
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

}  // namespace perf
