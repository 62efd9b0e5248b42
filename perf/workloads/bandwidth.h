// SPDX-License-Identifier: Apache-2.0
// Bandwidth: the client keeps the window full (write, read, send); for SEND the server takes the
// messages. A short warm-up runs first and does not count.
#pragma once

#include "perf/workloads/engine.h"

namespace perf {

struct Bandwidth {
    uint64_t messages = 0;
    uint64_t elapsed_ns = 0;  // from before the first post to after the last completion
    uint64_t warmup_messages = 0;
    uint64_t lost = 0;  // of both, sent and never received: unreliable transports only
};

base::Result<Bandwidth> measure_bandwidth(Lane& lane, const Waiting& waiting);

// Server of SEND: takes messages until the client's "stop" names their number, and returns that.
base::Result<uint64_t> absorb_messages(Lane& lane, Waiting waiting);

// The "stop" message of the client that a server's loop waits for: how many messages there were.
base::Result<uint64_t> receive_stop(const Waiting& waiting);

// When warm-up and measurement of a point end.
Limit warmup_limit(const Point& point);
Limit measure_limit(const Point& point);

}  // namespace perf
