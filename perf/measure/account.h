// SPDX-License-Identifier: Apache-2.0
// Account: what one side's machine and device did during a point, beside the numbers of the point
// itself: processor time (cpu.h) and counters that grew (counters.h). Each side keeps its own; the
// server's travels in its "stopped". The client's window of processor time begins when "started"
// has arrived and lies inside of the server's, which is longer by a round trip; but where the
// client ends with the server (Client::ends_with_server()), it ends after "stopped" has arrived,
// behind the server's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "perf/system/counters.h"
#include "perf/system/cpu.h"
#include "perf/verbs/limit.h"

namespace perf {

// One side's; empty where nothing could be read, and from a server that does not tell.
struct Usage {
    std::optional<CpuUse> cpu;
    Counters counters;
};

class Account {
  public:
    // The time between the two is one in which this side has nothing to do. Once is enough: later
    // calls change nothing.
    void begin_idle();
    void end_idle();

    // A window: the counters, then the processor's time. Counters are read outside of the latter:
    // there are dozens, which takes milliseconds.
    void look(const DeviceInfo& device);
    void begin();
    void begin(const DeviceInfo& device);  // both
    Usage end();

  private:
    std::optional<CpuSample> idle_begin_;
    bool idle_done_ = false;
    std::optional<IdleLoad> idle_;
    std::optional<CpuSample> begin_;
    CounterSource source_;
    Counters before_;
};

// Both sides of a point.
struct PointUsage {
    Usage client;
    Usage server;
    uint64_t payload_bytes = 0;  // in the window, with the warm-up
};

// Members "cpu" and "counters" of "stopped".
Json to_json(const Usage& usage);
Result<Usage> parse_usage(const Json& frame);

// How many processors were busy on a side's machine; nothing for a window too short to say.
std::optional<double> busy_cores(const Usage& usage);

// What makes a point's numbers doubtful: "retransmit", "loss", "congested", "limit_exceeded".
std::vector<std::string> flags_of(const PointUsage& usage, const std::optional<LimitShare>& share);

// Adds "cpu", "counters" and "flags" to a result of the report.
void describe(Json& result, const PointUsage& usage, const std::optional<LimitShare>& share);

// The end of a line in the table, empty if there is nothing to say:
// "  97.1 % of limit  cpu 1.35/0.77  [retransmit]". The processors are how many were busy on
// each side's machine, client before server; left out of windows too short for it.
std::string remarks(const PointUsage& usage, const std::optional<LimitShare>& share);

}  // namespace perf
