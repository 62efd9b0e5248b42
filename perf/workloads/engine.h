// SPDX-License-Identifier: Apache-2.0
// The hot loops, as templates over the completer: pump (bandwidth, all verbs), absorb (the receiver
// of SEND bandwidth), ping and pong (latency), round_trip (latency of READ). Nothing here calls a
// virtual function, allocates or logs. They end with everything they posted completed, or with the
// reason.
//
// Threads: one lane belongs to one thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "perf/stats.h"
#include "perf/workloads/completer.h"
#include "perf/workloads/lane.h"

namespace perf {

// Where a loop ended.
struct Ending {
    Wake wake = Wake::Completions;  // Completions: as planned
    int post_error = 0;             // errno of a refused post, or 0
    ibv_wc bad{};                   // with status != 0: the failed completion
    uint64_t messages = 0;          // completed (pump, ping) or received (absorb, pong)

    [[nodiscard]] bool good() const {
        return wake == Wake::Completions && post_error == 0 && bad.status == IBV_WC_SUCCESS;
    }
};

inline constexpr size_t kPollBatch = 16;
using CompletionArray = std::array<ibv_wc, kPollBatch>;

// When a loop stops posting: after so many messages, or at that time (0: no such limit).
struct Limit {
    uint64_t messages = UINT64_MAX;
    uint64_t until_ns = 0;

    [[nodiscard]] bool reached() const noexcept { return until_ns != 0 && now_ns() >= until_ns; }
};

// Keeps the window full of data messages, from position 0, until the limit; then drains.
template <class C>
Ending pump(Lane& lane, C& completer, const Limit& limit) noexcept {
    CompletionArray wc;
    Ending end;
    const uint64_t window = lane.window();
    const uint64_t batch = lane.batch();
    uint64_t posted = 0;
    uint32_t at = 0;
    bool open = limit.messages != 0;
    while (open || end.messages < posted) {
        while (open && posted - end.messages + batch <= window) {
            const auto count = static_cast<uint32_t>(std::min(batch, limit.messages - posted));
            end.post_error = lane.post_batch(at, count);
            if (end.post_error != 0) [[unlikely]]
                return end;
            posted += count;
            at = at + count == window ? 0 : at + count;
            open = posted < limit.messages;
        }
        int got = 0;
        end.wake = completer.wait(wc, got);
        if (end.wake != Wake::Completions) [[unlikely]]
            return end;
        for (int i = 0; i < got; ++i) {
            if (wc[i].status != IBV_WC_SUCCESS) [[unlikely]] {
                end.bad = wc[i];
                return end;
            }
            end.messages += wc[i].wr_id;
        }
        open = open && !limit.reached();
    }
    return end;
}

// Takes messages and posts their receives again. Ends when `target` is known and reached; until
// then a word on the control connection ends it with Wake::Control, and it may be called again.
template <class C>
Ending absorb(Lane& lane, C& completer, std::optional<uint64_t> target, uint64_t have) noexcept {
    CompletionArray wc;
    Ending end;
    end.messages = have;
    while (!target || end.messages < *target) {
        int got = 0;
        end.wake = completer.wait(wc, got);
        if (end.wake != Wake::Completions) [[unlikely]]
            return end;
        for (int i = 0; i < got; ++i) {
            if (wc[i].status != IBV_WC_SUCCESS) [[unlikely]] {
                end.bad = wc[i];
                return end;
            }
        }
        end.post_error = lane.post_receives(static_cast<uint32_t>(got));
        if (end.post_error != 0) [[unlikely]]
            return end;
        end.messages += static_cast<uint64_t>(got);
    }
    return end;
}

// What came out of one wait in a ping-pong: own sends pass by, messages are counted.
template <class C>
uint64_t take_messages(C& completer, CompletionArray& wc, Ending& end) noexcept {
    int got = 0;
    end.wake = completer.wait(wc, got);
    if (end.wake != Wake::Completions) [[unlikely]]
        return 0;
    uint64_t messages = 0;
    for (int i = 0; i < got; ++i) {
        if (wc[i].status != IBV_WC_SUCCESS) [[unlikely]] {
            end.bad = wc[i];
            return 0;
        }
        messages += (wc[i].opcode & IBV_WC_RECV) != 0 ? 1 : 0;
    }
    return messages;
}

// SEND, or WRITE with immediate: sends one message, waits for the answer, records half of the time
// from before the post to after the answer's completion.
template <class C>
Ending ping(Lane& lane, C& completer, const Limit& limit, Histogram& histogram) noexcept {
    CompletionArray wc;
    Ending end;
    uint32_t at = 0;
    while (end.messages < limit.messages && !limit.reached()) {
        const uint64_t begin = now_ns();
        end.post_error = lane.post_one(at, end.messages % kSignalEvery == 0);
        if (end.post_error != 0) [[unlikely]]
            return end;
        while (take_messages(completer, wc, end) == 0) {
            if (!end.good()) [[unlikely]]
                return end;
        }
        histogram.record((now_ns() - begin) / 2);
        end.post_error = lane.post_receives(1);
        if (end.post_error != 0) [[unlikely]]
            return end;
        at = at + 1 == lane.window() ? 0 : at + 1;
        ++end.messages;
    }
    return end;
}

// The other side of ping: answers each message; ends like absorb.
template <class C>
Ending pong(Lane& lane, C& completer, std::optional<uint64_t> target, uint64_t have) noexcept {
    CompletionArray wc;
    Ending end;
    end.messages = have;
    while (!target || end.messages < *target) {
        const uint64_t messages = take_messages(completer, wc, end);
        if (!end.good()) [[unlikely]]
            return end;
        for (uint64_t i = 0; i < messages; ++i) {
            const auto at = static_cast<uint32_t>(end.messages % lane.window());
            end.post_error = lane.post_one(at, end.messages % kSignalEvery == 0);
            if (end.post_error == 0) [[likely]]
                end.post_error = lane.post_receives(1);
            if (end.post_error != 0) [[unlikely]]
                return end;
            ++end.messages;
        }
    }
    return end;
}

// READ: one at a time, from before the post to after its completion.
template <class C>
Ending round_trip(Lane& lane, C& completer, const Limit& limit, Histogram& histogram) noexcept {
    CompletionArray wc;
    Ending end;
    uint32_t at = 0;
    while (end.messages < limit.messages && !limit.reached()) {
        const uint64_t begin = now_ns();
        end.post_error = lane.post_one(at, true);
        if (end.post_error != 0) [[unlikely]]
            return end;
        int got = 0;
        end.wake = completer.wait(wc, got);
        if (end.wake != Wake::Completions) [[unlikely]]
            return end;
        if (wc[0].status != IBV_WC_SUCCESS) [[unlikely]] {
            end.bad = wc[0];
            return end;
        }
        histogram.record(now_ns() - begin);
        at = at + 1 == lane.window() ? 0 : at + 1;
        ++end.messages;
    }
    return end;
}

// The Error of an ending that is not good.
base::Error ending_error(const Ending& ending, const Waiting& waiting);

}  // namespace perf
