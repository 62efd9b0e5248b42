// SPDX-License-Identifier: Apache-2.0
// Latency, closed loop with one message in flight: half of a ping-pong's round for WRITE and SEND,
// the whole round trip for READ. A short warm-up runs first and does not count.
#pragma once

#include "perf/workloads/engine.h"

namespace perf {

struct Latency {
    Histogram histogram;
    uint64_t elapsed_ns = 0;
    uint64_t messages = 0;
    uint64_t warmup_messages = 0;
};

base::Result<Latency> measure_latency(Lane& lane, const Waiting& waiting);

// Server of a ping-pong: answers until the client's "stop" names their number, and returns that.
base::Result<uint64_t> answer_messages(Lane& lane, Waiting waiting);

}  // namespace perf
