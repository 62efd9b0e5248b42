// SPDX-License-Identifier: Apache-2.0
#include "perf/workloads/latency.h"

#include "perf/workloads/bandwidth.h"

namespace perf {

using base::Result;

namespace {
template <class C>
Ending run(Lane& lane, C& completer, const Limit& limit, Histogram& histogram) {
    return is_ping_pong(lane.point()) ? ping(lane, completer, limit, histogram)
                                      : round_trip(lane, completer, limit, histogram);
}
}  // namespace

Result<Latency> measure_latency(Lane& lane, const Waiting& waiting) {
    return with_completer(lane.completions(), waiting, [&](auto& completer) -> Result<Latency> {
        Histogram ignored;
        const Ending warm = run(lane, completer, warmup_limit(lane.point()), ignored);
        if (!warm.good())
            return ending_error(warm, waiting);
        Latency result;
        const uint64_t begin = now_ns();
        const Ending end = run(lane, completer, measure_limit(lane.point()), result.histogram);
        result.elapsed_ns = now_ns() - begin;
        if (!end.good())
            return ending_error(end, waiting);
        result.messages = end.messages;
        result.warmup_messages = warm.messages;
        return result;
    });
}

Result<uint64_t> answer_messages(Lane& lane, Waiting waiting) {
    waiting.listen = Listen::ForData;
    std::optional<uint64_t> target;
    uint64_t have = 0;
    for (;;) {
        const Ending end = with_completer(lane.completions(), waiting, [&](auto& completer) {
            return pong(lane, completer, target, have);
        });
        if (end.good())
            return end.messages;
        if (end.wake != Wake::Control || target)
            return ending_error(end, waiting);
        have = end.messages;
        target = TRY(receive_stop(waiting));
    }
}

}  // namespace perf
