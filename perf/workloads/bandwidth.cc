// SPDX-License-Identifier: Apache-2.0
#include "perf/workloads/bandwidth.h"

#include <algorithm>

namespace perf {

using base::Result;

Limit warmup_limit(const Point& point) {
    constexpr uint64_t kMillisecond = 1'000'000;
    if (point.time_ms != 0)
        return {.until_ns =
                    now_ns() + std::min<uint64_t>(point.time_ms / 10 + 1, 300) * kMillisecond};
    return {.messages = std::min<uint64_t>(point.iterations / 10, 2UL * point.depth)};
}

Limit measure_limit(const Point& point) {
    constexpr uint64_t kMillisecond = 1'000'000;
    if (point.time_ms != 0)
        return {.until_ns = now_ns() + point.time_ms * kMillisecond};
    return {.messages = point.iterations};
}

Result<Bandwidth> measure_bandwidth(Lane& lane, const Waiting& waiting) {
    return with_completer(lane.completions(), waiting, [&](auto& completer) -> Result<Bandwidth> {
        const Ending warm = pump(lane, completer, warmup_limit(lane.point()));
        if (!warm.good())
            return ending_error(warm, waiting);
        const uint64_t begin = now_ns();
        const Ending end = pump(lane, completer, measure_limit(lane.point()));
        const uint64_t elapsed = now_ns() - begin;
        if (!end.good())
            return ending_error(end, waiting);
        return Bandwidth{end.messages, elapsed, warm.messages, 0};
    });
}

Result<uint64_t> receive_stop(const Waiting& waiting) {
    const auto frame = TRY(waiting.control->expect("stop", base::Deadline::in(waiting.patience)));
    return base::required<uint64_t>(frame, "messages");
}

Result<uint64_t> absorb_messages(Lane& lane, Waiting waiting) {
    waiting.listen = Listen::ForData;
    std::optional<uint64_t> target;
    uint64_t have = 0;
    for (;;) {
        const Ending end = with_completer(lane.completions(), waiting, [&](auto& completer) {
            return absorb(lane, completer, target, have);
        });
        if (end.good())
            return end.messages;
        // All that was sent and has not come by now is lost.
        if (end.wake == Wake::TimedOut && target && !is_reliable(lane.point().transport))
            return end.messages;
        if (end.wake != Wake::Control || target)
            return ending_error(end, waiting);
        have = end.messages;
        target = TRY(receive_stop(waiting));
        if (!is_reliable(lane.point().transport))
            waiting.patience = std::min(waiting.patience, kLossPatience);
    }
}

base::Error ending_error(const Ending& ending, const Waiting& waiting) {
    if (ending.post_error != 0)
        return base::sys_error(ending.post_error, "post a work request");
    if (ending.bad.status != IBV_WC_SUCCESS) {
        // A failed completion is often how a dead peer shows first. Its closed connection, with its
        // own words if it had any, is the better explanation and may be a moment behind.
        if (peer_is_gone(waiting, std::chrono::milliseconds(200)))
            return wake_error(Wake::Gone, waiting);
        return completion_error(ending.bad);
    }
    return wake_error(ending.wake, waiting);
}

}  // namespace perf
